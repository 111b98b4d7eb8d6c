"""Prompt files: ``review.md`` in a folder of commands is the slash command ``/review``.

The folders, the first of two files of one name wins: ``.skillkit/commands`` and ``.claude/commands`` of a trusted project,
``commands`` in the user's configuration folder, ``~/.claude/commands``. ``fix/types.md`` is ``/fix:types``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from .command import Prompt, SlashCommand
from .plugin import PROJECT_FOLDERS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface

__all__ = ["PromptFile", "markdown", "prompt_commands", "prompt_files"]

MAX_BYTES = 256 * 1024
_MAX_FILES = 1000  # of one folder
_HEAD = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_PLACE = re.compile(r"\\(\$)|\$ARGUMENTS\[(\d+)\]|\$ARGUMENTS\b|\$(\d+)")
_NAME = re.compile(r"[a-z][a-z0-9_.:-]{0,63}\Z")
_READ = {"description", "argument-hint"}  # keys of the front matter that have an effect


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt file.

    Attributes:
        name: what is typed after ``/``.
        path: the file.
        origin: ``project``, ``project:claude``, ``user`` or ``user:claude``.
        description: one line.
        hint: how the arguments are written; empty where the file says nothing.
        body: the text with its places for arguments.
        problems: what is wrong, a line each; with ``broken`` the file is no command.
        broken: the file cannot be used.
    """

    name: str
    path: Path
    origin: str
    description: str = ""
    hint: str = ""
    body: str = ""
    problems: tuple[str, ...] = ()
    broken: bool = False

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
    found: dict[str, PromptFile] = {}
    files: list[PromptFile] = []
    for origin, folder in _folders(host):
        for path in markdown(folder):
            file = _read(path, folder, origin)
            if not file.broken and (winner := found.setdefault(file.name, file)) is not file:
                file = PromptFile(
                    file.name,
                    path,
                    origin,
                    problems=(f"hidden by {winner.path}, which has the same name",),
                    broken=True,
                )
            files.append(file)
    return files


def _folders(host: Host) -> Iterator[tuple[str, Path]]:
    """Yield the folders that count; nothing of a project that is not trusted does."""
    home = Path(host.environ.get("HOME") or "~").expanduser()
    if host.trusted:
        for origin, place in zip(("project", "project:claude"), PROJECT_FOLDERS, strict=True):
            yield origin, host.cwd / place
    yield "user", host.config_dir / "commands"
    yield "user:claude", home / ".claude" / "commands"


def markdown(folder: Path) -> list[Path]:
    """Return the Markdown files of a folder and its sub-folders, by name."""
    return sorted(p for p in folder.rglob("*.md") if p.is_file())[:_MAX_FILES] if folder.is_dir() else []


def _read(path: Path, folder: Path, origin: str) -> PromptFile:
    """Return the prompt file at a path, with what is wrong about it."""
    name = ":".join(path.relative_to(folder).with_suffix("").parts).lower().replace(" ", "-")
    if not _NAME.match(name):
        return _broken(name, path, origin, "its name cannot be typed as a command: use letters, digits and -")
    if not path.resolve().is_relative_to(folder.resolve()):
        return _broken(name, path, origin, "it is a link out of its folder")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return _broken(name, path, origin, f"it cannot be read: {error}")
    if len(data) > MAX_BYTES:
        return _broken(name, path, origin, f"it is larger than {MAX_BYTES // 1024} KiB")
    head: Any = {}
    problems: list[str] = []
    if match := _HEAD.match(text):
        text = text[match.end() :]
        try:
            head = yaml.safe_load(match[1]) or {}
        except yaml.YAMLError:
            head = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in match[1].splitlines()) if v}
            problems.append("its front matter is no YAML; each line was read as 'key: text'")
        if not isinstance(head, dict):
            return _broken(name, path, origin, "its front matter is no mapping")
    if unread := sorted(str(key) for key in head if key not in _READ):
        problems.append(f"no effect here: {', '.join(unread)}")
    if not text.strip():
        return _broken(name, path, origin, "it is empty")
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip("# ").strip()), name)
    description = " ".join(str(head.get("description") or first).split())[:200]
    hint = head.get("argument-hint") or ""
    hint = " ".join(f"[{one}]" for one in hint) if isinstance(hint, list) else " ".join(str(hint).split())
    return PromptFile(name, path, origin, description, hint, text, tuple(problems))


def _broken(name: str, path: Path, origin: str, problem: str) -> PromptFile:
    return PromptFile(name, path, origin, problems=(problem,), broken=True)


def _command(file: PromptFile) -> SlashCommand:
    async def ask(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Prompt:
        return Prompt(file.prompt(arguments))

    return SlashCommand(file.name, file.description, ask, arguments=file.hint or "[TEXT]", origin=file.origin)
