"""Finds, completes and runs the slash commands of an agent: what every front end calls."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillkit_core import PluginError, SkillKitError, UnknownName, UsageError
from skillkit_core.descriptors import load_object

from .command import Edit, Prompt, SlashCommand, SlashCommandSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillkit_core import AgentRunner, UserInterface

__all__ = ["Completion", "Invocation", "SlashCommands"]

_LINE = re.compile(r"/([a-z][\w.:-]*(?:@[\w.:-]+)?)(?:\s+(.*))?\s*\Z", re.S)
_SHOWN = 20  # completions of arguments


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that may stand in place of what was typed.

    Attributes:
        text: the whole line.
        label: what a person chooses by.
        help: one line; may be empty.
    """

    text: str
    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A line that calls a command.

    Attributes:
        command: what is called.
        arguments: the text after the name.
    """

    command: SlashCommand
    arguments: str


class SlashCommands:
    """The slash commands of an agent: those of all plugins, as they are at the moment.

    Where two commands share a name, the one that a plugin registered wins over one of a set (a prompt file cannot take
    the name of ``/model``), and the other one is called ``name@origin``. Two that rank alike are both called so.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent

    def all(self) -> list[SlashCommand]:
        """Return the commands by name; ``origin`` is filled, and ``name`` is what a person types."""
        found = list(self._found())
        rank = {name: min(r for r, c in found if c.name == name) for name in {c.name for _, c in found}}
        alike = Counter(c.name for r, c in found if r == rank[c.name])
        named = [c if r == rank[c.name] and alike[c.name] == 1 else _address(c) for r, c in found]
        return sorted({c.name: c for c in reversed(named)}.values(), key=lambda c: c.name)

    def match(self, line: str) -> Invocation | None:
        """Return what a line calls; ``None``: the line does not look like a command (``/etc/hosts is wrong``).

        Raises:
            UnknownName: there is no such command; close names are proposed.
            UsageError: the command takes no arguments.
        """
        match = _LINE.match(line)
        if match is None:
            return None
        known = {command.name: command for command in self.all()}
        command = known.get(match[1])
        if command is None:
            raise UnknownName("slash command", match[1], sorted(known))
        arguments = (match[2] or "").strip()
        if arguments and not command.arguments:
            raise UsageError(f"/{command.name} takes no arguments", hint=f"type /{command.name} alone")
        return Invocation(command, arguments)

    def complete(self, line: str) -> list[Completion]:
        """Return what may stand in place of the beginning of a line: names, then arguments of the named command."""
        if not line.startswith("/"):
            return []
        name, space, arguments = line[1:].partition(" ")
        if not space:
            return [
                Completion(f"/{c.name}" + (" " if c.arguments else ""), f"/{c.name}", c.help)
                for c in self.all()
                if c.name.startswith(name)
            ]
        command = next((c for c in self.all() if c.name == name), None)
        if command is None or command.complete is None:
            return []
        texts = list(load_object(command.complete)(self._agent, arguments))[:_SHOWN]
        return [Completion(f"/{name} {text}", text) for text in texts]

    async def run(self, invocation: Invocation, ui: UserInterface | None = None) -> str | Prompt | Edit | None:
        """Call the command; ``ui`` is how it asks and tells, default: the agent's.

        Raises:
            SkillKitError: what the command says went wrong.
            PluginError: the command raised something else, or handed back something else.
        """
        command = invocation.command
        try:
            answer = await load_object(command.handler)(self._agent, invocation.arguments, ui or self._agent.ui)
            if isinstance(answer, Prompt) and (refused := await self._refused(invocation, answer.text)):
                return refused
        except SkillKitError:
            raise
        except Exception as error:
            raise PluginError(f"/{command.name} ({command.origin}) failed: {type(error).__name__}: {error}") from error
        if answer is not None and not isinstance(answer, (str, Prompt, Edit)):
            raise PluginError(f"/{command.name} ({command.origin}) returned a {type(answer).__name__}")
        return answer

    async def _refused(self, invocation: Invocation, text: str) -> str | None:
        """Return why the agent is not asked what a command made (``register_prompt_guards``)."""
        registry = self._agent.host.registry("prompt_guards")
        for entry in registry.entries():
            reason = await registry.get(entry.address)(self._agent, invocation, text)
            if reason is not None:
                return str(reason)
        return None

    def _found(self) -> Iterator[tuple[int, SlashCommand]]:
        """Yield every command with its rank: 0 for those that plugins registered, 1 for those of sets."""
        for entry in self._agent.host.registry("slash_commands").entries():
            if not isinstance(entry.item, SlashCommandSet):
                yield 0, replace(entry.item, origin=entry.item.origin or entry.source)
                continue
            try:
                members = list(load_object(entry.item.factory)(self._agent))
            except Exception as error:  # noqa: BLE001 - a set that fails takes nobody else's commands away
                self._agent.host.note(entry.source, f"the slash commands {entry.item.name!r} are left out: {error}")
                continue
            for member in members:
                yield 1, replace(member, origin=member.origin or entry.source)


def _address(command: SlashCommand) -> SlashCommand:
    """Return the command under the name that says where it comes from, too."""
    return replace(command, name=f"{command.name}@{re.sub(r'[^A-Za-z0-9_.:-]+', '-', command.origin)}")
