"""Tokens of images and documents by the formulas that providers document; 1,200 where none does.

Sources, read in November 2026: OpenAI "Images and vision, calculating costs", Anthropic "Vision, evaluate image size", Google
"Understand and count tokens". Documents are counted by page: as OpenAI's and Anthropic's answers to one-page files show.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Sequence
from math import ceil

from skillkit_core.messages import DocumentBlock, ImageBlock

from .families import tokenizer_of
from .pieces import weigh

__all__ = ["document_tokens", "image_tokens", "size_of"]

UNKNOWN = (1024, 1024)  # pixels of an image whose size is not in the request
DEFAULT = 1_200
HEAD = 400_000  # characters of base64 that the size of an image is looked for in
PATCHES = ((r"(gpt-4\.1|gpt-5)-mini", 1.62), (r"(gpt-4\.1|gpt-5)-nano", 2.46), (r"o4-mini", 1.72))
TILES = ((r"4o-mini", 2833, 5667), (r"gpt-5", 70, 140), (r"(^|/)o\d", 75, 150), (r"", 85, 170))
PAGES = {"gpt": 220, "claude": 1_600, "claude-new": 1_600, "gemini": 258}


def image_tokens(model_id: str, image: ImageBlock) -> int:
    """Return the tokens of an image for a model."""
    head = (image.data or "")[:HEAD]
    size = size_of(base64.b64decode(head + "==")) if head and _is_base64(head) else None
    width, height = size or UNKNOWN
    model, tokenizer = model_id.lower(), tokenizer_of(model_id)
    if tokenizer == "gpt":
        for pattern, factor in PATCHES:
            if re.search(pattern, model):
                return ceil(min(ceil(width / 32) * ceil(height / 32), 1_536) * factor)
        base, tile = next((b, t) for pattern, b, t in TILES if re.search(pattern, model))
        return base + tile * _tiles(width, height)
    if tokenizer in ("claude", "claude-new"):
        return min(ceil(width * height / 750), 1_600 if tokenizer == "claude" else 4_784)
    if tokenizer == "gemini":
        return 258 if max(width, height) <= 384 else 258 * ceil(width / 768) * ceil(height / 768)
    if tokenizer == "mistral":
        scale = min(1.0, 1_540 / max(width, height))
        return ceil(width * scale / 28) * (ceil(height * scale / 28) + 1)
    if tokenizer == "qwen":
        return min(ceil(width / 28) * ceil(height / 28), 1_280)
    return DEFAULT


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data[:64], validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _tiles(width: int, height: int) -> int:
    """Return the squares of 512 pixels of an image that is fitted into 2,048 and then to 768 on its shorter side."""
    scale = min(1.0, 2_048 / max(width, height))
    scale = min(scale, 768 / min(width, height)) if min(width, height) * scale > 768 else scale
    return ceil(width * scale / 512) * ceil(height * scale / 512)


def document_tokens(model_id: str, document: DocumentBlock, weights: Sequence[float]) -> int:
    """Return the tokens of a document: the text of a plain one, else a number for each page that can be seen in the file."""
    if not document.data:
        return DEFAULT
    if document.mime_type.startswith("text/"):
        text = document.data
        if _is_base64(text):
            text = base64.b64decode(text + "==").decode("utf-8", "replace")
        return round(weigh(text, weights))
    pages = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(document.data + "=="))) or 1
    return pages * PAGES.get(tokenizer_of(model_id), DEFAULT)


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, GIF, JPEG or WebP file, ``None`` of anything else."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return struct.unpack("<HH", data[6:10])
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except struct.error:
        pass
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
