"""The plugin ``otel``: it observes runs where the user has switched it on; else one look at the settings a session is all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host
    from skillkit_core.events.types import (
        AgentEndEvent,
        AgentSettledEvent,
        AgentStartEvent,
        BeforeAgentStartEvent,
        BeforeModelRequestEvent,
        CompactionEndEvent,
        MessageStartEvent,
        SessionStartEvent,
        ToolExecutionEndEvent,
        ToolExecutionStartEvent,
        UsageEvent,
    )

    from .recorder import Recorder

NAME = "otel"


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``otel``."""
    register(ConfigSection(NAME, "skillkit_otel.config:OtelConfig"))


@hookimpl(phase="first")
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> Awaitable[None] | None:
    """Arm the handlers below for an agent, where it is switched on."""
    agent = ctx.agent
    if agent is None:
        return None
    from .switch import may_be_on

    if not may_be_on(agent.host):
        return None
    from .starting import start

    return start(agent)


def _recorder(ctx: HandlerContext) -> Recorder:
    found: Recorder = ctx._agent().host.state(NAME)["recorder"]
    return found


@hookimpl(phase="rewrite", while_=(NAME,))
def before_agent_start(event: BeforeAgentStartEvent, ctx: HandlerContext) -> None:
    """Begin the span of a run, before a handler asks a model which skill it is for."""
    _recorder(ctx).run_prepared(event, ctx)


@hookimpl(phase="first", while_=(NAME,))
def agent_start(event: AgentStartEvent, ctx: HandlerContext) -> None:
    """Name the model of a run."""
    _recorder(ctx).run_started(event, ctx)


@hookimpl(phase="last", while_=(NAME,))
def before_model_request(event: BeforeModelRequestEvent, ctx: HandlerContext) -> None:
    """Begin the span of a model call, or note that it is tried again."""
    _recorder(ctx).requested(event, ctx)


@hookimpl(while_=(NAME,))
def message_start(event: MessageStartEvent, ctx: HandlerContext) -> None:
    """Take the time of the first piece of an answer."""
    if event.role == "assistant":
        _recorder(ctx).answer_began(ctx)


@hookimpl(while_=(NAME,))
def usage(event: UsageEvent, ctx: HandlerContext) -> None:
    """End the span of a model call that has its answer."""
    if event.request:
        _recorder(ctx).answered(event, ctx)


@hookimpl(phase="first", while_=(NAME,))
def tool_execution_start(event: ToolExecutionStartEvent, ctx: HandlerContext) -> None:
    """Begin the span of a tool call."""
    _recorder(ctx).tool_started(event, ctx)


@hookimpl(phase="last", while_=(NAME,))
def tool_execution_end(event: ToolExecutionEndEvent, ctx: HandlerContext) -> None:
    """End the span of a tool call."""
    _recorder(ctx).tool_ended(event, ctx)


@hookimpl(optionalhook=True, while_=(NAME,))
def task_start(event: Any, ctx: HandlerContext) -> None:
    """Begin the span of a task of an engine."""
    _recorder(ctx).task_started(event, ctx)


@hookimpl(optionalhook=True, while_=(NAME,))
def task_node(event: Any, ctx: HandlerContext) -> None:
    """Begin or end the span of a step of a task."""
    _recorder(ctx).step(event, ctx)


@hookimpl(optionalhook=True, while_=(NAME,))
def task_end(event: Any, ctx: HandlerContext) -> None:
    """End the span of a task."""
    _recorder(ctx).task_ended(event, ctx)


@hookimpl(while_=(NAME,))
def compaction_end(event: CompactionEndEvent, ctx: HandlerContext) -> None:
    """Note a compaction in the span of its run."""
    _recorder(ctx).compacted(event, ctx)


@hookimpl(phase="last", while_=(NAME,))
def agent_end(event: AgentEndEvent, ctx: HandlerContext) -> Awaitable[None] | None:
    """End the span of a run."""
    return _recorder(ctx).run_ended(event, ctx)


@hookimpl(while_=(NAME,))
def agent_settled(event: AgentSettledEvent, ctx: HandlerContext) -> None:
    """End the span of a run that came to no start, because a handler answered the input."""
    _recorder(ctx).settled(ctx)


@hookimpl
async def host_closing(host: Host) -> None:
    """Send what is left."""
    if (recorder := host.state(NAME).get("recorder")) is not None:
        await recorder.aclose()


@hookimpl
def host_shutdown(host: Host) -> None:
    """Send what is left, of a host that could not wait for it."""
    if (recorder := host.state(NAME).get("recorder")) is not None:
        recorder.close()
