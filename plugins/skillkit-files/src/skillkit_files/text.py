"""The text of a file: its encoding, byte order mark and line breaks are found, and kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .folder import FileError, shown

__all__ = ["Text", "decode", "lf", "require_text", "sendable"]

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_ESCAPED = re.compile("[\udc80-\udcff]")
_BEYOND = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
_LABELS = {
    "latin-1": "Latin-1",
    "cp1252": "Windows-1252",
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
}


@dataclass(frozen=True, slots=True)
class Text:
    """A text and how it stands in its file.

    Attributes:
        text: the text with the line breaks of the file and without the mark. Bytes of another encoding are lone surrogates.
        encoding: name of the codec.
        mark: the byte order mark.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def crlf(self) -> bool:
        """True when all line breaks are CRLF, and there is one."""
        return (count := self.text.count("\n")) > 0 and self.text.count("\r\n") == count

    def encode(self, text: str, path: str) -> bytes:
        """Return the bytes of another text in the same encoding.

        Raises:
            FileError: the encoding cannot hold the text.
        """
        try:
            return self.mark + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")
        except UnicodeEncodeError as error:
            char = text[error.start]
            label = _LABELS[self.encoding]
            raise FileError(
                "encoding",
                f"{shown(path)} is {label}, which cannot hold {char!r} (U+{ord(char):04X}); "
                "leave the character out, or convert the file first",
            ) from None

    def break_at(self, place: int) -> str:
        """Return the line break that a line added at ``place`` gets: that of the next one, else that of the one before."""
        at = self.text.find("\n", place)
        at = self.text.rfind("\n", 0, place) if at < 0 else at
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"


def decode(data: bytes, path: str) -> Text:
    """Return the text of a file.

    What is not UTF-8 is taken for Latin-1 or Windows-1252, unless other parts of it are UTF-8: then its odd bytes are kept.

    Raises:
        FileError: the file is binary, or its UTF-16 is broken.
    """
    mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", "utf-8"))
    body = data[len(mark) :]
    if encoding != "utf-8":
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            raise FileError("encoding", f"{shown(path)} is broken UTF-16: {error.reason}") from None
        if "\0" in text:
            raise binary(path, len(data))
        return Text(text, encoding, mark)
    if b"\0" in body:
        raise binary(path, len(data))
    text = body.decode("utf-8", "surrogateescape")
    if mark or body.isascii() or not _ESCAPED.search(text) or _BEYOND.search(text):
        return Text(text, "utf-8", mark)
    if not re.search(rb"[\x80-\x9f]", body):
        return Text(body.decode("latin-1"), "latin-1")
    try:
        return Text(body.decode("cp1252"), "cp1252")
    except UnicodeDecodeError:
        return Text(body.decode("latin-1"), "latin-1")


def binary(path: str, size: int) -> FileError:
    """Return the error for a file that is no text."""
    return FileError("binary", f"{shown(path)} is a binary file ({size:,} bytes), not text")


def require_text(text: str, what: str) -> None:
    """Raise :class:`FileError` when a text from outside cannot be in a text file."""
    if "\0" in text:
        raise FileError("invalid", f"{what} has a NUL character, which would make the file binary")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileError("encoding", f"{what} has half a character at position {error.start}") from None


def lf(text: str) -> str:
    """Return the text with LF for CRLF."""
    return text.replace("\r\n", "\n")


def sendable(text: str) -> str:
    """Return the text with U+FFFD for bytes that are not its encoding."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not text.isascii() else text
