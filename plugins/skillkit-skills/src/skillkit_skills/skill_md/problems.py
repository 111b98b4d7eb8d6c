"""Codes of the reader and the format, as :class:`SkillProblem` values with a sentence and a severity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from skillkit_markdown import sentence

from skillkit_core.skills import SkillProblem

__all__ = ["problems_of", "severity_of"]

Severity = Literal["error", "warning", "info"]
_ERRORS = frozenset(
    (
        "action-invalid",
        "binary-content",
        "description-missing",
        "file-empty",
        "file-too-large",
        "invalid-value:agents/skillkit.yaml",
        "invalid-value:metadata.skillkit",
        "metadata-not-mapping",
        "metadata-unparseable",
        "no-file",
        "scan-limit",
        "symlink-escape",
        "too-deep",
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
    "action-unknown-key": "an action has the unknown key {0!r}, which is ignored",
    "allowed-tools-not-string": "allowed-tools is not one text: other hosts may not read it",
    "code-path-refused": "{0} names code by a path, which only bundled and plugin skills may: it is ignored",
    "compatibility-not-string": "compatibility is not text and is ignored",
    "compatibility-too-long": "compatibility is longer than 500 characters: shorten it",
    "description-missing": "there is no description: people may call the skill, a model never sees it",
    "description-not-string": "the description is not text: write one sentence or more",
    "description-too-long": "the description is longer than 1024 characters",
    "file-name-case": "the file must be called SKILL.md: other hosts do not find it",
    "frontmatter-empty": "the front matter is empty: write name and description",
    "gating-outside-metadata": "{0!r} at the top level is not enforced: put it below metadata.skillkit",
    "hooks-untrusted": "hooks are ignored, because this source is not trusted",
    "install-refused": "an installer of the kind {0!r} is refused: give a known kind, and a plain word or https address",
    "invalid-value": "{0} has a value that cannot be used and is ignored",
    "legacy-actions-mapping": "actions are written in the older form, a mapping of names",
    "legacy-hooks-string": "hooks are written as text and are ignored",
    "license-not-string": "license is not text and is ignored",
    "metadata-dotted-key": "a key 'metadata.…' at the top level is not read: write a mapping below metadata",
    "metadata-json-repaired": "the JSON of metadata was broken and has been mended",
    "metadata-legacy-namespace": "metadata.{0} is an older name of metadata.openclaw",
    "metadata-multiple-namespaces": "metadata has several blocks of one kind, the first of them counts: {0}",
    "metadata-not-mapping": "metadata is no mapping and is ignored, with all that is in it",
    "metadata-string": "metadata is written as text: write a mapping",
    "metadata-unparseable": "metadata cannot be read and is ignored, with all keys and actions in it: mend its brackets, "
    "quotes or indentation",
    "name-dir-mismatch": "the name differs from the name of the folder",
    "name-double-hyphen": "the name has two hyphens in a row: strict readers refuse that",
    "name-edge-hyphen": "the name begins or ends with a hyphen: strict readers refuse that",
    "name-invalid-chars": "the name holds more than letters, digits and hyphens: strict readers refuse that",
    "name-missing": "there is no name: the name of the folder is used",
    "name-not-string": "the name is not text: the name of the folder is used",
    "name-reserved-character": "a name cannot hold ':', '@' or '/': the name of the folder is used",
    "name-too-long": "the name is longer than 64 characters: strict readers refuse that",
    "name-uppercase": "the name has capital letters: strict readers refuse that",
    "os-alias": "the system {0!r} is read as the name that sys.platform has for it: darwin or win32",
    "primary-env-not-string": "primaryEnv is not one text: its first one counts",
    "requires-item-object": "requires.{0} holds mappings: their 'name' or 'key' counts",
    "requires-not-mapping": "requires is no mapping and is not enforced",
    "requires-unknown-key": "requires.{0} is not known and not enforced",
    "reserved-name": "{0!r} is a command of the command line: call the skill as skill:{0}",
    "schema-newer": "the SkillKit block has the unknown schema {0} and is ignored: upgrade skillkit-skills",
    "unknown-field": "the key {0!r} is not part of the specification",
    "unknown-key": "the key {0!r} of the SkillKit block is not known and is ignored",
    "yaml-comment-truncates": "' #' starts a comment and cuts {0}: quote the text",
}


def severity_of(code: str) -> Severity:
    """How bad a code is: error (no skill, a hidden one, or one that lost its keys), warning (mended or ignored), info."""
    bare = code.partition(":")[0]
    if bare in _ERRORS or code in _ERRORS:
        return "error"
    return "info" if bare in _INFO else "warning"


def problems_of(codes: Iterable[str | tuple[str, str]], path: str | None = None) -> list[SkillProblem]:
    """A problem for each code, each code once; a pair brings its own sentence, and is an error if an action is wrong."""
    return [
        SkillProblem(code, _text(code), severity_of(code), path)
        if isinstance(code, str)
        else SkillProblem(*code, "error" if code[0].startswith("action-") else severity_of(code[0]), path)
        for code in dict.fromkeys(codes)
    ]


def _text(code: str) -> str:
    bare, _, detail = code.partition(":")
    text = _TEXTS.get(bare)
    if text is None:
        return sentence(code) or (bare.replace("-", " ") + (f": {detail}" if detail else ""))
    return text.format(detail)
