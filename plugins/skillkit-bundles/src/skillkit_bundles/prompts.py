"""Commands of bundles: what a file says, and the text that a model gets when one is called."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillkit_markdown import FileError, flag, read_front_matter, read_inside
from skillkit_skills import substitute

from skillkit_core.errors import UnknownName, UsageError

from .model import Bundle, Component

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Command", "Expansion", "command_named", "expand", "fill", "read_command", "variables_of"]

_SHELL = re.compile(r"(?<!\S)!`([^`\n]+)`|^```![ \t]*\n(.*?)\n?```[ \t]*$", re.S | re.M)
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS\b|\d|[A-Za-z_])")
_HARMLESS = re.compile(r"[\w ./:@=,+-]*\Z")
_FILE = re.compile(r"(?<![\w`@/.\\])@(?=[\w./~-])([^\s`'\"<>()\[\]{},;|]+)")
_TOKEN = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
_MOST_BYTES = 2 << 20
_MOST_FILES = 20
_MOST_CHARACTERS = 100_000
_OFF = "[a command stood here: commands in the text of bundles are switched off]"


@dataclass(frozen=True, slots=True)
class Command:
    """A command as its file says it.

    Attributes:
        name: the full name, ``bundle:name``.
        description: one line.
        hint: how the arguments are written; empty: the file does not say.
        arguments: names of the arguments, in order.
        allowed: what runs without a question while the command's turn lasts.
        disallowed: tools that do not run meanwhile.
        by_user, by_model: who may call it.
        problems: what of the file has no effect, or could not be read.
    """

    name: str
    body: str
    description: str = ""
    hint: str = ""
    arguments: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    model: str | None = None
    by_user: bool = True
    by_model: bool = True
    problems: tuple[str, ...] = ()


def command_named(bundle: Bundle, name: str) -> Command:
    """Return the command of a bundle that is called ``name``, with or without the bundle's name before it.

    Raises:
        UnknownName: there is none.
        UsageError: its file cannot be read.
    """
    known = {one.name: one for one in bundle.commands}
    bare = {one.name.removeprefix(f"{bundle.name}:"): one for one in bundle.commands}
    found = known.get(name) or bare.get(name)
    if found is None:
        raise UnknownName("command", name, sorted(known))
    return read_command(bytes_of(bundle, found), found.name)


def bytes_of(bundle: Bundle, one: Component) -> bytes:
    """Return the bytes of a command or an agent.

    Raises:
        UsageError: its file cannot be read, or leads out of the bundle by now.
    """
    if one.text is not None:
        return one.text.encode()
    try:
        return read_inside(one.path, (bundle.root,), _MOST_BYTES)
    except FileError as error:
        raise UsageError(f"{one.name}: {error}", where=str(one.path)) from None


def variables_of(root: Path, data: Path, project: Path, session: str | None = None) -> dict[str, str]:
    """Return the values of the variables that texts of a bundle may name."""
    return {
        **dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT"), str(root)),
        **dict.fromkeys(("CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"), str(data)),
        "CLAUDE_PROJECT_DIR": str(project),
        **({"CLAUDE_SESSION_ID": session} if session else {}),
    }


_READ = frozenset(
    (
        "name", "description", "argument-hint", "arguments", "allowed-tools", "disallowed-tools", "model",
        "disable-model-invocation", "user-invocable", "when_to_use", "when-to-use",
    )
)  # fmt: skip


def read_command(data: bytes, name: str) -> Command:
    """Read the file of a command. Never raises: a front matter that cannot be read leaves the text."""
    front = read_front_matter(data)
    head = front.values or {}
    body = (
        front.body if not front.rejected else data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    )
    problems = [f"no effect here: {key}" for key in head if key not in _READ]
    problems += [f"cannot be read: {key}" for key in front.dropped]
    lines = (line.strip("# ").strip() for line in body.splitlines())
    about = head.get("description") or front.dropped.get("description") or next(filter(None, lines), name)
    hint = head.get("argument-hint") or ""
    model = head.get("model")
    return Command(
        name, body,
        " ".join(str(about).split())[:200],
        " ".join(f"[{one}]" for one in hint) if isinstance(hint, list) else " ".join(str(hint).split()),
        tuple(_words(head.get("arguments"))),
        tuple(_tokens(head.get("allowed-tools"))),
        tuple(_tokens(head.get("disallowed-tools"))),
        model if isinstance(model, str) and model not in ("", "inherit") else None,
        flag(head.get("user-invocable"), True),
        not flag(head.get("disable-model-invocation"), False),
        tuple(problems),
    )  # fmt: skip


def _words(value: Any) -> list[str]:
    words = value.replace(",", " ").split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [one for one in words if isinstance(one, str) and re.fullmatch(r"[A-Za-z_][\w-]*", one)]


def _tokens(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if isinstance(value, list):
        return [one.strip() for one in texts if isinstance(one, str) and one.strip()]
    return [token for text in texts for token in _TOKEN.findall(text)]


def fill(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with the values of ``${NAME}``; names without a value stay."""
    return _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), text)


