"""The lines that remarks about a skill are about: looked for when the remarks are shown, not when a skill is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from skillkit_markdown import MAX_BYTES, FileLines, KeyLine, error_line, lines_of_text

from skillkit_core.settings.documents import open_regular
from skillkit_core.skills import SkillProblem

from ..scanner import skill_file
from .action_definition import ActionError, read_actions, read_args
from .reader import NAMESPACES

__all__ = ["located"]

SIDECAR, CODEX = "agents/skillkit.yaml", "agents/openai.yaml"
_BLOCKS = (("metadata", "skillkit"), (), *(("metadata", name) for name in NAMESPACES), ("metadata",))
_FIELDS = ("name", "description", "compatibility", "license", "allowed-tools", "metadata")  # codes begin with them
_NAMED = {"reserved-name": "name", "duplicate-skill": "name"}
_IN_BLOCKS: dict[str, tuple[tuple[str, ...], ...]] = {  # "": what the code says behind its colon
    "code-path-refused": (("",),),
    "hooks-untrusted": (("hooks",),),
    "install-refused": (("install",),),
    "invalid-value": (("",),),
    "legacy-actions-mapping": (("actions",),),
    "legacy-hooks-string": (("hooks",),),
    "os-alias": (("requires", "os"), ("os",)),
    "primary-env-not-string": (("primaryEnv",),),
    "requires-item-object": (("requires", ""), ("",)),
    "requires-not-mapping": (("requires",),),
    "requires-unknown-key": (("requires", ""),),
    "schema-newer": (("schema",),),
    "misspelt-key": (("",),),
    "unknown-key": (("",),),
}
_ACTION_KEYS = {  # of an action, by the code of what is wrong with it
    "action-name-invalid": "name",
    "action-duplicate": "name",
    "action-timeout": "timeout",
    "action-output": "output",
    "action-cwd": "cwd",
    "action-confirm": "confirm",
    "action-path-escape": "script",
    "action-script-missing": "script",
    "action-unknown-interpreter": "script",
    "action-script-and-run": "run",
    "action-code-argument": "run",
    "action-run": "run",
    "action-run-program": "run",
    "action-shell-operator": "run",
    "action-unknown-placeholder": "run",
}
Place = tuple[str, int]  # a file below the skill's folder, and a line of it


def located(problems: Iterable[SkillProblem]) -> list[SkillProblem]:
    """The problems with the line that each is about, where that can be known, and the file that really has it."""
    files: dict[Path, _Skill | None] = {}
    out = []
    for problem in problems:
        path = Path(problem.path or "")
        if path.name.lower() == "skill.md" and problem.line is None:
            if path not in files:
                files[path] = _open(path)
            skill = files[path]
            if skill is not None and (place := skill.place(problem)) is not None:
                problem = replace(problem, path=str(path.parent / place[0]), line=place[1])
        out.append(problem)
    return out


def _open(path: Path) -> _Skill | None:
    try:
        name = skill_file([entry.name for entry in path.parent.iterdir()])
        return _Skill(path.parent, name, _bytes(path.parent / name)) if name is not None else None
    except OSError:
        return None


def _bytes(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(MAX_BYTES + 1)


class _Skill:
    """A skill's folder, read once more."""

    def __init__(self, folder: Path, name: str, data: bytes) -> None:
        self.folder = folder
        self.name = name
        self.lines = FileLines(data)

    @cached_property
    def _sidecar(self) -> KeyLine | None:
        return lines_of_text(self.beside(SIDECAR))

    def beside(self, name: str) -> str:
        """The text of another file of the skill."""
        try:
            return _bytes(self.folder / name).decode("utf-8", "replace")
        except OSError:
            return ""

    def place(self, problem: SkillProblem) -> Place | None:
        """Where a problem is."""
        bare, _, detail = problem.code.partition(":")
        if bare == "invalid-value" and detail in (SIDECAR, CODEX):
            text = self.beside(detail)
            return (detail, error_line(text) or 1) if text else None
        if bare in _IN_BLOCKS:
            return self._in_blocks(bare, detail)
        if bare.startswith("action-"):
            return self._in_actions(problem, detail)
        line = self._line(bare, detail)
        return (self.name, line) if line is not None else None

    def _line(self, bare: str, detail: str) -> int | None:
        """A line of the skill's file itself."""
        whole = self.lines.keys
        found: KeyLine | None
        if (line := self.lines.of_code(f"{bare}:{detail}")) is not None:
            return line
        if bare == "no-effect":
            detail = detail.partition(".")[0]
            found = next((m for _, root in self._roots() for key in _spellings(detail) if (m := root.find(key))), None)
        elif bare in ("gating-outside-metadata", "key-not-read", "unknown-field"):
            found = whole.find(detail)
        elif bare == "metadata-legacy-namespace":
            found = whole.find("metadata", detail) or whole.find("metadata")
        elif bare == "metadata-dotted-key":
            found = next((mark for key, mark in whole.pairs if key.startswith("metadata.")), None)
        else:
            key = _NAMED.get(bare) or next((f for f in _FIELDS if bare.startswith(f"{f}-")), None)
            found = whole.find(key) if key is not None else None
        return found.line if found is not None else None

    # --- the front matter, as SkillKit's and other hosts' keys ------------------------------------------------------

    def _roots(self) -> Iterator[tuple[str, KeyLine]]:
        """The blocks that may hold SkillKit's keys, the one that counts first."""
        if self._sidecar is not None:
            yield SIDECAR, self._sidecar
        for path in _BLOCKS:
            if (mark := self.lines.keys.find(*path)) is not None:
                yield self.name, mark

    def _in_blocks(self, bare: str, detail: str) -> Place | None:
        tails = [tuple(step or detail for step in tail) for tail in _IN_BLOCKS[bare]]
        for file, root in self._roots():
            for tail in tails:
                for key in _spellings(tail[-1]):
                    if (mark := root.find(*tail[:-1], key)) is not None:
                        if bare == "install-refused":
                            mark = next((m for m in mark.items if _text_of(m, "kind") == detail), mark)
                        return file, mark.line
        # metadata or a block in it may be written as text, in which lines are not known
        written = self.lines.keys.find(*detail.split(".")) or self.lines.keys.find("metadata", "skillkit")
        written = written or self.lines.keys.find("metadata")
        return (self.name, written.line) if written is not None else None

    def _in_actions(self, problem: SkillProblem, detail: str) -> Place | None:
        """Read the actions once more: which of them gives this problem?"""
        for file, root in self._roots():
            if (actions := root.find("actions")) is None:
                continue
            marks = actions.items or [mark for _, mark in actions.pairs]
            for mark, (action, notes) in zip(marks, read_actions(actions.value, self.folder), strict=False):
                if isinstance(action, ActionError) and (action.code, action.message) == (problem.code, problem.message):
                    return file, _in_action(mark, action).line
                if problem.code in notes:
                    keys = [m for inner in mark.walk() for key, m in inner.pairs if key == detail]
                    return file, (keys[0] if keys else mark).line
            return file, actions.line
        return None


def _in_action(mark: KeyLine, error: ActionError) -> KeyLine:
    """What of an action is wrong."""
    args = mark.find("args") or mark.find("params")
    if error.code.startswith("action-arg") and args is not None:
        for key, one in args.pairs:
            try:
                read_args({key: one.value}, "", [])
            except ActionError as said:
                if said.message.partition(", argument ")[2] == error.message.partition(", argument ")[2]:
                    return one
        return args
    return mark.find(_ACTION_KEYS.get(error.code, "")) or mark


def _text_of(mark: KeyLine, key: str) -> str | None:
    found = mark.find(key)
    return found.value if found is not None and isinstance(found.value, str) else None


def _spellings(key: str) -> tuple[str, ...]:
    """A key of ours as other hosts write it, too."""
    first, *rest = key.split("_")
    return key, key.replace("_", "-"), first + "".join(word.capitalize() for word in rest), key.removesuffix("_only")
