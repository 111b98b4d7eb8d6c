"""What the codes of the reader mean, a sentence each, and which of them say that something was lost."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["REPAIRS", "SENTENCES", "lost", "sentence"]

REPAIRS = frozenset(
    (
        "frontmatter-unclosed",
        "merge-conflict-markers",
        "metadata-json-repaired",
        "yaml-control-chars",
        "yaml-stray-lines",
        "yaml-tabs",
        "yaml-unparseable",
        "yaml-unquoted-scalar",
        "yaml-value-dropped",
    )
)
"""Codes of front matter that had to be mended."""
_LOST = frozenset(
    (
        "duplicate-key",
        "frontmatter-not-mapping",
        "frontmatter-unclosed",
        "merge-conflict-markers",
        "yaml-alias",
        "yaml-stray-lines",
        "yaml-unparseable",
        "yaml-value-dropped",
    )
)
SENTENCES = {
    "binary-content": "the file holds NUL bytes",
    "duplicate-key": "the key {0!r} is given twice, the last one counts",
    "encoding-bom": "the file begins with a byte order mark: save it without",
    "encoding-invalid-utf8": "the file is not UTF-8: bytes that cannot be read became \ufffd",
    "encoding-utf16": "the file is UTF-16: other hosts want UTF-8",
    "file-empty": "the file is empty",
    "file-too-large": "the file is larger than 1 MiB",
    "frontmatter-empty": "the front matter is empty: write 'key: value' lines",
    "frontmatter-leading-blank": "there are blank lines before the front matter: remove them",
    "frontmatter-missing": "there is no front matter: the first line must be ---",
    "frontmatter-not-mapping": "the front matter is no mapping: write 'key: value' lines",
    "frontmatter-unclosed": "the front matter is not closed by a line ---",
    "merge-conflict-markers": "marks of a merge conflict were left out: resolve it",
    "metadata-json-repaired": "the JSON of a value was broken and has been mended",
    "newline-crlf": "lines end with CR LF: they are read as LF",
    "yaml-alias": "YAML aliases are not followed: only plain values count",
    "yaml-control-chars": "characters that YAML forbids were left out",
    "yaml-stray-lines": "lines that belong to no key were left out: indent them, or give them a key",
    "yaml-tabs": "tabs in the indentation were read as two spaces",
    "yaml-unparseable": "the front matter is not YAML: write 'key: value' lines between two lines ---",
    "yaml-unquoted-scalar": "a value needs quotes and was read as text",
    "yaml-value-dropped": "a value cannot be read and was left out: mend its brackets and quotes",
}


def sentence(code: str) -> str | None:
    """Return what a code of the reader says; ``None``: the code is not the reader's."""
    bare, _, detail = code.partition(":")
    text = SENTENCES.get(bare)
    return text.format(detail) if text is not None else None


def lost(codes: Iterable[str]) -> list[str]:
    """Return the codes after which a key may be missing or mean something else: who restricts by a key must not go on."""
    return [code for code in codes if code.partition(":")[0] in _LOST]
