"""The plugin ``shell-hooks``: the family of hooks in any language, the handlers that run them, ``skillkit hooks``.

A handler waits for the topic of its event, ``shell-hooks.PreToolUse``, which is armed where there are hooks of the event: a host
without hooks has one handler, that of ``session_start``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events import types as t

_HOUR = 3600.0
_PROJECT_FILE = ".skillkit/hooks.json"


class Hooks:
    """The hook of the family."""

    @hookspec
    def register_shell_hooks(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Bring hooks in the shape of Claude Code's settings: ``register(Factory("acme", create))``.

        ``create(host)`` returns ``(agent: AgentRunner | None) -> Sequence[Mapping]``, which is called for every event that has
        hooks, so it must be cheap. A mapping has ``hooks`` (``{event: [{matcher, hooks: [handler]}]}``) and may have
        ``origin``, ``file``, ``digest``, ``dialect`` (``claude``, ``codex``, ``copilot``), ``wire`` (``claude``, ``camel``) and
        ``plugin`` (``name``, ``root``, ``data``, ``options``, ``env``, ``bin``). Variables in it are filled in here. Who brings
        hooks has asked whether they may run.

        Whoever brings hooks of an event later than at the start of a session arms ``shell-hooks.EVENT``.
        """

    @hookspec
    def register_shell_hook_events(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Say which events happen: ``host.registry("shell_hook_events").get("events")`` is ``{event: "" or why not}``."""


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the families, whose registries are ``shell_hooks`` and ``shell_hook_events``."""
    add(Hooks, kinds={"shell_hooks": Factory, "shell_hook_events": Factory})


@hookimpl
def register_shell_hook_events(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the events by name, with the reason of each that does not happen here.

    Whoever asks for them wants to know what is wrong: the doctor is told of hooks that cannot run.
    """
    register(Factory("events", _events))
    if any_hooks(host):
        from .sources import note_problems

        note_problems(host)


def _events(host: Host) -> Mapping[str, str]:
    from .events import EVENTS

    return EVENTS


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``hooks``."""
    register(ConfigSection("hooks", "skillkit_shell_hooks.config:HooksConfig"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit hooks``."""
    register(Command("hooks", "skillkit_shell_hooks.cli:hooks", "List the hooks that count here, and try them."))


@hookimpl
def project_content(register: Callable[..., None], folder: str) -> None:
    """Name the hooks of a project, and what they would run."""
    register(_PROJECT_FILE, partial(_described, folder))


def _described(folder: str) -> Sequence[str]:
    from .sources import described

    return described(Path(folder, _PROJECT_FILE))


def any_hooks(host: Host, agent: AgentRunner | None = None) -> bool:
    """Return whether there may be hooks here, of settings, of files, or of plugins for an agent."""
    if host.config.raw("hooks") is not None:
        return True
    if (host.config_dir / "hooks.json").exists() or (host.cwd / _PROJECT_FILE).exists():
        return True
    registry = host.registry("shell_hooks")
    return any(registry.get(entry.address)(agent) for entry in registry.entries())


@hookimpl(timeout=_HOUR)
async def session_start(event: t.SessionStartEvent, ctx: HandlerContext) -> Any:
    """Arm the handlers that have something to do, and run the hooks of ``SessionStart``."""
    agent = ctx.agent
    if agent is None or not any_hooks(agent.host, agent):
        return None
    from . import handlers

    return await handlers.session_start(agent, event)


@hookimpl(optionalhook=True)
def register_prompt_guards(register: Callable[[Factory], None], host: Host) -> None:
    """Ask the hooks of ``UserPromptExpansion`` before an agent is asked what a slash command says."""
    if any_hooks(host):
        register(Factory("shell-hooks", "skillkit_shell_hooks.handlers:prompt_guard"))


@hookimpl(optionalhook=True)
def register_shell_variables(register: Callable[[Factory], None], host: Host) -> None:
    """Give commands what hooks of ``SessionStart`` set for them, where the plugin ``bash`` is there."""
    if any_hooks(host):
        register(Factory("shell-hooks", "skillkit_shell_hooks.carrying:variables_of"))


@hookimpl(optionalhook=True)
def explain(agent: AgentRunner) -> Sequence[Any]:
    """Name the hooks that ran in a turn, where the plugin ``why`` is there."""
    if not agent.state("shell-hooks").get("answers"):
        return ()
    from skillkit_why import Section

    from .handlers import explained

    return (Section("Hooks", explained(agent)),)


@hookimpl(phase="rewrite", timeout=_HOUR, while_=("shell-hooks.UserPromptSubmit", "shell-hooks.UserPromptExpansion"))
async def input(event: t.InputEvent, ctx: HandlerContext) -> Any:
    """Ask the hooks of what a person says, and of a skill that is called, before anybody else sees it."""
    from . import handlers

    return await handlers.input(ctx, event)


@hookimpl(
    timeout=_HOUR,
    while_=("shell-hooks.SubagentStart", "shell-hooks.PreToolUse", "shell-hooks.PermissionRequest"),
)
async def before_agent_start(event: t.BeforeAgentStartEvent, ctx: HandlerContext) -> Any:
    """Let hooks answer questions about calls, and run those of ``SubagentStart`` where an agent works for another one."""
    from . import handlers

    return await handlers.before_agent_start(ctx, event)


@hookimpl(while_=("shell-hooks.waiting",))
def turn_start(event: t.TurnStartEvent, ctx: HandlerContext) -> Any:
    """Give the model what hooks said since the last turn, or end the run where one wants that."""
    from . import handlers

    return handlers.turn_start(ctx)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.PreToolUse",))
async def before_tool_call(event: t.ToolCallEvent, ctx: HandlerContext) -> Any:
    """Ask the hooks of ``PreToolUse``."""
    from . import handlers

    return await handlers.before_tool_call(ctx, event)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.PostToolUse", "shell-hooks.PostToolUseFailure"))
async def after_tool_result(event: t.ToolResultEvent, ctx: HandlerContext) -> Any:
    """Run the hooks of ``PostToolUse`` and ``PostToolUseFailure``."""
    from . import handlers

    return await handlers.after_tool_result(ctx, event)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.PermissionDenied",))
async def tool_execution_end(event: t.ToolExecutionEndEvent, ctx: HandlerContext) -> None:
    """Run the hooks of ``PermissionDenied`` where a guard or a person refused a call."""
    from . import handlers

    await handlers.tool_execution_end(ctx, event)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.PostToolBatch", "shell-hooks.waiting"))
async def turn_end(event: t.TurnEndEvent, ctx: HandlerContext) -> Any:
    """Run the hooks of ``PostToolBatch``, and end the run where a hook wants that."""
    from . import handlers

    return await handlers.turn_end(ctx, event)


@hookimpl(while_=("shell-hooks.Notification",))
def approval_request(event: t.ApprovalRequestEvent, ctx: HandlerContext) -> None:
    """Run the hooks of ``Notification`` while a person is asked about a call."""
    from . import handlers

    handlers.notify(
        ctx, "permission_prompt", f"Your permission is needed for {event.tool_name}: {'; '.join(event.questions)}"
    )


@hookimpl(while_=("shell-hooks.Notification",))
def question_asked(event: t.QuestionAskedEvent, ctx: HandlerContext) -> None:
    """Run the hooks of ``Notification`` while a tool asks a person."""
    from . import handlers

    handlers.notify(ctx, "elicitation_dialog", f"{event.tool_name} asks: {event.survey.get('title') or 'a question'}")


@hookimpl(timeout=_HOUR, while_=("shell-hooks.Stop", "shell-hooks.SubagentStop"))
async def before_agent_end(event: t.BeforeAgentEndEvent, ctx: HandlerContext) -> Any:
    """Ask the hooks of ``Stop`` or ``SubagentStop`` whether the run may end."""
    from . import handlers

    return await handlers.before_agent_end(ctx, event)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.StopFailure",))
async def agent_end(event: t.AgentEndEvent, ctx: HandlerContext) -> None:
    """Run the hooks of ``StopFailure`` where a run failed."""
    from . import handlers

    await handlers.agent_end(ctx, event)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.PreCompact",))
async def before_compact(event: t.BeforeCompactEvent, ctx: HandlerContext) -> Any:
    """Ask the hooks of ``PreCompact``."""
    from . import handlers

    return await handlers.before_compact(ctx, event)


@hookimpl(timeout=_HOUR, while_=("shell-hooks.PostCompact", "shell-hooks.SessionStart"))
async def compaction_end(event: t.CompactionEndEvent, ctx: HandlerContext) -> None:
    """Run the hooks of ``PostCompact``, and those of ``SessionStart`` that begin after a compaction."""
    from . import handlers

    await handlers.compaction_end(ctx, event)


@hookimpl(while_=("shell-hooks.SessionEnd", "shell-hooks.work"))
async def session_shutdown(event: t.SessionShutdownEvent, ctx: HandlerContext) -> None:
    """Run the hooks of ``SessionEnd``, and end what hooks still do."""
    from . import handlers

    await handlers.session_shutdown(ctx, event)
