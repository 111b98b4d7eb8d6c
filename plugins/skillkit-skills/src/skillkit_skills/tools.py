"""The tools of skills: one for every action, and ``activate_skill``, ``find_skills`` and ``skill_file`` where they are needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError, UnknownName
from skillkit_core.frozen import freeze
from skillkit_core.settings.documents import open_regular
from skillkit_core.skills import Skill
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .agent_skills import ACTIVATE, skills_of
from .listed import address_of, companions
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["skill_tools"]


def skill_tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """The tools that skills give ``agent`` now; the same tuple while nothing changed.

    A model that would never activate a skill is offered every action, however many there are.
    """
    state, host, target = skills_of(agent), agent.host, agent.target
    if state.names and any(skill.hooks for skill in state.active()):
        from .skill_hooks import arm

        arm(agent, state.active())
    at_once = target is not None and not target.adapter.progressive
    offered = state.usable(agent.session)
    if state.offer.gated:
        agent.toolbox.changed()  # what a person says next may open a gate
    expose = "always" if at_once else settings_of(host).expose_actions
    key = (state.offer.version, offered, expose, *state.names)
    if key != state.made[0]:  # tuples of the same objects compare without a look into them
        plan = state.plan_of(offered, expose)
        tools = list(plan.tools)
        if any(tool.annotations.get("confirm") in ("first", "always") for tool in tools):
            state.changed()
        if plan.parameters is not None:
            tools.append(_activation_tool(host, state.names, plan.parameters, offered))
        if plan.searched and not at_once:
            from .finding import find_tool

            tools.append(find_tool(host, offered))
        if state.names and not _reads(host):
            tools.append(_file_tool(host, state.names))
        state.made = key, tuple(tools)
    return state.made[1]


# --- activate_skill -------------------------------------------------------------------------------------------------


def _activation_tool(
    host: Host, active: dict[str, Skill | None], parameters: Mapping[str, Any], offered: Sequence[Skill]
) -> Tool:
    return Tool(
        ACTIVATE,
        "Read the instructions of a skill. Do this before a task that the description of an available skill fits.",
        partial(
            _run_activation, host, active, frozenset(s.name for s in offered)
        ),  # holds no agent, which would lead back to the tool
        parameters,
        replay="safe",
        annotations=_ACTIVATION,
    )


async def _run_activation(
    host: Host, active: dict[str, Skill | None], offered: frozenset[str], args: Mapping[str, Any], ctx: ToolContext
) -> ToolOutput:
    from .activation import answered, opened

    name = str(args["name"])
    if name not in offered:  # a skill that is hidden from models is as unknown as one that is not there
        raise UnknownName("skill", name, offered)
    skill = host.skills.get(name)
    text = args.get("arguments")
    details = {"skill": skill.name, "path": str(skill.path) if skill.path else None}
    if active.get(address_of(host, skill)) == skill and not text:  # one that was reloaded is read again
        return ToolOutput(f"Skill {skill.name} is active already: its instructions are above.", details)
    content = await opened(ctx.agent, skill, text)
    if skill.context == "fork":
        answer = await answered(ctx.agent, skill, content)
        ended = "" if answer.outcome == "completed" else f"[the run of the skill ended early: {answer.outcome}]"
        told = "\n".join(filter(None, (answer.content, ended)))
        return ToolOutput(told, {**details, "forked": True}, is_error=bool(ended))
    for one in (skill, *companions(host, skill)):
        active[address_of(host, one)] = one
    skills_of(ctx.agent).changed()
    if any(one.hooks for one in (skill, *companions(host, skill))):
        from .skill_hooks import arm

        arm(ctx.agent, (skill, *companions(host, skill)))
    return ToolOutput(content, {**details, "content": True}, pinned=True)


_ACTIVATION = freeze({"purpose": "activate a skill", "mutates": "none"})


# --- skill_file, for hosts without the plugin ``files`` ---------------------------------------------------------------

_CHARS = 60_000
_BYTES = 16 << 20
_FILE_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "skill": {"type": "string", "description": "Name of the active skill."},
        "path": {"type": "string", "description": "Path of the file in the folder of the skill."},
        "offset": {"type": "integer", "minimum": 1, "description": "First line; default 1."},
    },
    "required": ["skill", "path"],
    "additionalProperties": False,
}


def _reads(host: Host) -> bool:
    """Whether there is a tool that reads the files of active skills."""
    return any(entry.name in ("read", "files") for entry in host.tools.entries())


def _file_tool(host: Host, active: Collection[str]) -> Tool:
    """The tool ``skill_file``, for hosts without the plugin ``files``."""
    return Tool(
        "skill_file",
        "Read a text file of an active skill: its references, scripts and assets.",
        partial(_read_file, host, active),
        _FILE_PARAMETERS,
        replay="safe",
        annotations={"mutates": "none"},
    )


async def _read_file(host: Host, active: Collection[str], args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Return the text of a file in the folder of an active skill, from the line ``offset`` on, at most 60,000 characters.

    Raises:
        ToolError: the skill is not active, or the file leaves its folder, is not there, or is no text.
    """
    name, wanted = str(args["skill"]), str(args["path"])
    skill = host.skills.get(name) if name in active and host.skills.has(name) else None
    if skill is None or skill.path is None:
        raise ToolError(f"skill {name!r} is not active", hint=f"active are: {', '.join(active) or 'none'}")
    root = skill.path.resolve()
    try:
        path = (root / wanted).resolve()
        if not path.is_relative_to(root):
            raise ToolError(f"{wanted!r} is outside the folder of skill {name!r}")
        with open_regular(path) as file:
            text = file.read(_BYTES).decode()
    except UnicodeDecodeError:
        raise ToolError(f"{wanted!r} is no text") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"{wanted!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    lines = text.splitlines(keepends=True)
    first = int(args.get("offset") or 1)
    shown = "".join(lines[first - 1 :])
    if len(shown) <= _CHARS:
        return shown
    cut = shown[:_CHARS]
    return f"{cut}\n[cut: go on with offset {first + cut.count(chr(10))}]"
