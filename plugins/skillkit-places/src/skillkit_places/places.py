"""The file of places: names, where they are, and how far they are from one another."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from math import asin, cos, radians, sin, sqrt
from pathlib import Path
from typing import Any

from skillkit_core import ToolError

from .provider import Place

__all__ = ["FILE", "RADIUS", "checked", "distance", "find", "read", "write"]

RADIUS = 6371.0088
"""Mean radius of the earth in kilometres (IUGG)."""
FILE = "places.yaml"
"""The file of places where the configuration names none."""
_MOST_BYTES = 2_000_000


def distance(a: Place, b: Place) -> float:
    """Return the kilometres between two places along the great circle (haversine)."""
    south, north = radians(a.latitude), radians(b.latitude)
    half = sin((north - south) / 2) ** 2
    half += cos(south) * cos(north) * sin(radians(b.longitude - a.longitude) / 2) ** 2
    return 2 * RADIUS * asin(sqrt(min(1.0, half)))


def read(file: Path) -> dict[str, Place]:
    """Return the places of a file by name; none where there is no file.

    The file is a YAML mapping: ``Home: {latitude: 59.91, longitude: 10.75, note: ...}``.

    Raises:
        ToolError: it cannot be read as that.
    """
    import yaml

    try:
        if not file.is_file():
            return {}
        if file.stat().st_size > _MOST_BYTES:
            raise ToolError(f"{file.name} is larger than {_MOST_BYTES} bytes")
        data = yaml.safe_load(file.read_text("utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ToolError(f"{file.name[:100]} cannot be read: {str(error).splitlines()[0][:200]}") from None
    if not isinstance(data, Mapping):
        raise ToolError(f"{file.name} is no list of places: it must be a mapping of names")
    return {str(name): _place(file, str(name), value) for name, value in data.items()}


def _place(file: Path, name: str, value: Any) -> Place:
    try:
        return checked(Place(name, float(value["latitude"]), float(value["longitude"]), str(value.get("note") or "")))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ToolError(f"{file.name}: {name} needs latitude and longitude in degrees ({error})") from None


def checked(place: Place) -> Place:
    """Return a place that is on earth.

    Raises:
        ValueError: it is not.
    """
    if not (-90 <= place.latitude <= 90 and -180 <= place.longitude <= 180):
        raise ValueError(f"{place.latitude}, {place.longitude} is nowhere on earth")
    return place


def write(file: Path, places: Mapping[str, Place]) -> None:
    """Write a file of places; readers see the old one or the new one."""
    import yaml

    data = {
        name: {"latitude": p.latitude, "longitude": p.longitude} | ({"note": p.note} if p.note else {})
        for name, p in places.items()
    }
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            yaml.safe_dump(data, out, allow_unicode=True, sort_keys=False)
        if target.exists():
            Path(made).chmod(target.stat().st_mode & 0o777)
        else:
            Path(made).chmod(0o644)
        Path(made).replace(target)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def find(text: str, places: Mapping[str, Place]) -> Place:
    """Return the place that is called so, or whose ``latitude, longitude`` the text is.

    Raises:
        ToolError: nobody knows it, or several are meant.
    """
    parts = text.split(",")
    if len(parts) == 2:
        try:
            return checked(Place(text.strip(), float(parts[0]), float(parts[1])))
        except ValueError as error:
            if "nowhere" in str(error):
                raise ToolError(str(error)) from None
    folded = " ".join(text.casefold().split())
    same = [place for name, place in places.items() if name.casefold() == folded]
    near = same or [place for name, place in places.items() if folded and folded in name.casefold()]
    if len(near) == 1:
        return near[0]
    names = ", ".join(place.name for place in near or places.values()) or "none yet"
    told = "several places are called so" if near else f"no place is called {text!r}"
    raise ToolError(f"{told}; known: {names}. Coordinates work, too: 59.91, 10.75")
