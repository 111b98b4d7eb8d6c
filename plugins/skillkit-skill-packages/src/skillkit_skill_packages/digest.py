"""The digest of a skill: the same for the same files, whatever their order, times or wrapping folder (ARC-1)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

__all__ = ["files_digest"]


def files_digest(files: Mapping[str, bytes]) -> str:
    """``sha256-`` and the hash over the lines ``path NUL sha256 LF``, sorted by the bytes of the path.

    Args:
        files: content by relative path with forward slashes. ``__MACOSX`` and ``.DS_Store`` do not count, nor does one
            folder that wraps everything.
    """
    kept = {
        path: data
        for path, data in files.items()
        if "__MACOSX" not in (parts := path.split("/")) and parts[-1] != ".DS_Store"
    }
    tops = {path.partition("/")[0] for path in kept}
    if len(tops) == 1 and all("/" in path for path in kept):
        kept = {path.partition("/")[2]: data for path, data in kept.items()}
    total = sha256()
    for path in sorted(kept, key=lambda p: p.encode()):
        total.update(f"{path}\0{sha256(kept[path]).hexdigest()}\n".encode())
    return f"sha256-{total.hexdigest()}"
