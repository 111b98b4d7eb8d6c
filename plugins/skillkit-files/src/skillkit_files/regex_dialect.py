"""Regular expressions as ripgrep reads them by default, on RE2, which is linear as well.

RE2 takes ``\\w``, ``\\d``, ``\\s`` and ``\\b`` for ASCII only, and reads a few things differently. Patterns are rewritten where
that can be done, and refused where the two would give different answers. ``\\b`` that is neither at the beginning nor at the end
of the pattern, or beside something that may be a letter or not, stays ASCII.
"""

from __future__ import annotations

from .folder import FileError
from .re2_engine import Regex, compile_regex

__all__ = ["Pattern"]

_WORD = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}"
_SPACE = r"\t\n\x0b\f\r\x{85}\p{Z}"
_SETS = {"w": _WORD, "s": _SPACE, "d": r"\p{Nd}"}
_LONG = {
    "Letter": "L", "Alphabetic": "L", "Uppercase": "Lu", "Uppercase_Letter": "Lu", "Lowercase": "Ll", "Lowercase_Letter": "Ll",
    "Number": "N", "Punctuation": "P", "Symbol": "S", "Separator": "Z", "White_Space": "Z", "Mark": "M",
}  # fmt: skip
_EDGE = {True: rf"(?:^|[^{_WORD}\n])", False: rf"(?:$|[^{_WORD}\n])"}


class Pattern:
    """A pattern, ready for texts of bytes.

    Args:
        text: the pattern.
        literal: it is plain text.
        ignore_case: case does not count.
        multiline: a match may span lines.

    Raises:
        FileError: the pattern cannot be read, or needs what a linear engine cannot do.
    """

    def __init__(self, text: str, *, literal: bool = False, ignore_case: bool = False, multiline: bool = False) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise FileError("invalid", "the pattern has half a character") from None
        if not text:
            raise FileError("invalid", "the pattern is empty; use glob to list files, or read")
        if not multiline and ("\n" in text or (not literal and _has_break(text))):
            raise FileError("invalid", "the pattern has a line break; set multiline")
        self._options = (literal, ignore_case, multiline)
        wide = text if literal else _Rewriter(text).rewrite()
        # texts that are all ASCII give the same answers with the shorter pattern
        narrow = text if literal or wide == text else _Rewriter(text, ascii_only=True).rewrite()
        self._wide = self._compile(wide)
        self._narrow = self._wide if narrow == wide else self._compile(narrow)

    def _compile(self, text: str) -> Regex:
        literal, ignore_case, multiline = self._options
        text = text if literal else f"(?m){text}"
        return compile_regex(text, literal=literal, ignore_case=ignore_case, in_line=not multiline)

    def spans(self, data: bytes) -> Regex:
        """Return the expression for a text: ``search(data, position)`` gives matches."""
        return self._narrow if data.isascii() else self._wide


def _has_break(text: str) -> bool:
    """Return whether the escape for a line break is in the pattern."""
    at = text.find("\\")
    while at >= 0:
        if text[at + 1 : at + 2] == "n":
            return True
        at = text.find("\\", at + 2)
    return False


