"""Prompt files: ``review.md`` in a folder of commands is the slash command ``/review``.

The folders, the first of two files of one name wins: ``.skillkit/commands`` and ``.claude/commands`` of a trusted project,
``commands`` in the user's configuration folder, ``~/.claude/commands``. ``fix/types.md`` is ``/fix:types``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_markdown import MarkdownFile, NamedFile, Unusable, collect, folders_of

from .command import Prompt, SlashCommand

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface

__all__ = ["PromptFile", "prompt_commands", "prompt_files"]

_MAX_FILES = 1000  # of one folder
_PLACE = re.compile(r"\\(\$)|\$ARGUMENTS\[(\d+)\]|\$ARGUMENTS\b|\$(\d+)")
_NAME = re.compile(r"[a-z][a-z0-9_.:-]{0,63}\Z")
_READ = {"description", "argument-hint"}  # keys of the front matter that have an effect


@dataclass(frozen=True, slots=True)
class PromptFile(NamedFile):
    """A prompt file; its ``name`` is what is typed after ``/``.

    Attributes:
        description: one line.
        hint: how the arguments are written; empty where the file says nothing.
        body: the text with its places for arguments.
    """

    description: str = ""
    hint: str = ""
    body: str = ""

    def prompt(self, arguments: str) -> str:
        """Return the text with the arguments in their places: ``$ARGUMENTS``, ``$ARGUMENTS[N]`` from 0, ``$1`` from 1.

        Text that is put in is never searched for places. ``\\$`` is a plain ``$``. Where the file has no place, the
        arguments follow the text.
        """
        try:
            words = shlex.split(arguments)
        except ValueError:
            words = arguments.split()
        used = False

        def fill(match: re.Match[str]) -> str:
            nonlocal used
            if match[1]:
                return "$"
            used = True
            if match[2] or match[3]:
                place = int(match[2]) if match[2] else int(match[3]) - 1
                return words[place] if 0 <= place < len(words) else ""
            return arguments

        text = _PLACE.sub(fill, self.body).strip()
        return text if used or not arguments else f"{text}\n\n{arguments}"


def prompt_commands(agent: AgentRunner) -> Sequence[SlashCommand]:
    """Return a slash command for every prompt file that can be used."""
    return [_command(file) for file in prompt_files(agent.host) if not file.broken]


def prompt_files(host: Host) -> list[PromptFile]:
    """Return the prompt files of the folders that exist, also those that cannot be used and those that another one hides."""
    return list(collect(PromptFile, folders_of(host, "commands"), _read, name=_name_of, deep=True, most=_MAX_FILES))


def _name_of(path: str) -> str:
    return path.replace("/", ":").lower().replace(" ", "-")


def _read(file: MarkdownFile) -> PromptFile:
    """Return what a prompt file says, with what is wrong about it."""
    name, text = _name_of(file.name), file.front.body
    if not _NAME.match(name):
        raise Unusable("its name cannot be typed as a command: use letters, digits and -")
    if "frontmatter-not-mapping" in file.front.diagnostics:
        raise Unusable("its front matter is no mapping")
    if not text:
        raise Unusable("it is empty")
    head = file.front.values or {}
    problems = [*file.repairs()]
    if unread := sorted(key for key in head if key not in _READ):
        problems.append(f"no effect here: {', '.join(unread)}")
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip("# ").strip()), name)
    description = " ".join(str(head.get("description") or first).split())[:200]
    hint = head.get("argument-hint") or ""
    hint = " ".join(f"[{one}]" for one in hint) if isinstance(hint, list) else " ".join(str(hint).split())
    return PromptFile(name, file.path, file.origin, tuple(problems), description=description, hint=hint, body=text)


def _command(file: PromptFile) -> SlashCommand:
    async def ask(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Prompt:
        return Prompt(file.prompt(arguments))

    return SlashCommand(file.name, file.description, ask, arguments=file.hint or "[TEXT]", origin=file.origin)