# --- the text of one call -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a call of a command comes to.

    Attributes:
        text: the text for the model.
        attachments: the files that the text names with ``@``, each with its path.
        ran: the shell commands that ran.
        allowed: what the command wants to run without a question.
        disallowed: tools that do not run while its turn lasts.
        grants: what of ``allowed`` counts: nothing of a bundle that is not trusted.
        model: the model that the command wants.
    """

    text: str
    attachments: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    model: str | None = None

    @property
    def prompt(self) -> str:
        """The text with its attachments."""
        return "\n\n".join((self.text, *self.attachments))


async def expand(
    agent: AgentRunner,
    command: Command,
    arguments: str,
    variables: Mapping[str, str],
    *,
    by: Literal["user", "model"] = "user",
    trusted: bool = True,
    shell: bool = True,
    timeout: float = 120.0,
) -> Expansion:
    """Return what a command says to a model. Variables and arguments are put in once, and never looked through again.

    Commands in the text run as calls of the tool ``bash``, and files are read by the tool ``read``: every guard sees them, and
    nobody is asked. Where one may not run, or fails, nothing of the text reaches a model.

    Args:
        agent: whose tools and guards count.
        command: the command.
        arguments: what was typed behind its name.
        variables: values of ``${CLAUDE_PLUGIN_ROOT}`` and its like.
        by: who calls it.
        trusted: whether ``allowed-tools`` spares questions.
        shell: whether commands in the text run at all.
        timeout: seconds for each of them.

    Raises:
        UsageError: the command is not for this caller, or a command in its text may not run or failed.
    """
    if not (command.by_user if by == "user" else command.by_model):
        raise UsageError(f"/{command.name} is not for {'people' if by == 'user' else 'models'} to call")
    allowed = tuple(fill(one, variables) for one in command.allowed)
    grants = allowed if trusted else ()
    text, lines = _filled(command, arguments, variables, by)
    wanted = list(dict.fromkeys(_FILE.findall(text)))[:_MOST_FILES]
    from .errands import read_files, run_lines

    files = await read_files(agent, [path for one in wanted if (path := _inside(agent.cwd, one)) is not None])
    outputs = await run_lines(agent, lines, grants, timeout) if shell else [_OFF] * len(lines)
    for number, output in enumerate(outputs):
        text = text.replace(_mark(number), output)
    attachments = tuple(f'<file path="{path}">\n{content[:_MOST_CHARACTERS]}\n</file>' for path, content in files)
    ran = tuple(lines) if shell else ()
    return Expansion(text.strip(), attachments, ran, allowed, command.disallowed, grants, command.model)


def _mark(number: int) -> str:
    return f"\x00shell{number}\x00"


def _filled(command: Command, arguments: str, variables: Mapping[str, str], by: str) -> tuple[str, list[str]]:
    """Return the text with marks in place of its shell commands, and these; both with variables and arguments."""
    values: list[str] = []
    lines: list[str] = []

    def keep(match: re.Match[str]) -> str:
        if match[1] not in variables:
            return match[0]
        values.append(variables[match[1]])
        return f"\x00value{len(values) - 1}\x00"

    def line(match: re.Match[str]) -> str:
        lines.append((match[1] or match[2] or "").strip())
        return _mark(len(lines) - 1)

    body = re.sub("[\x00\x01]", "", command.body)
    text = _SHELL.sub(line, _VARIABLE.sub(keep, body))
    if by == "model" and not _HARMLESS.match(arguments) and any(_ARGUMENT.search(one) for one in lines):
        raise UsageError(
            f"/{command.name} puts its arguments into a shell command, so a model may give plain words only",
            hint="letters, digits, blanks and ./:@=,+-",
        )
    given = re.sub("[\x00\x01]", "", arguments)
    # the text comes last, because arguments that were used nowhere are added at the end
    done = substitute("\x01".join((*lines, text)), given, declared=command.arguments, mode="claude")
    *lines, text = (_put(one, values) for one in done.split("\x01"))
    return text, lines


def _put(text: str, values: Sequence[str]) -> str:
    return re.sub("\x00value(\\d+)\x00", lambda match: values[int(match[1])], text)


def _inside(cwd: Path, text: str) -> str | None:
    """Return the path of a file of the project that a text names with ``@``; ``None``: it is none."""
    root = os.path.realpath(cwd)
    for one in (text, text.rstrip(".:!?")):
        try:
            real = os.path.realpath(os.path.join(root, one))  # noqa: PTH118 - a text, perhaps none of a path
        except (OSError, ValueError):
            return None
        if one and real.startswith(root.rstrip(os.sep) + os.sep) and Path(real).is_file():
            return one
    return None
