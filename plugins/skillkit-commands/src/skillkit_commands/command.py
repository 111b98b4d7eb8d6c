"""What plugins register: slash commands, sets of them, and what a command hands back."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from skillkit_core import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["Completer", "Edit", "Prompt", "SlashCommand", "SlashCommandSet", "SlashHandler"]

_NAME = re.compile(r"[a-z][a-z0-9_.:-]{0,63}(?:@[\w.:-]+)?\Z")  # "@origin" where two share a name


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a command hands back when the agent is to be asked: the front end sends it as if a person had typed it.

    Attributes:
        text: what the agent is asked.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """What a command hands back when a person is to edit a file: the front end opens the person's editor on it.

    Attributes:
        path: the file, which exists.
        done: called when the editor was closed; returns what the person is told.
    """

    path: Path
    done: Callable[[], Awaitable[str | None]]


SlashHandler: TypeAlias = Callable[
    ["AgentRunner", str, "UserInterface | None"], Awaitable["str | Prompt | Edit | None"]
]
Completer: TypeAlias = Callable[["AgentRunner", str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command.

    Attributes:
        name: what is typed after ``/``: lower-case letters, digits, ``_ . : -``, at most 64 characters.
        help: one line that says what the command does.
        handler: ``async (agent, arguments, ui) -> str | Prompt | Edit | None``, or its import string ``"module:function"``.
            ``arguments`` is the text after the name. A str is shown to the person, a :class:`Prompt` is
            asked, and the file of an :class:`Edit` is opened in an editor.
        arguments: how the arguments are written, for help: ``"[MODEL]"``; empty: the command takes none.
        complete: ``(agent, arguments) -> texts`` that may stand in place of ``arguments``, or its import string.
        while_running: the command may be called while a run is active.
        origin: where a command comes from, where its plugin alone does not say it (``project``, a file, a server).

    Raises:
        UsageError: nobody can type the name, or there is no help.
    """

    name: str
    help: str
    handler: SlashHandler | str
    arguments: str = ""
    complete: Completer | str | None = None
    while_running: bool = False
    origin: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.match(self.name):
            raise UsageError(
                f"slash command {self.name!r}: the name must match [a-z][a-z0-9_.:-]*, at most 64 characters"
            )
        if not isinstance(self.help, str) or not self.help.strip() or "\n" in self.help:
            raise UsageError(f"slash command {self.name!r}: help must be one line")
        if not callable(self.handler) and ":" not in str(self.handler):
            raise UsageError(f"slash command {self.name!r}: handler must be a function or 'module:function'")


@dataclass(frozen=True, slots=True)
class SlashCommandSet:
    """Slash commands that depend on the moment: prompt files, skills, the prompts of a server.

    Attributes:
        name: unique among the sets of a plugin.
        factory: ``(agent) -> Sequence[SlashCommand]``, or its import string; called whenever a front end lists commands.
    """

    name: str
    factory: Callable[[AgentRunner], Sequence[SlashCommand]] | str