class _Rewriter:
    """Rewrites a pattern for RE2."""

    def __init__(self, text: str, *, ascii_only: bool = False) -> None:
        self._text = text
        self._ascii = ascii_only
        self._at = 0
        self._out: list[str] = []

    def rewrite(self) -> str:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char == "\\":
                self._out.append(self._escape())
            elif char == "[":
                self._out.append(self._class())
            elif char == "{":
                self._out.append(self._repetition())
            else:
                self._out.append(char)
                self._at += 1
        return "".join(self._out)

    def _escape(self) -> str:
        """Return the escape that begins here, outside of a class."""
        text, start = self._text, self._at
        char = text[start + 1 : start + 2]
        self._at += 2
        if char in ("w", "s", "d", "W", "S", "D") and not self._ascii:
            return f"[{'^' if char.isupper() else ''}{_SETS[char.lower()]}]"
        if char in ("<", ">") or (char == "b" and text[self._at : self._at + 1] == "{"):
            if char == "b":
                end = text.find("}", self._at)
                if text[self._at : end + 1] not in ("{start}", "{end}"):
                    raise _refused(r"\b{...}")
                self._at = end + 1
            return r"\b"
        if char == "b" and not self._ascii:
            if start == 0:
                return _EDGE[True] if _wordy(text, self._at) else r"\b"
            if self._at == len(text):
                return _EDGE[False] if _wordy_end(text[:start]) else r"\b"
            return r"\b"
        return self._common(char)

    def _common(self, char: str) -> str:
        """Return the escape of ``char`` that stands for the same in and outside of a class."""
        text = self._text
        if char in ("Q", "E", "C", "G", "K", "R", "X", "Z", "h", "H", "N", "c") or char.isdigit():
            raise _refused(f"\\{char}")
        if char in ("u", "U", "x"):
            if text[self._at : self._at + 1] == "{":
                end = text.find("}", self._at)
                digits, self._at = text[self._at + 1 : end], end + 1
            else:
                size = {"x": 2, "u": 4, "U": 8}[char]
                digits = text[self._at : self._at + size]
                self._at += size
            return f"\\x{{{digits}}}"
        if char in ("p", "P") and text[self._at : self._at + 1] == "{":
            end = text.find("}", self._at)
            if end < 0:
                raise _refused("\\p{")
            name = text[self._at + 1 : end].removeprefix("^")
            negated = text[self._at + 1 : self._at + 2] == "^"
            self._at = end + 1
            name = name.rpartition("=")[2].rpartition(":")[2]
            return f"\\{char}{{{'^' if negated else ''}{_LONG.get(name, name)}}}"
        return f"\\{char}"

    def _repetition(self) -> str:
        end = self._text.find("}", self._at)
        inner = self._text[self._at + 1 : end] if end >= 0 else ""
        low, _, high = inner.partition(",")
        if end < 0 or not low.isdigit() or (high and not high.isdigit()):
            raise FileError(
                "invalid", "the pattern cannot be used: a { that counts nothing; write \\{ for the character itself"
            )
        text, self._at = self._text[self._at : end + 1], end + 1
        return text

    def _class(self) -> str:
        """Return the class that begins here. A set that is left out of a class becomes an alternative."""
        text, start = self._text, self._at
        self._at += 1
        negated = text[self._at : self._at + 1] == "^"
        self._at += negated
        parts: list[str] = []
        outside: list[str] = []
        first = True
        while True:
            char = text[self._at : self._at + 1]
            if not char:
                raise FileError("invalid", f"the pattern cannot be used: missing ] behind {text[start:][:20]!r}")
            if char == "]" and not first:
                self._at += 1
                break
            if char == "[":
                end = text.find(":]", self._at)
                if not text.startswith("[:", self._at) or end < 0:
                    raise FileError(
                        "invalid", "the pattern cannot be used: a [ in a class; write \\[ for the character itself"
                    )
                parts.append(text[self._at : end + 2])
                self._at = end + 2
            elif text.startswith(("&&", "--", "~~"), self._at):
                raise _refused(text[self._at : self._at + 2] + " in a class")
            elif char == "\\":
                self._at += 2
                parts.append(self._class_escape(text[self._at - 1 : self._at], negated, outside))
            else:
                parts.append(char)
                self._at += 1
            first = False
        inner = "".join(parts)
        if not outside:
            return f"[{'^' if negated else ''}{inner}]"
        return f"(?:{'|'.join(([f'[{inner}]'] if inner else []) + outside)})"

    def _class_escape(self, char: str, negated: bool, outside: list[str]) -> str:
        if char in _SETS and not self._ascii:
            return _SETS[char]
        if char == "D" and not self._ascii:
            return r"\P{Nd}"
        if char in ("W", "S") and not self._ascii:
            if negated:
                # RE2 cannot take a set away from another; ASCII has to do
                return f"\\{char}"
            outside.append(f"[^{_SETS[char.lower()]}]")
            return ""
        return "\\x08" if char == "b" else self._common(char)


def _wordy(text: str, at: int) -> bool:
    """Return whether what begins at ``at`` begins with a word character."""
    return text[at : at + 1].isalnum() or text[at : at + 1] == "_" or text[at : at + 2] in ("\\w", "\\d")


def _wordy_end(text: str) -> bool:
    """Return whether a pattern ends with a word character."""
    return (
        text.endswith(("\\w", "\\d", "\\w+", "\\w*", "\\d+"))
        or (text[-1:].isalnum() and text[-2:-1] != "\\")
        or text[-1:] == "_"
    )


def _refused(what: str) -> FileError:
    return FileError("invalid", f"the pattern cannot be used: {what} is not supported; set literal for plain text")
