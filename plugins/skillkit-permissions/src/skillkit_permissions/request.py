"""What is asked for: a tool call, where it stands, and what is known about the tool."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from skillkit_core import SkillKitError
from skillkit_core.descriptors import load_object

from .paths import Place
from .rules import EDITS, READS, canonical

__all__ = ["MODES", "Decision", "Mode", "Outcome", "Request"]

Mode = Literal["ask", "accept-edits", "read-only", "bypass"]
MODES: tuple[Mode, ...] = get_args(Mode)
Outcome = Literal["allow", "ask", "deny"]

_PATHS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a request gets.

    Attributes:
        outcome: ``allow``, ``ask`` or ``deny``.
        reason: why, in half a sentence.
        rule: the rule that decided, as it was written; empty where the mode or the request itself did.
        origin: where the rule stands.
        offer: the rules that would allow the request; empty where none would.
    """

    outcome: Outcome
    reason: str
    rule: str = ""
    origin: str = ""
    offer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One tool call.

    Attributes:
        tool: the name of the tool.
        args: its arguments.
        place: where it stands.
        mode: how strict to be where no rule decides.
        annotations: facts about the tool, from whoever brought it.
        given: the application handed the tool to the agent itself.
        name: the name that rules have for the tool.
        line: the shell line; ``None`` for a tool that takes none.
        harmless: the tool changes nothing.
        edits: the tool changes files and nothing else.
        reads: the tool reads files and nothing else.
        names_files: arguments of a tool that may do anything are declared as files, as those of an action are.
        urls: the addresses that the call goes to: those of arguments, and those that are the annotation; empty: it takes none.
    """

    tool: str
    args: Mapping[str, Any]
    place: Place
    mode: Mode = "ask"
    annotations: Mapping[str, Any] = field(default_factory=dict)
    given: bool = False
    name: str = field(init=False)
    line: str | None = field(init=False)
    harmless: bool = field(init=False)
    edits: bool = field(init=False)
    reads: bool = field(init=False)
    names_files: bool = field(init=False)
    urls: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        set_, about, name = object.__setattr__, self.annotations, canonical(self.tool)
        foreign = self._foreign
        mutates, declared = None if foreign else about.get("mutates"), "paths" in about
        set_(self, "name", name)
        key = about.get("command", "command" if name == "Bash" else None)
        set_(self, "line", None if key is None else _text(self.args.get(key)))
        set_(self, "harmless", mutates == "none")
        set_(self, "edits", name in EDITS or mutates == "files")
        set_(self, "reads", name in READS or (self.harmless and declared))
        set_(self, "names_files", declared and not (self.edits or self.reads or foreign))
        told = about.get("host", "url" if name == "WebFetch" else ())
        set_(self, "urls", () if told == () else self._addresses((told,) if isinstance(told, str) else told))

    @property
    def on_disk(self) -> bool:
        """Whether a decision looks at the disk, where links are followed, or reads a shell line."""
        return self.line is not None or self.edits or self.reads or self.names_files

    @property
    def installed(self) -> bool:
        """Whether the tool is there because somebody wanted it: an action of an installed skill, or the application's own."""
        if self._foreign:
            return False
        return self.given or bool(self.annotations.get("skill") and self.annotations.get("action"))

    @property
    def definition(self) -> str:
        """Digest of what a server says of its tool; empty for a tool of no server."""
        return _text(self.annotations.get("definition"))

    def _addresses(self, keys: Iterable[str]) -> tuple[str, ...]:
        return tuple(key if "://" in key else _text(self.args.get(key)) for key in keys)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths among the arguments; ``"."`` for a tool that reads the working folder by default.

        Where the annotation ``paths`` is a mapping, its values count for arguments that are not given.

        Empty where the function that the annotation ``paths_of`` names cannot read the arguments (a patch with a mistake).
        """
        if (read := self.annotations.get("paths_of")) is not None and not self._foreign:
            try:
                return tuple(map(_text, load_object(read)(self.args)))
            except SkillKitError:
                return ()
        keys = self.annotations.get("paths", _PATHS)
        usual = keys if isinstance(keys, Mapping) else {}
        found: list[str] = []
        for key in (keys,) if isinstance(keys, str) else keys:
            value = self.args.get(key)
            value = usual.get(key) if value is None else value
            found += (
                [_text(v) for v in value]
                if isinstance(value, (list, tuple))
                else [_text(value)]
                if value is not None
                else []
            )
        found = found or (["."] if self.reads and self.name != "Read" else [])
        # a pattern may begin with a folder of its own
        pattern = self.args.get("pattern") if self.name == "Glob" else None
        if isinstance(pattern, str) and "/" in (fixed := re.split(r"[*?\[{]", pattern)[0]):
            found += [posixpath.join(path, fixed.rpartition("/")[0] or "/") for path in found]
        return tuple(found)

    @property
    def _foreign(self) -> bool:
        # what a server says of its own tool is no proof
        return self.tool.startswith("mcp__")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
