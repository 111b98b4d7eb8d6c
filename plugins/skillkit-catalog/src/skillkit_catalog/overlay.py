"""What ``models refresh`` has kept: facts that are newer than the built-in ones, in a file below the data folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .catalog import overlay_path, refreshed

__all__ = ["read_overlay", "remove_overlay", "write_overlay"]


def read_overlay(data_dir: Path) -> dict[str, dict[str, Any]]:
    """The facts by ``provider/id``; empty without a file.

    Raises:
        ValueError: the file is not what ``models refresh`` writes.
    """
    path = overlay_path(data_dir)
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(str(error)) from None
    models = data.get("models") if isinstance(data, Mapping) else None
    if not isinstance(models, dict) or not all(isinstance(facts, dict) for facts in models.values()):
        raise ValueError("it has no models")
    refreshed(models)
    return models


def write_overlay(data_dir: Path, models: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write the facts in place of those that were kept; gives the file."""
    path = overlay_path(data_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(models[name])}" for name in sorted(models))
    temporary.write_text(f'{{"models": {{\n{lines}\n}}}}\n', encoding="utf-8")
    temporary.replace(path)
    return path


def remove_overlay(data_dir: Path) -> bool:
    """Remove the file; false when there is none."""
    try:
        overlay_path(data_dir).unlink()
    except FileNotFoundError:
        return False
    return True
