"""Compaction of the context: when it runs (spec, section 7). Compactors decide how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..contracts.compactor import CompactionRequest, CompactionResult, Compactor
from ..errors import in_words
from ..events.results import BeforeCompactResult
from ..events.types import BeforeCompactEvent, CompactionEndEvent, CompactionStartEvent
from ..host.registry import named
from ..messages import (
    AgentMessage,
    AssistantMessage,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from .completion import Completion
from .model_call import Turn
from .repair import repair
from .run import Run

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["can_compact", "compact_alone", "compact_if_needed", "compact_now", "find_compactor"]

PROGRESS = 0.10  # the part of the tokens that a compaction must free
Reason = Literal["threshold", "overflow", "manual"]


def threshold(run: Run) -> int:
    """Return the tokens that a request may carry without a compaction; 0: the window is unknown."""
    return run.window - min(run.config.reserve_tokens, run.window // 4) if run.window > 0 else 0


def can_compact(agent: AgentRunner) -> bool:
    """Return whether a compactor or a handler could compact."""
    host = agent.host
    return bool(len(host.compactors) or host.impls("select_compactor") or agent.events.has_say("before_compact"))


async def compact_if_needed(run: Run) -> None:
    """Compact when the next request would leave less than ``reserve_tokens`` of the window."""
    most = threshold(run)
    if most and run.tokens() > most and can_compact(run.agent):
        await compact_now(run, "threshold")


async def compact_alone(run: Run) -> bool:
    """Execute a run that only compacts; return whether the compaction freed enough tokens."""
    agent = run.agent
    await run.choose_target()
    run.prompt_with(agent.system_prompt())
    try:
        return await compact_now(run, "manual")
    finally:
        await run.ledger.close_aborted()


async def find_compactor(run: Run, request: CompactionRequest) -> Compactor | None:
    """Return the compactor of ``select_compactor``, else the configured one, else the first registered; or ``None``."""
    host = run.agent.host
    found: Compactor | None = await host.resolve("select_compactor", request=request)
    if found is not None:
        return found
    name = named(host.config, "compactor", host.compactors, first=True)
    return host.compactors.get(name) if name is not None else None


def _request(run: Run, reason: Reason, tokens: int) -> CompactionRequest:
    agent = run.agent
    assert run.target is not None
    target = run.target
    window = target.model.context_window

    async def complete(prompt: str, messages: Sequence[AgentMessage]) -> str:
        said = (*repair(tuple(messages)), UserMessage(content=(TextBlock(prompt),)))
        asked = Completion(run, said, "You summarise conversations.", purpose="compaction")
        answer = await asked.ask(Turn())  # a limit ends the run at its next turn, not here
        return answer.text if answer.stop_reason is not StopReason.refusal else ""

    return CompactionRequest(
        messages=run.session.messages, model=target.model, reason=reason, tokens=tokens, window=window,
        budget=max(1, (window or tokens) // 2), signal=run.signal, estimate=agent.estimate_tokens, complete=complete,
    )  # fmt: skip


async def compact_now(run: Run, reason: Reason) -> bool:
    """Compact once; return whether the compaction freed enough tokens."""
    bus, session = run.bus, run.session
    before = run.tokens()
    request = _request(run, reason, before)
    supplied: CompactionResult | None = None
    if bus.has("before_compact"):
        answer = await bus.fire(
            BeforeCompactEvent, reason=reason, preparation=request, tokens=before, signal=run.signal
        )
        if isinstance(answer, BeforeCompactResult):
            if answer.cancel is True:
                return False
            supplied = answer.compaction if isinstance(answer.compaction, CompactionResult) else None
    compactor = None if supplied is not None else await find_compactor(run, request)
    if supplied is None and compactor is None:
        return False
    outcome, entry_id = "aborted", None
    try:
        await bus.fire(CompactionStartEvent, reason=reason, before_tokens=before)
        result = supplied
        if compactor is not None:
            result = await compactor.compact(request)
        outcome = "no_progress"
        if result is not None:
            keep = _legal_cut(session.messages, result.keep_from)
            swaps = {i: _legal_swap(session.messages, i, m) for i, m in result.replacements.items() if i >= keep}
            if (keep > 0 or swaps) and (result.summary or keep < len(session.context)):
                entry_id = await session.append_compaction(result.summary, keep, before, result.details, swaps)
                after, most = run.tokens(), threshold(run)
                enough = before - after >= before * PROGRESS and (not most or after <= most)
                outcome = "completed" if enough else "no_progress"
                if result.usage is not None:
                    await run.ledger.record(result.usage, "compaction", run.target)
    except Exception as error:  # noqa: BLE001 - a compactor that fails leaves the context as it was
        outcome = "failed"
        await run.bus.complain("compaction", f"the compactor failed: {in_words(error)}")
    finally:
        run.context.allow_compaction(outcome == "completed")
        await bus.fire(
            CompactionEndEvent,
            reason=reason,
            outcome=outcome,
            before_tokens=before,
            after_tokens=run.tokens(),
            entry_id=entry_id,
        )
    return outcome == "completed"


def _legal_cut(messages: Sequence[object], keep_from: int) -> int:
    """Return ``keep_from``, moved back so that each kept result keeps its call."""
    cut = max(0, min(keep_from, len(messages)))
    while 0 < cut < len(messages) and isinstance(messages[cut], ToolResultMessage):
        cut -= 1
    return cut


def _legal_swap(messages: Sequence[AgentMessage], index: int, new: AgentMessage) -> AgentMessage:
    """Return ``new``, or raise ``ValueError`` when it cannot stand where the message at ``index`` stands."""
    old = messages[index] if index < len(messages) else None
    if type(new) is not type(old) or getattr(old, "pinned", False) or _bound(new) != _bound(old):
        raise ValueError(
            f"replacement {index} is no message of the same role, calls and thinking, or the old one is pinned"
        )
    return new


def _bound(message: AgentMessage | None) -> object:
    """Return what other messages, or signatures, depend on."""
    if isinstance(message, ToolResultMessage):
        return message.tool_call_id, message.tool_name
    blocks = message.content if isinstance(message, AssistantMessage) else ()
    return [b for b in blocks if isinstance(b, (ThinkingBlock, ToolCall))]
