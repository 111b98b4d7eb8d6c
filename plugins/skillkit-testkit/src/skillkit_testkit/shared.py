"""Where third-party test data lies: outside of the repository, never in it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["find_shared"]


def find_shared(start: Path, given: str | None) -> Path | None:
    """``given`` if that directory exists, else ``shared`` beside the repository that ``start`` lies in.

    The repository is the next directory upwards that holds ``skillkit_core``. ``None``: there is no such data here.
    """
    if given:
        return Path(given) if Path(given).is_dir() else None
    for root in start.resolve().parents:
        if (root / "skillkit_core").is_dir():
            beside = root.parent / "shared"
            return beside if beside.is_dir() else None
    return None
