"""Codes of the reader and the format, as :class:`SkillProblem` values with a sentence and a severity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from skillkit_core.skills import SkillProblem

__all__ = ["problems_of", "severity_of"]

Severity = Literal["error", "warning", "info"]
_ERRORS = frozenset(
    (
        "action-invalid",
        "binary-content",
        "description-missing",
        "duplicate-skill",
        "file-empty",
        "file-too-large",
        "symlink-escape",
        "unreadable",
        "yaml-unparseable",
    )
)
_INFO = frozenset(
    (
        "allowed-tools-not-string",
        "duplicate-realpath",
        "encoding-bom",
        "encoding-utf16",
        "frontmatter-leading-blank",
        "legacy-actions-mapping",
        "metadata-legacy-namespace",
        "metadata-multiple-namespaces",
        "metadata-value-not-string",
        "newline-crlf",
        "os-alias",
        "shadowed",
        "unknown-field",
        "unknown-key",
    )
)
_TEXTS = {
    "action-unknown-key": "an action has the unknown key {0!r}",
    "binary-content": "the file holds NUL bytes",
    "description-missing": "there is no description: people may call the skill, a model never sees it",
    "description-not-string": "the description is not text",
    "description-too-long": "the description is longer than 1024 characters",
    "duplicate-key": "the key {0!r} is given twice, the last one counts",
    "file-empty": "the file is empty",
    "file-too-large": "the file is larger than 1 MiB",
    "frontmatter-missing": "there is no frontmatter: the first line must be ---",
    "frontmatter-unclosed": "the frontmatter is not closed by a line ---",
    "gating-outside-metadata": "{0!r} at the top level is not enforced: put it below metadata.skillkit",
    "legacy-actions-mapping": "actions are written in the older form, a mapping of names",
    "legacy-hooks-string": "hooks are written as text and are ignored",
    "metadata-json-repaired": "the JSON of metadata was broken and has been mended",
    "metadata-legacy-namespace": "metadata.{0} is an older name of metadata.openclaw",
    "name-dir-mismatch": "the name differs from the name of the folder",
    "name-missing": "there is no name: the name of the folder is used",
    "name-reserved-character": "a name cannot hold ':', '@' or '/': the name of the folder is used",
    "requires-unknown-key": "requires.{0} is not known and not enforced",
    "reserved-name": "{0!r} is a command of the command line: call the skill as skill:{0}",
    "unknown-field": "the key {0!r} is not part of the specification",
    "unknown-key": "the key {0!r} of the SkillKit block is not known",
    "invalid-value": "{0} has a value that cannot be used",
    "yaml-alias": "YAML aliases are not followed: only plain values count",
    "yaml-comment-truncates": "' #' starts a comment and cuts {0}: quote the text",
    "yaml-unparseable": "the frontmatter is not YAML",
    "yaml-unquoted-scalar": "a value needs quotes and was read as text",
}


def severity_of(code: str) -> Severity:
    """How bad a code is: error (no skill, or a hidden one), warning (something was mended or ignored), info."""
    bare = code.partition(":")[0]
    if bare in _ERRORS:
        return "error"
    return "info" if bare in _INFO else "warning"


def problems_of(codes: Iterable[str | tuple[str, str]], path: str | None = None) -> list[SkillProblem]:
    """A problem for each code, each code once; a pair brings its own sentence."""
    return [
        SkillProblem(code, _text(code), severity_of(code), path)
        if isinstance(code, str)
        else SkillProblem(code[0], code[1], "error", path)
        for code in dict.fromkeys(codes)
    ]


def _text(code: str) -> str:
    bare, _, detail = code.partition(":")
    text = _TEXTS.get(bare)
    if text is None:
        return bare.replace("-", " ") + (f": {detail}" if detail else "")
    return text.format(detail)
