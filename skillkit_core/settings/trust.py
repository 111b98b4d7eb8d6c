"""Trusted folders: nothing from a project counts before its folder is in this list."""

from __future__ import annotations

import os
from os.path import dirname, join, realpath

from ..errors import ConfigError
from .documents import open_regular


class Trust:
    """The user's list of trusted folders by their real paths, a JSON file in the data directory."""

    def __init__(self, data_dir: str | os.PathLike[str]) -> None:
        self.path = join(data_dir, "trusted.json")

    def folders(self) -> list[str]:
        """Return the trusted folders, sorted.

        Raises:
            ConfigError: the file cannot be read, or is damaged.
        """
        try:
            with open_regular(self.path) as file:
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=self.path) from None
        import json

        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"cannot be read: {error}", where=self.path, hint="repair or remove it") from None
        if not isinstance(found, list) or not all(isinstance(f, str) for f in found):
            raise ConfigError("must be a list of folders", where=self.path, hint="repair or remove it")
        return sorted(found)

    def is_trusted(self, folder: str | os.PathLike[str]) -> bool:
        """Return whether ``folder`` or a folder above it is trusted."""
        trusted = self.folders()
        if not trusted:
            return False
        here = realpath(folder)
        while here not in trusted:
            above = dirname(here)
            if above == here:
                return False
            here = above
        return True

    def add(self, folder: str | os.PathLike[str]) -> str:
        """Trust ``folder`` and return its real path."""
        real = realpath(folder)
        self._write(sorted({*self.folders(), real}))
        return real

    def remove(self, folder: str | os.PathLike[str]) -> bool:
        """Stop trusting ``folder``, and return whether the list held ``folder`` itself."""
        real = realpath(folder)
        folders = self.folders()
        if real not in folders:
            return False
        self._write([f for f in folders if f != real])
        return True

    def _write(self, folders: list[str]) -> None:
        import json

        from .documents import write_whole

        try:
            write_whole(self.path, json.dumps(folders, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=self.path) from None
