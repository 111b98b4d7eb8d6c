"""Images that a person names by their file."""

from __future__ import annotations

import base64
from pathlib import Path

from skillkit_core import ImageBlock
from skillkit_core.errors import UsageError

__all__ = ["image_from_file", "image_type"]

MAX_BYTES = 20_000_000
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def image_type(head: bytes) -> str | None:
    """Return the media type of a file by its first 12 bytes, ``None`` for what no model takes."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _BEGINNINGS.items() if head.startswith(start)), None)


def image_from_file(path: Path) -> ImageBlock:
    """Return the image in a file; its content says what it is, not its name.

    Raises:
        UsageError: the file cannot be read, is too large, or is no PNG, JPEG, GIF or WebP image.
    """
    try:
        if not path.is_file():
            raise UsageError(f"{path} is no file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    kind = image_type(data[:12])
    if kind is None:
        raise UsageError(f"{path} is no image that models take", hint="PNG, JPEG, GIF and WebP are")
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB")
    return ImageBlock(data=base64.b64encode(data).decode(), mime_type=kind)
