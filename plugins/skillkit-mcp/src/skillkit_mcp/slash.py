"""``/mcp``, and a slash command for every prompt of a server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from skillkit_commands import Prompt, SlashCommand, SlashCommandSet

from skillkit_core import UsageError
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    import mcp_types as types

    from skillkit_core import AgentRunner, UserInterface

    from .connection import Connection
    from .manager import Connections

__all__ = ["COMMANDS", "prompt_commands"]

_DOES = ("on", "off", "reconnect", "login", "tools")
_ODD = re.compile(r"[^a-z0-9_.-]+")
_TEXT = 200_000


async def mcp(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """List the servers, or show, switch, reconnect or log in to one."""
    from .manager import connections_of, used_by

    connections = connections_of(agent.host)
    if not arguments:
        await connections.start()
        own = [
            f"{made.server.name}: {made.state}, of this session alone"
            for of, made in used_by(agent)
            if of is not connections
        ]
        none = as_typed("There are no MCP servers. Add one: skillkit mcp import FILE")
        return "\n".join([*_lines(connections), *own]) or none
    name, _, does = arguments.rpartition(" ") if arguments.rpartition(" ")[2] in _DOES else (arguments, "", "tools")
    one = connections.named(name.strip())
    if does in ("on", "off"):
        await connections.switch(one, does == "on")
        return f"{one.name} is {does} until the session ends."
    if does == "login":
        from .login import login

        await login(agent.host, one, ui)
    if does in ("reconnect", "login"):
        await connections.reconnect(one)
    made = await connections.connection(one)
    await made.client()
    lines = [_state(connections, one.name)]
    from .text import shortened

    lines += [f"  {tool.name}: {shortened(tool.description or '', 90)}" for tool in made.tools]
    return "\n".join([*lines, *(f"  left out: {tool} ({why})" for tool, why in made.messages.left_out.items())])


def complete_mcp(agent: AgentRunner, arguments: str) -> list[str]:
    """Return the servers, then what can be done with one."""
    from .manager import known_connections
    from .servers import configured_servers

    known = known_connections(agent.host)
    names = [one.name for one in (known.configured if known is not None else configured_servers(agent.host))]
    found = [*names, *(f"{name} {does}" for name in names if arguments.startswith(name) for does in _DOES)]
    return [text for text in found if text.startswith(arguments)]


def _lines(connections: Connections) -> Iterator[str]:
    for one in connections.configured:
        yield _state(connections, one.name)


def _state(connections: Connections, name: str) -> str:
    one = connections.named(name)
    made = next((c for c in connections.made() if c.server.name == name), None)
    if not connections.is_on(one):
        why = "; ".join(one.problems) if one.config is None else "off"
        return f"{name}: {why}"
    if made is None:
        return f"{name}: {connections.problems.get(name, 'not started')}"
    if made.state == "ready":
        parts = [f"{len(made.tools)} tools"]
        parts += [f"{len(made.prompts)} prompts"] if made.prompts else []
        parts += ["resources"] if made.has_resources else []
        return f"{name}: ready, {', '.join(parts)}"
    return f"{name}: {made.state}" + (f": {made.problem}" if made.problem else "")


def prompt_commands(agent: AgentRunner) -> Sequence[SlashCommand]:
    """Return a slash command for every prompt of the servers that run."""
    from .manager import used_by

    return [_command(made, prompt) for _, made in used_by(agent) if made.state == "ready" for prompt in made.prompts]


def _command(made: Connection, prompt: types.Prompt) -> SlashCommand:
    from .text import shortened

    async def ask(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Prompt:
        given = _arguments(prompt, arguments)
        found = await made.request(
            lambda client: client.get_prompt(prompt.name, given), f"prompt {prompt.name!r}", ui=ui
        )
        return Prompt(_text(found))

    server = _ODD.sub("-", made.server.short.lower()).strip("-") or "server"
    name = f"{server}:{_ODD.sub('-', prompt.name.lower()).strip('-') or 'prompt'}"[:64]
    hints = " ".join(f"[{a.name}]" if not a.required else f"<{a.name}>" for a in prompt.arguments or ())
    about = " ".join((prompt.description or prompt.title or prompt.name).split())
    if not re.match(r"[a-z]", name):
        name = f"mcp-{name}"[:64]
    return SlashCommand(
        name, shortened(about, 200) or "A prompt.", ask, shortened(hints, 200), origin=made.server.short
    )


def _arguments(prompt: types.Prompt, text: str) -> dict[str, str]:
    """Return the arguments by name: word by word, the last one gets what is left.

    Raises:
        UsageError: one that is required is missing.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    names = [argument.name for argument in prompt.arguments or ()]
    if len(words) > len(names) > 0:
        words[len(names) - 1 :] = [" ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    missing = [a.name for a in prompt.arguments or () if a.required and a.name not in given]
    if missing:
        raise UsageError(f"the prompt {prompt.name!r} needs {', '.join(missing)}", hint="write them after the command")
    return given


def _text(found: types.GetPromptResult) -> str:
    """Return the messages of a prompt as one text."""
    from .text import plain

    texts = []
    for message in found.messages:
        part = message.content
        text = getattr(part, "text", None)
        if text is None and (resource := getattr(part, "resource", None)) is not None:
            text = getattr(resource, "text", None)
        text = plain(text[:_TEXT]) if isinstance(text, str) else f"[{part.type}, not shown]"
        texts.append(text if len(found.messages) == 1 else f"{message.role}: {text}")
    return "\n\n".join(texts) or "(the prompt is empty)"


COMMANDS = (
    SlashCommand(
        "mcp", "Show MCP servers, and switch them.", mcp, "[SERVER [on|off|reconnect|login|tools]]", complete_mcp,
        while_running=True,
    ),
    SlashCommandSet("mcp prompts", "skillkit_mcp.slash:prompt_commands"),
)  # fmt: skip
