"""From the bytes of a Markdown file to its front matter and its body (SLP-1, rules A and B)."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["FENCE", "MAX_BYTES", "Split", "decode", "split"]

MAX_BYTES = 1024 * 1024
FENCE = "---"


@dataclass(slots=True)
class Split:
    """A file cut in two.

    Attributes:
        block: the text between the fences; ``None``: there is no front matter.
        body: the rest, stripped.
        diagnostics: codes of what was noticed.
        rejected: the file is no text, too large or empty.
    """

    block: str | None = None
    body: str = ""
    diagnostics: list[str] = field(default_factory=list)
    rejected: bool = False


def split(data: bytes) -> Split:
    """Decode ``data`` and cut it at the fences. Never raises."""
    found = Split()
    text = decode(data, found.diagnostics)
    if text is None:
        found.rejected = True
        return found
    if not text or text.isspace():
        found.diagnostics.append("file-empty")
        found.rejected = True
        return found
    _cut(text, found)
    return found


def decode(data: bytes, notes: list[str]) -> str | None:
    """The text of ``data``, its lines ended by LF, with codes of what was noticed in ``notes``; ``None``: it is no text."""
    if len(data) > MAX_BYTES:
        notes.append("file-too-large")
        return None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        notes.append("encoding-utf16")
        text = data.decode("utf-16", "replace")
    else:
        if data[:3] == b"\xef\xbb\xbf":
            notes.append("encoding-bom")
            data = data[3:]
        if b"\0" in data:
            notes.append("binary-content")
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            notes.append("encoding-invalid-utf8")
            text = data.decode("utf-8", "replace")
    if "\0" in text:
        notes.append("binary-content")
        return None
    if "\r" in text:
        notes.append("newline-crlf")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _cut(text: str, found: Split) -> None:
    start = 0
    while True:  # the first line that is not blank
        end = text.find("\n", start)
        line = text[start:] if end < 0 else text[start:end]
        if line.strip():
            break
        start = end + 1
    if line.rstrip() != FENCE:
        found.diagnostics.append("frontmatter-missing")
        found.body = text.strip()
        return
    if start:
        found.diagnostics.append("frontmatter-leading-blank")
    begin = len(text) if end < 0 else end + 1
    at = begin - 1
    while True:  # the first line at column 0 that is a fence
        at = text.find("\n---", at)
        if at < 0:
            break
        end = text.find("\n", at + 1)
        line = text[at + 1 :] if end < 0 else text[at + 1 : end]
        if line.rstrip() == FENCE:
            found.block = text[begin : at + 1]
            found.body = "" if end < 0 else text[end + 1 :].strip()
            return
        at += 1
    found.diagnostics.append("frontmatter-unclosed")
    at = _guess_end(text, begin)
    found.block = text[begin:at]
    found.body = _after_guess(text[at:]) if found.block else text.strip()  # nothing in the block: it is all body


def _guess_end(text: str, begin: int) -> int:
    """Where a block that nobody closed ends: a blank line, a heading, or something like a fence."""
    at = begin
    for line in text[begin:].splitlines(keepends=True):
        bare = line.strip()
        if not bare or line[0] == "#" or bare in (FENCE, "..."):
            return at
        at += len(line)
    return at


def _after_guess(rest: str) -> str:
    first, _, tail = rest.partition("\n")
    return (tail if first.strip() in (FENCE, "...") else rest).strip()
