"""What the command line shows of hooks: the trace of a request, and a synthetic run that fires all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from ..agent.runner import AgentRunner
from ..config import AgentConfig
from ..contracts.adapter import LLMRequest
from ..errors import AgentError, SkillKitError
from ..events.trace import Traced, Tracer
from ..events.types import EVENTS
from ..models import ModelDefinition
from ..stream import StreamEvent
from ..testing.clock import VirtualClock
from ..testing.scripted import Call, Fail, Reply, ScriptedModel
from ..tools import Tool

if TYPE_CHECKING:
    from ..host.manager import Host

__all__ = ["check_hooks", "summary", "trace_request"]

SLOW_SECONDS = 0.05


def summary(calls: Sequence[Traced]) -> list[dict[str, Any]]:
    """The calls of plugins by handler, in the order in which they were first called."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for call in calls:
        if call.plugin is None:
            continue
        fresh = {"hook": call.hook, "plugin": call.plugin, "handler": call.handler, "phase": call.phase}
        row = rows.setdefault(
            (call.hook, call.handler),
            {**fresh, "calls": 0, "seconds": 0.0, "slowest": 0.0, "answers": [], "errors": []},
        )
        row["calls"] += 1
        row["seconds"] = round(row["seconds"] + call.seconds, 6)
        row["slowest"] = round(max(row["slowest"], call.seconds), 6)
        if call.answer and call.answer not in row["answers"]:
            row["answers"].append(call.answer)
        if call.error is not None and call.error not in row["errors"]:
            row["errors"].append(call.error)
    return list(rows.values())


async def trace_request(host: Host, config: AgentConfig, request: str) -> dict[str, Any]:
    """Run a request in a session of its own, in memory, and tell which handlers were asked."""
    agent = AgentRunner(config, host=host)
    tracer = Tracer(agent.events, host.redact)
    error: str | None = None
    content = outcome = ""
    try:
        response = await agent.chat(request)
        content, outcome = response.content, response.outcome
    except AgentError as failure:
        error, outcome = str(failure), failure.response.outcome if failure.response is not None else "failed"
    finally:
        await agent.aclose()
        await host.aclose()
    return {
        "outcome": outcome,
        "content": content,
        "error": error,
        "handlers": summary(tracer.calls),
        "calls": [call.to_dict() for call in tracer.calls if call.plugin is not None],
    }


class _Synthetic(ScriptedModel):
    """A scripted model that calls the hooks of a wire as well."""

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        if request.on_request is not None:
            await request.on_request({"model": request.model.id}, {})
        if request.on_response is not None:
            await request.on_response(200, {})
        async for event in super().stream(request):
            yield event


async def check_hooks(host: Host) -> list[dict[str, Any]]:
    """Fire every lifecycle hook through a synthetic run; one row per handler of a plugin.

    ``state`` is ``answered``, ``silent`` (called, no answer), ``slow``, ``failed`` or ``bypassed`` (never called).
    """

    async def echo(args: Any, ctx: Any) -> str:
        ctx.on_output("a line")
        await ctx.agent.steer("and this?")
        return "ok"

    turns = (Fail(), Reply("I will look.", calls=[Call("synthetic_check")]), "Done.", "Fine.")
    config = AgentConfig(
        model=ModelDefinition("synthetic", "synthetic", "scripted"),
        tools=(Tool("synthetic_check", "part of a check of the hooks; it does nothing", echo),),
    )
    agent = AgentRunner(config, host=host, clock=VirtualClock())
    agent.set_adapter(_Synthetic(turns, repeat=True))
    tracer = Tracer(agent.events, host.redact)
    try:
        await agent.chat("This is a check of the hooks.")
        await agent.compact()
    except SkillKitError:  # a hook made it fail: its row says so, or nobody can compact
        pass
    finally:
        await _fire_the_rest(agent, {call.hook for call in tracer.calls})
        await agent.aclose()
        await host.aclose()
    rows = {(row["hook"], row["handler"]): row for row in summary(tracer.calls)}
    for name, records in agent.events.table.items():
        for record in records:
            if record.plugin is not None and (name, record.label) not in rows:
                rows[name, record.label] = {"hook": name, "plugin": record.plugin, "handler": record.label, "calls": 0}
    return [row | {"state": _state(row)} for row in rows.values()]


async def _fire_the_rest(agent: AgentRunner, fired: set[str]) -> None:
    """Emit what no run brought about, as far as an event of it can be made from nothing."""
    for name in EVENTS:
        if name in agent.events.table and name not in fired and name != "session_shutdown":
            try:
                await agent.events.emit(name, {})
            except SkillKitError:
                continue


def _state(row: dict[str, Any]) -> str:
    if not row["calls"]:
        return "bypassed"
    if row["errors"]:
        return "failed"
    if row["slowest"] > SLOW_SECONDS:
        return "slow"
    return "answered" if row["answers"] else "silent"
