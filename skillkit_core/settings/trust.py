"""Trusted folders: nothing from a project counts before its folder is in this list."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ..errors import ConfigError

__all__ = ["Trust"]


class Trust:
    """The user's list of trusted folders, a JSON file in the data directory. Paths are real paths."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "trusted.json"

    def folders(self) -> list[str]:
        """The trusted folders, sorted.

        Raises:
            ConfigError: the file is damaged.
        """
        try:
            found = json.loads(self.path.read_text())
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot be read: {error}", where=str(self.path), hint="repair or remove it") from None
        if not isinstance(found, list) or not all(isinstance(f, str) for f in found):
            raise ConfigError("must be a list of folders", where=str(self.path), hint="repair or remove it")
        return sorted(found)

    def is_trusted(self, folder: Path) -> bool:
        """Whether ``folder`` or a folder above it is trusted."""
        trusted = self.folders()
        if not trusted:
            return False
        real = Path(os.path.realpath(folder))
        return any(str(p) in trusted for p in (real, *real.parents))

    def add(self, folder: Path) -> str:
        """Trust ``folder``; returns its real path."""
        real = os.path.realpath(folder)
        self._write(sorted({*self.folders(), real}))
        return real

    def remove(self, folder: Path) -> bool:
        """Stop trusting ``folder``; returns whether it was trusted by its own entry."""
        real = os.path.realpath(folder)
        folders = self.folders()
        if real not in folders:
            return False
        self._write([f for f in folders if f != real])
        return True

    def _write(self, folders: list[str]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = self.path.with_suffix(".tmp")
            temporary.write_text(json.dumps(folders, indent=1) + "\n")
            temporary.replace(self.path)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(self.path)) from None
