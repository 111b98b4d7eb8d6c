"""How the suites run async code, in one loop per check whose end a guard forces, and calls that a scripted model makes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from skillkit_core import AgentConfig, AgentRunner, Approver, Host, Tool, text_of
from skillkit_core.testing import Call, Reply, ScriptedModel

__all__ = ["GUARD_SECONDS", "Result", "happened", "results_of", "run"]

GUARD_SECONDS = 30.0
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in a loop of its own.

    Raises:
        TimeoutError: it did not end within :data:`GUARD_SECONDS`.
    """

    async def guarded() -> T:
        async with asyncio.timeout(GUARD_SECONDS):
            return await work

    return asyncio.run(guarded())


async def happened(event: threading.Event) -> bool:
    """Wait for an event that another thread sets, without holding up the loop."""
    return await asyncio.to_thread(event.wait, GUARD_SECONDS / 2)


@dataclass(frozen=True, slots=True)
class Result:
    """What one call gave: the ``outcome`` of ``tool_execution_end``, and the ``text`` that the model reads."""

    outcome: str
    text: str


def results_of(
    host: Host,
    calls: Sequence[Call],
    *,
    tools: Sequence[Tool] = (),
    approver: Approver | None = None,
    failures: list[str] | None = None,
    rewrite: Callable[[Any], Any] | None = None,
) -> list[Result]:
    """Return the results of the calls of one answer, in the order of the calls.

    Args:
        tools: tools of the agent, besides those of the host's plugins.
        approver: who is asked; ``None``: nobody, so that what would be asked is denied.
        failures: takes a line for each handler that failed.
        rewrite: a handler of ``before_tool_call`` before all others.
    """
    found: dict[str, Result] = {}
    named = [replace(call, id=f"call-{number}") for number, call in enumerate(calls)]

    def keep(event: Any) -> None:
        found[event.tool_call_id] = Result(str(event.outcome), text_of(event.content))

    async def work() -> None:
        async with AgentRunner(AgentConfig(tools=tuple(tools), approver=approver), host=host) as agent:
            agent.set_adapter(ScriptedModel([Reply(calls=named), "Done."]))
            agent.events.on("tool_execution_end", keep)
            if failures is not None:
                agent.events.on("handler_error", lambda e: failures.append(f"{e.event} of {e.plugin}: {e.error}"))
            if rewrite is not None:
                agent.events.on("before_tool_call", rewrite, phase="rewrite")
            await agent.chat("Go.")

    run(work())
    return [found[call.id] for call in named]
