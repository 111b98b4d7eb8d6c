"""What skillkit-skills brings to a host; everything heavy is named by import strings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, ContextProvider, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.contracts.skill_loader import SkillSource
    from skillkit_core.events.results import BeforeAgentStartResult, InputResult, ToolCallEventResult
    from skillkit_core.events.types import BeforeAgentStartEvent, InputEvent, SessionStartEvent, ToolCallEvent
    from skillkit_core.skills import Skill, SkillProblem
    from skillkit_core.tools import ToolSet

    from .gates import Request

# topics: something is to be guarded; there are too many skills to list
_ACTIVE, _SEARCHED = "skills.active", "skills.searched"


class Hooks:
    """The hooks of the family."""

    @hookspec
    def filter_skill(self, skill: Skill, context: Request) -> str | None:
        """Say why a skill may not be used for a request, or return ``None``; every plugin is asked, and one reason is enough.

        ``context.caller`` says who wants the skill, ``context.query`` what was said. The hook is a plain function, is asked
        about every skill whose own gates are open, and must be fast. A filter that fails keeps all skills away.
        """

    @hookspec
    def used_fields(self, host: Host) -> Collection[str] | None:
        """Say which fields of a skill have an effect because the plugin is there: ``return {"tool_packs", "system_prompt"}``.

        ``skillkit skills check`` tells of every other field that has none. All answers count together; a plugin that fails
        says nothing, and ``skillkit plugins doctor`` names it.
        """

    @hookspec
    def check_skill(self, skill: Skill, host: Host) -> Sequence[SkillProblem] | None:
        """Say what is wrong with a skill on this host, for ``skillkit skills check``: a tool, a fragment that nobody brings."""

    @hookspec
    def engine_packages(self, host: Host) -> Mapping[str, str] | None:
        """Name the packages that bring engines: ``return {"research": "skillkit-engine-research"}``.

        A skill for an engine of these that is not there cannot run, with the reason
        ``missing_engine:research (pip install skillkit-engine-research)``. Without an answer an engine that nobody knows is
        ``unknown-engine``.
        """

    @hookspec
    def register_skill_commands(self, register: Callable[[Command], None], host: Host, config: Any) -> None:
        """Offer ``skillkit skills NAME``: ``register(Command("dev", "acme.dev:dev", "Help."))``."""

    @hookspec
    def register_explanations(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Say why a skill is chosen, for ``skillkit run --explain``: ``register(Factory(name, create))``.

        ``create(host)`` makes an object with ``explain(agent, request) -> Explanation | None``
        (``skillkit_skills.explaining``).
        """

    @hookspec
    def register_skill_agents(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Know the agents that a skill with ``context: fork`` names by ``agent``: ``register(Factory(name, create))``.

        ``create(host)`` makes an object with ``names() -> Collection[str]``, and ``async become(below, agent, name) -> None``,
        which gives the agent ``below`` of ``agent`` prompt, tools, model and limits of the agent ``name``.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``filter_skill``, and the registries of commands, explanations and agents with their hooks."""
    add(Hooks, kinds={"skill_commands": Command, "explanations": Factory, "skill_agents": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """The section ``skills``."""
    register(ConfigSection("skills", "skillkit_skills.settings:Settings"))


@hookimpl
def register_skill_loaders(register: Callable[[Factory], None]) -> None:
    """The reader of SKILL.md folders."""
    register(Factory("folder", "skillkit_skills.loader:SkillFolderLoader", "SKILL.md folders"))


@hookimpl
def register_skill_sources(register: Callable[[SkillSource], None], host: Host) -> None:
    """The project's, the user's, installed packages', and configured directories."""
    from .sources import sources

    for source in sources(host):
        register(source)


@hookimpl
def project_content(register: Callable[..., None], folder: str, settings: Mapping[str, Any]) -> None:
    """The project's own skills, and those of directories that its configuration names."""
    from .loader import project_folders

    for path, describe in project_folders(folder, settings):
        register(path, describe)


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """A tool for every action, and ``activate_skill``."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("skills", "skillkit_skills.tools:skill_tools", lasting=True))


@hookimpl
def register_context_providers(register: Callable[[ContextProvider], None]) -> None:
    """The list of skills."""
    register(ContextProvider("skills", "skillkit_skills.context:skills_prompt", order=40))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit skills``."""
    register(
        Command(
            "skills",
            "skillkit_skills.cli.commands:skills",
            "List, show, check, install and update skills.",
        )
    )


@hookimpl
def register_explanations(register: Callable[[Factory], None]) -> None:
    """The skills that the search finds for a request."""
    register(Factory("search", "skillkit_skills.explaining:SearchExplains"))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """``/skills``, and ``/NAME`` for every skill that a person may call."""
    from skillkit_commands import SlashCommand, SlashCommandSet

    register(SlashCommand("skills", "List the skills.", "skillkit_skills.slash:list_skills", while_running=True))
    register(SlashCommandSet("callable skills", "skillkit_skills.slash:skill_commands"))


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """No session keeps the keys of skills, and where skills may be active from the start, their guard waits for nothing."""
    from .actions import remember_secrets

    agent = ctx.agent
    if agent is None:
        return
    if agent.config.skills or event.reason != "new":
        agent.events.arm(_ACTIVE)
    remember_secrets(agent.host)


@hookimpl(timeout=3600)
def input(event: InputEvent, ctx: HandlerContext) -> InputResult | Any:
    """``/name text`` and ``$name text`` call the skill ``name``, which may run commands and a run of its own."""
    if event.text[:1] not in ("/", "$"):
        return None
    from . import invocation

    return invocation.invoke(event, ctx)


@hookimpl(while_=(_SEARCHED,))
def before_agent_start(event: BeforeAgentStartEvent, ctx: HandlerContext) -> BeforeAgentStartResult | Any:
    """Name the skills that fit a request, where there are too many to list."""
    agent = ctx.agent
    if agent is None or (agent.target is not None and not agent.target.adapter.progressive):
        return None
    from . import finding

    return finding.named_with_request(event, agent)


@hookimpl(optionalhook=True)
def register_permission_rules(register: Callable[[Factory], None]) -> None:
    """What active skills approve and deny, where the plugin ``permissions`` is there."""
    register(Factory("active skills", "skillkit_skills.guard:PermissionRules"))


@hookimpl(optionalhook=True)
def explain_skills(agent: AgentRunner) -> Sequence[Mapping[str, str]]:
    """Which skills a model is told of, and why not of the others, where the plugin ``why`` is there."""
    from .context import skills_told

    return skills_told(agent)


@hookimpl(optionalhook=True)
def explain_tools(agent: AgentRunner) -> Mapping[str, str] | None:
    """Which tools active skills forbid."""
    from .context import forbidden

    return forbidden(agent)


@hookimpl(optionalhook=True)
def register_shell_hooks(register: Callable[[Factory], None]) -> None:
    """The hooks of active skills, where the plugin ``shell-hooks`` is there."""
    register(Factory("active skills", "skillkit_skills.skill_hooks:shell_hooks"))


@hookimpl(phase="guard", while_=(_ACTIVE,))
def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | Any:
    """Ask before actions that want it, and keep the limits of active skills."""
    from . import guard

    return guard.before_tool_call(event, ctx)
