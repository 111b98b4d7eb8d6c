"""The plugin ``subagents``: the tool ``spawn_agent``, agents in files, ``/agents`` and ``skillkit agents``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

from .state import CREW, CREWS, HOOKS, POLICIES, POLICY, SANDBOXES

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import BeforeAgentEndEvent, SessionShutdownEvent
    from skillkit_core.tools import Tool, ToolSet

_DAY = 86_400.0  # seconds


class Hooks:
    """The hook of the family."""

    @hookspec
    def register_agent_sources(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer agents that lie in no folder of agents: ``register(Factory(name, create))``.

        ``create(host)`` makes a function ``() -> [{...}, ...]``, each a mapping with the fields of an
        :class:`~skillkit_subagents.AgentFile`: ``name``, ``path``, ``origin``, ``description``, ``prompt``, ``tools``,
        ``denied``, ``model``, ``turns``, ``background``, ``skills``, ``problems``. A name may hold colons.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_agent_sources`` and its registry."""
    add(Hooks, kinds={"agent_sources": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``subagents``."""
    register(ConfigSection("subagents", "skillkit_subagents.state:Settings"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit agents``."""
    register(Command("agents", "skillkit_subagents.cli:agents", "List and show the agents that files define."))


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``spawn_agent``."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("subagents", _tools, lasting=True))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    if agent.target is not None and not agent.target.adapter.progressive:
        return ()  # a stand-in for a model asks nobody
    from .offering import tools

    return tools(agent)


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/agents``, where the plugin ``commands`` is there."""
    from .slash import COMMAND

    register(COMMAND)


@hookimpl(optionalhook=True)
def register_skill_agents(register: Callable[[Factory], None]) -> None:
    """Lend the agents of files to skills that name one by ``agent``, where the plugin ``skills`` is there."""
    register(Factory("files", "skillkit_subagents.spawning:SkillAgents"))


@hookimpl(optionalhook=True)
def register_permission_rules(register: Callable[[Factory], None]) -> None:
    """Add what an agent was given as its policy, where the plugin ``permissions`` is there."""
    register(Factory("subagents", _Policies))


class _Policies:
    while_ = (POLICY,)

    def __init__(self, host: Host) -> None:
        pass

    def __call__(self, agent: AgentRunner) -> Sequence[Any]:
        given = ((one, POLICIES.get(one)) for one in agent.ancestors())
        return [(f"policy of {one.events.agent_path[-1]}", policy) for one, policy in given if policy]


@hookimpl(optionalhook=True)
def register_sandbox_rules(register: Callable[[Factory], None]) -> None:
    """Add the sandbox policies that an agent was given, where the plugin ``sandbox`` is there."""
    register(Factory("subagents", _sandboxes))


def _sandboxes(host: Host) -> Callable[[AgentRunner], Sequence[str]]:
    return lambda agent: [name for one in agent.ancestors() for name in SANDBOXES.get(one, ())]


@hookimpl(optionalhook=True)
def register_shell_hooks(register: Callable[[Factory], None]) -> None:
    """Add the hooks of an agent's file, where the plugin ``shell-hooks`` is there."""
    register(Factory("subagents", _hooks))


def _hooks(host: Host) -> Callable[[AgentRunner | None], Sequence[Any]]:
    def hooks(agent: AgentRunner | None) -> Sequence[Any]:
        given = HOOKS.get(agent) if agent is not None else None
        if given is None:
            return ()
        file, mine = given
        events = {"SubagentStop" if event == "Stop" else event: groups for event, groups in mine.items()}
        return [{"origin": f"agent:{file.rpartition('/')[2].removesuffix('.md')}", "file": file, "hooks": events}]

    return hooks


@hookimpl
def project_content(register: Callable[..., None], folder: str) -> None:
    """Name the agent files of a project."""
    from skillkit_markdown import project_places

    for path in project_places("agents").values():
        register(path, partial(_described, folder, path))


def _described(folder: str, path: str) -> list[str]:
    from pathlib import Path

    from skillkit_markdown import markdown_files

    return [f"agent {file.name}" for file in markdown_files(Path(folder, path))]


@hookimpl(phase="last", timeout=_DAY, while_=(CREW,))
async def before_agent_end(event: BeforeAgentEndEvent, ctx: HandlerContext) -> None:
    """Wait for the agents in the background where nobody would read their answers later."""
    agent = ctx.agent
    crew = CREWS.get(agent) if agent is not None else None
    if agent is not None and crew is not None and (agent.ui is None or agent.parent is not None):
        await crew.delivered()


@hookimpl(while_=(CREW,))
async def session_shutdown(event: SessionShutdownEvent, ctx: HandlerContext) -> None:
    """End the agents that still work for an agent that closes."""
    crew = CREWS.get(ctx.agent) if ctx.agent is not None else None
    if crew is not None:
        await crew.end("the agent that asked was closed")
