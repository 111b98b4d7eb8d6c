"""Rounds of a model and its tools, inside a driven run: what engines that call tools are made of."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw
from skillkit_core.messages import (
    AgentMessage,
    AssistantMessage,
    Outcome,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks_of,
    message_from_dict,
    message_to_dict,
)

from .keeping import earlier_notes, keep_note
from .types import Status
from .work import input_of

if TYPE_CHECKING:
    from skillkit_core import DrivenRun
    from skillkit_core.tools import Tool

__all__ = ["ANSWER", "Answered", "Notebook", "converse"]

ANSWER = "engines.answer"  # type of the note
CLOSING = "No more tool calls are possible now. Answer with what you have, and say what is missing."
REFUSED = (Outcome.denied, Outcome.blocked, Outcome.skipped)


class Notebook:
    """Asks a model, and keeps its answers in notes, so that a run that is resumed does not ask again."""

    def __init__(self, run: DrivenRun, task: str) -> None:
        self._run, self._task = run, task
        self._kept = deque(data["message"] for data in earlier_notes(run, ANSWER, task))

    @property
    def replays(self) -> bool:
        """Whether the next answer is one of an earlier run."""
        return bool(self._kept)

    async def ask(self, messages: Sequence[AgentMessage], **asked: Any) -> AssistantMessage:
        """Return the answer of :meth:`DrivenRun.ask`, or the one that is kept."""
        if self._kept:
            kept = message_from_dict(self._kept.popleft())
            assert isinstance(kept, AssistantMessage)
            return kept
        answer = await self._run.ask(messages, **asked)
        await keep_note(self._run.agent, ANSWER, {"task": self._task, "message": message_to_dict(answer)})
        return answer


@dataclass(frozen=True, slots=True)
class Answered:
    """How the rounds ended.

    Attributes:
        text: the last answer.
        stopped: ``tool_rounds``: there were too many, and the answer is the closing one; ``loop``: the same call failed twice
            in a row; empty: the model was done.
        used: names of tools that were called and did something.
        denied: names of tools whose calls were refused.
        failed: the call that failed twice, as text.
    """

    text: str
    stopped: str = ""
    used: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    failed: str = ""

    def ended(self) -> tuple[Status, str]:
        """Return the status of a task that ended so, and the reason: words about a refused call are no answer to a request."""
        if self.stopped == "loop":
            return "failed", f"loop: the same call failed twice in a row: {self.failed}"
        if self.denied:
            return ("partial" if self.used else "failed"), f"denied: {', '.join(self.denied)}"
        if self.stopped:
            return "partial", f"{self.stopped}: the rounds of tool calls were used up"
        return ("completed", "") if self.text.strip() else ("failed", "empty: the model answered nothing")


async def converse(
    run: DrivenRun,
    book: Notebook,
    messages: Sequence[AgentMessage],
    *,
    system: str,
    tools: Mapping[str, Tool],
    purpose: str,
    max_rounds: int,
    role: str = "",
) -> Answered:
    """Ask a model and make the calls that it names, round for round, until it answers without any.

    The calls of a round are made together, equal ones once. A tool that is not among ``tools`` is not called, whatever the
    agent offers; the result of a tool that is annotated ``grants`` names further ones for the next answer alone.
    What a model says beside its calls is said. Steering messages join after each round.

    Args:
        run: the run, which makes the calls.
        book: asks, and knows the answers of an earlier run.
        messages: the conversation, the request last.
        system: the system prompt.
        tools: the tools that the model may call, by name.
        purpose: the purpose of the requests in the books.
        max_rounds: rounds of calls; then the model gets one turn without tools.
        role: the part that is played, in the books.
    """
    said, used, denied = list(messages), dict[str, None](), dict[str, None]()
    failing: frozenset[str] = frozenset()
    granted: Mapping[str, Tool] = {}
    steered = _steered(run) if run.resumed else []
    for rounds in range(max_rounds + 1):
        if not book.replays:
            said += steered
            steered = []
        last = rounds == max_rounds
        closing = [UserMessage(content=blocks_of(CLOSING))] if last else []
        known = {**tools, **granted}
        given = () if last else tuple(known.values())
        asked = {"system": system, "purpose": purpose, "tools": given, "role": role or None}
        answer = await book.ask([*said, *closing], **asked)
        if last or not answer.tool_calls:
            return Answered(answer.text, "tool_rounds" if last else "", tuple(used), tuple(denied))
        if answer.text.strip():
            await run.say(answer.text)
        results = await _called(run, answer.tool_calls, known)
        granted = _granted(run, known, results)
        said += (answer, *results)
        now: set[str] = set()
        for call, result in zip(answer.tool_calls, results, strict=True):
            (denied if result.outcome in REFUSED else used).setdefault(call.name)
            if result.is_error:
                now.add(_key(call))
        if again := now & failing:
            return Answered(answer.text, "loop", tuple(used), tuple(denied), min(again))
        failing = frozenset(now)
        said += (UserMessage(content=blocks_of(item.text), source="steer") for item in run.checkpoint())
    raise AssertionError("the last round returns")


async def _called(run: DrivenRun, calls: Sequence[ToolCall], tools: Mapping[str, Tool]) -> list[ToolResultMessage]:
    """Make the calls, equal ones once, and return a result for each, in order."""
    wanted = {_key(call): call for call in reversed(calls) if call.name in tools}
    fresh = [call for call in dict.fromkeys(map(_key, calls)) if call in wanted]
    results = await run.call(*(wanted[key] for key in fresh)) if fresh else ()
    made = dict(zip(fresh, results, strict=True))
    found = []
    for call in calls:
        result = made.get(_key(call)) or _unknown(call, tools)
        found.append(replace(result, tool_call_id=call.id))
    return found


def _granted(run: DrivenRun, tools: Mapping[str, Tool], results: Sequence[ToolResultMessage]) -> dict[str, Tool]:
    """Return the tools that results grant for the next answer, of those that the agent offers.

    They follow from the results, so that a resumed run grants the same.
    """
    names = [
        str(name)
        for result in results
        if not result.is_error and result.tool_name in tools and tools[result.tool_name].annotations.get("grants")
        for name in (result.details or {}).get("tools", ())
    ]
    offered = {tool.name: tool for tool in run.agent.tools} if names else {}
    return {name: offered[name] for name in dict.fromkeys(names) if name in offered}


def _unknown(call: ToolCall, tools: Mapping[str, Tool]) -> ToolResultMessage:
    names = ", ".join(tools) or "none"
    text = f"There is no tool {call.name!r} here. The tools of this task: {names}."
    return ToolResultMessage(
        content=(TextBlock(text),), tool_call_id=call.id, tool_name=call.name, is_error=True, outcome=Outcome.error
    )


def _key(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(thaw(call.args), sort_keys=True, default=str)}"


def _steered(run: DrivenRun) -> list[UserMessage]:
    """Return the steering messages that an earlier run took."""
    behind = run.messages[input_of(run.messages, run.query) + 1 :]
    return [message for message in behind if isinstance(message, UserMessage) and message.source == "steer"]
