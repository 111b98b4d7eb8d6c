"""The plugin ``otel``: it observes runs where the user has switched it on; else one look at the settings a session is all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import (
        AgentEndEvent,
        AgentSettledEvent,
        AgentStartEvent,
        BeforeAgentStartEvent,
        BeforeModelRequestEvent,
        CompactionEndEvent,
        InputEvent,
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


class _Nothing:
    """Takes the place of the recorder where somebody arms all topics although nothing is traced."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *about: None


def _recorder(ctx: HandlerContext) -> tuple[Recorder | Any, AgentRunner]:
    """Return the recorder and the agent of a handler that is armed."""
    agent = ctx.agent
    assert agent is not None
    return agent.host.state(NAME).get("recorder") or _Nothing(), agent


@hookimpl(phase="rewrite", while_=(NAME,))
def input(event: InputEvent, ctx: HandlerContext) -> None:
    """Keep the trace that an input continues."""
    recorder, agent = _recorder(ctx)
    recorder.came(event, agent)


@hookimpl(phase="rewrite", while_=(NAME,))
def before_agent_start(event: BeforeAgentStartEvent, ctx: HandlerContext) -> None:
    """Begin the span of a run, before a handler asks a model which skill it is for."""
    recorder, agent = _recorder(ctx)
    recorder.run_prepared(event, agent)


@hookimpl(phase="first", while_=(NAME,))
def agent_start(event: AgentStartEvent, ctx: HandlerContext) -> None:
    """Name the model of a run."""
    recorder, agent = _recorder(ctx)
    recorder.run_started(event, agent)


@hookimpl(phase="last", while_=(NAME,))
def before_model_request(event: BeforeModelRequestEvent, ctx: HandlerContext) -> None:
    """Begin the span of a model call, or note that it is tried again."""
    recorder, agent = _recorder(ctx)
    recorder.requested(event, agent)


@hookimpl(while_=(NAME,))
def message_start(event: MessageStartEvent, ctx: HandlerContext) -> None:
    """Take the time of the first piece of an answer."""
    if event.role == "assistant":
        recorder, agent = _recorder(ctx)
        recorder.answer_began(agent)


@hookimpl(while_=(NAME,))
def usage(event: UsageEvent, ctx: HandlerContext) -> None:
    """End the span of a model call that has its answer."""
    if event.request:
        recorder, agent = _recorder(ctx)
        recorder.answered(event, agent)


@hookimpl(phase="first", while_=(NAME,))
def tool_execution_start(event: ToolExecutionStartEvent, ctx: HandlerContext) -> None:
    """Begin the span of a tool call."""
    recorder, agent = _recorder(ctx)
    recorder.tool_started(event, agent)


@hookimpl(phase="last", while_=(NAME,))
def tool_execution_end(event: ToolExecutionEndEvent, ctx: HandlerContext) -> None:
    """End the span of a tool call."""
    recorder, agent = _recorder(ctx)
    recorder.tool_ended(event, agent)


@hookimpl(optionalhook=True, while_=(NAME,))
def task_start(event: Any, ctx: HandlerContext) -> None:
    """Begin the span of a task of an engine."""
    recorder, agent = _recorder(ctx)
    recorder.task_started(event, agent)


@hookimpl(optionalhook=True, while_=(NAME,))
def task_node(event: Any, ctx: HandlerContext) -> None:
    """Begin or end the span of a step of a task."""
    recorder, agent = _recorder(ctx)
    recorder.step(event, agent)


@hookimpl(optionalhook=True, while_=(NAME,))
def task_end(event: Any, ctx: HandlerContext) -> None:
    """End the span of a task."""
    recorder, agent = _recorder(ctx)
    recorder.task_ended(event, agent)


@hookimpl(while_=(NAME,))
def compaction_end(event: CompactionEndEvent, ctx: HandlerContext) -> None:
    """Note a compaction in the span of its run."""
    recorder, agent = _recorder(ctx)
    recorder.compacted(event, agent)


@hookimpl(phase="last", while_=(NAME,))
def agent_end(event: AgentEndEvent, ctx: HandlerContext) -> Awaitable[None] | None:
    """End the span of a run."""
    recorder, agent = _recorder(ctx)
    return recorder.run_ended(event, agent)


@hookimpl(while_=(NAME,))
def agent_settled(event: AgentSettledEvent, ctx: HandlerContext) -> None:
    """End the span of a run that came to no start, because a handler answered the input."""
    recorder, agent = _recorder(ctx)
    recorder.settled(agent)


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
