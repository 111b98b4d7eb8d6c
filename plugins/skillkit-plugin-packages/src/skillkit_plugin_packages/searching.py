"""What ``search`` finds in the table, and what the index says about a name."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError
from skillkit_core.host.discovery import scan

from .source import Source, read_source
from .table import known, matching

if TYPE_CHECKING:
    from skillkit_core import Host

    from .environment import Environment

SECONDS = 30.0  # for an answer of the index


def find(
    host: Host, place: Callable[[Host], Environment], words: list[str]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the known packages that fit, and the index's answer about a single word that fits none."""
    rows = [{**package._asdict(), "matched": matched} for package, matched in matching(known(host), words)]
    if len(words) != 1 or rows:
        return rows, None
    try:
        source = read_source(words[0], host.cwd)
        return rows, _ask(place(host), source) if source.kind == "name" else None
    except SkillKitError as error:
        return rows, {"name": words[0], "version": None, "said": f"The index was not asked for {words[0]!r}: {error}"}


def _ask(place: Environment, source: Source) -> dict[str, Any]:
    """Ask the configured index for a package of this name, with a wheel: nothing is built to find out."""
    with tempfile.TemporaryDirectory(prefix="skillkit-search-") as folder:
        step = place.fetch(source, Path(folder))
        words = [*step.words, "--only-binary", ":all:"]
        try:
            done = subprocess.run(
                words, cwd=step.cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            said = f"The index did not answer within {SECONDS:.0f} s about {source.package!r}."
            return {"name": source.package, "version": None, "said": said}
        found = [re.fullmatch(r"(.+?)-([^-]+)\.dist-info", path.name) for path in Path(folder).glob("*.dist-info")]
        fits = bool(scan([folder]))
    version = next((match[2] for match in found if match), None)
    if done.returncode or version is None:
        return {"name": source.package, "version": None, "said": f"The index has no package called {source.package!r}."}
    what = (
        "brings plugins or skills" if fits else "brings nothing for SkillKit: it is somebody's package of the same name"
    )
    said = f"The index has {source.package} {version}, which {what}."
    return {"name": source.package, "version": version, "fits": fits, "said": said}
