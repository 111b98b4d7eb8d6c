"""Commands of bundles as slash commands, and what a command says for the one turn that it begins.

Imported only by hosts with the plugin ``commands``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from skillkit_commands import Prompt, SlashCommand

from skillkit_core import BeforeAgentStartResult, ToolCallEventResult
from skillkit_core.errors import UsageError

from .bringing import typed, variables
from .errands import GRANTS
from .installed import bundles_of, counting
from .model import Bundle, Component
from .prompts import Expansion, bytes_of, expand, read_command

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface
    from skillkit_core.events.types import AgentEndEvent, BeforeAgentStartEvent, ToolCallEvent

    from .config import BundlesConfig

__all__ = ["bundle_commands", "list_bundles"]


async def list_bundles(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """List the bundles, and what waits for a person."""
    lines = []
    for one in bundles_of(agent.host):
        waits = f", {len(one.waiting)} hooks wait: skillkit bundles consent {one.name}" if one.waiting else ""
        lines.append(f"{one.name}: {one.state}{waits if one.enabled else ''}")
    return "\n".join(lines) or "There are no bundles."


def bundle_commands(agent: AgentRunner) -> Sequence[SlashCommand]:
    """Return a slash command for every command of the bundles that count."""
    found = []
    for _, bundle in counting(agent.host):
        for one in bundle.commands:
            try:
                found.append(_command(agent.host, bundle, one))
            except UsageError as error:
                agent.host.note("bundles", f"the command {one.name} is left out: {error}", stage="bundles")
    return found


def _command(host: Host, bundle: Bundle, one: Component) -> SlashCommand:
    said = read_command(bytes_of(bundle, one), one.name)

    async def call(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Prompt:
        settings: BundlesConfig | None = agent.host.config.section("bundles", None)
        session = agent.session_id
        done = await expand(
            agent, read_command(bytes_of(bundle, one), one.name), arguments, variables(agent.host, bundle, session),
            shell=settings is None or settings.shell, timeout=settings.shell_timeout if settings is not None else 120.0,
        )  # fmt: skip
        _for_one_run(agent, done, settings)
        return Prompt(done.prompt)

    hint = said.hint or "[TEXT]"
    return SlashCommand(typed(one.name), said.description, call, hint, origin=f"bundle:{bundle.name}")


def _for_one_run(agent: AgentRunner, done: Expansion, settings: BundlesConfig | None) -> None:
    """Let a command's ``allowed-tools``, ``disallowed-tools`` and ``model`` count until the run that it begins has ended."""
    offs: list[Callable[[], None]] = []
    aliases = settings.model_aliases if settings is not None else {}
    model = aliases.get(done.model or "", done.model)

    def begin(event: BeforeAgentStartEvent) -> BeforeAgentStartResult | None:
        return BeforeAgentStartResult(model=model) if model is not None else None

    def refuse(event: ToolCallEvent) -> ToolCallEventResult | None:
        from skillkit_skills import disallowed, in_our_words

        if not disallowed(in_our_words(done.disallowed), event.tool_name, event.args):
            return None
        return ToolCallEventResult(block=True, reason=f"the command does not allow {event.tool_name}")

    def over(event: AgentEndEvent) -> None:
        GRANTS.pop(agent, None)
        for off in offs:
            off()

    if done.grants:
        GRANTS[agent] = done.grants
    if done.disallowed:
        offs.append(agent.events.on("before_tool_call", refuse, phase="guard"))
    if model is not None and agent.config.model is None and agent.host.models.has(model):
        offs.append(agent.events.on("before_agent_start", begin))
    if offs or done.grants:
        offs.append(agent.events.on("agent_end", over))
