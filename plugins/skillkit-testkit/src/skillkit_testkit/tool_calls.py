"""Tools are called as a model calls them, through the whole loop: schema, guards, approvals, results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core import AgentConfig, AgentRunner, Host, RetryPolicy, ToolResultMessage
from skillkit_core.testing import Call, Reply, ScriptedModel

from .conformance.running import run

__all__ = ["call_tools"]


def call_tools(
    host: Host, *turns: tuple[str, Mapping[str, Any]] | Any, clock: Any = None, **config: Any
) -> list[ToolResultMessage]:
    """Return the results of calls that a scripted model makes, one in each turn. The host is closed afterwards.

    Args:
        host: the host, whose tools are allowed as its settings say.
        turns: name and arguments of a call; or another turn of :class:`~skillkit_core.testing.ScriptedModel`, such as a
            text, which the model answers where a tool asks one.
        clock: the clock of the agent.
        config: more of :class:`~skillkit_core.AgentConfig`.
    """

    async def work() -> list[ToolResultMessage]:
        given = AgentConfig(**{"model": "any", "retry": RetryPolicy(attempts=1), **config})
        script = [Reply(calls=[Call(*turn)]) if isinstance(turn, tuple) else turn for turn in turns]
        try:
            async with AgentRunner(given, host=host, clock=clock) as agent:
                agent.set_adapter(ScriptedModel([*script, "Done."]))
                await agent.chat("Go.")
                return [message for message in agent.messages if isinstance(message, ToolResultMessage)]
        finally:
            await host.aclose()  # connections belong to the loop that opened them

    return run(work())
