"""From the events of a run to hooks and back: what each hook gets on stdin, and what its answer means here."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core import CustomMessage, TextBlock, ToolCallEventResult
from skillkit_core.errors import SkillKitError, in_words
from skillkit_core.events.results import (
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    BeforeCompactResult,
    Handled,
    ReplaceArgs,
    SessionStartResult,
    ToolResultEventResult,
    TurnEndResult,
    TurnStartResult,
)
from skillkit_core.events.types import HandlerErrorEvent

from .answers import UNSAID, Answer
from .asking import inside, runner
from .definitions import Hook
from .events import EVENTS, topic
from .naming import ours, theirs
from .place import judge_of, mode_of, surroundings
from .running import Outcome, fold, run_hooks
from .sources import brought_hooks, own_hooks
from .surroundings import Judge, Surroundings

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events import types as t

WAITING = topic("waiting")
_WORK = topic("work")
_SOURCES = {"startup": "startup", "new": "clear", "resume": "resume", "fork": "resume"}
_SKILL = re.compile(r"[/$](?:skill:)?([^\s/$]+)(?:\s+(.*))?\Z", re.S)
_REMEMBERED = 100  # answers of hooks for the page of a turn
_LAST_WORDS = 3.0  # seconds for hooks that nobody waits for, when a session ends


# --- what is known of one agent -----------------------------------------------------------------------------------------


def state_of(agent: AgentRunner) -> dict[str, Any]:
    """Return what is kept for an agent: its own ``hooks``, what waits for the next turn, work that nobody waits for."""
    return agent.state("shell-hooks")


def _hooks(agent: AgentRunner) -> list[Hook]:
    kept = state_of(agent)
    if "hooks" not in kept:
        kept["hooks"] = own_hooks(agent.host)
    return [*kept["hooks"], *brought_hooks(agent.host, agent)]


def _around(agent: AgentRunner, judge: Judge | None = None) -> Surroundings:
    signal = agent.scheduler.signal if agent.running else None
    later = partial(_later, agent)
    return surroundings(agent.host, agent.cwd, signal=signal, judge=judge, ask=runner(agent), later=later)


def _judge(agent: AgentRunner, event: Any) -> Judge | None:
    about = getattr(event, "annotations", None) or _annotations(agent, event.tool_name)
    return judge_of(agent.host, event.tool_name, event.args, about, agent.cwd)


def _annotations(agent: AgentRunner, tool: str) -> Mapping[str, Any]:
    offered = agent.offered(tool)
    return offered.annotations if offered is not None else {}


def _nested(agent: AgentRunner) -> dict[str, Any]:
    """Return who an agent is that works for another one."""
    if agent.parent is None:
        return {}
    identity = agent.events.agent_path[-1]
    name = agent.config.options.get("agent_name") or identity.rpartition(":")[0] or identity
    return {"agent_id": identity, "agent_type": str(name)}


# --- running ------------------------------------------------------------------------------------------------------------


async def fire(agent: AgentRunner, event: str, fields: Mapping[str, Any], judge: Judge | None = None) -> Outcome:
    """Run the hooks of an event; report what failed, and show what they say to the person.

    Args:
        fields: what hooks get on stdin beside what all of them get.
        judge: judges ``if``.
    """
    if inside() and event not in ("PreToolUse", "PermissionRequest"):
        return Outcome()  # the agent of a hook is guarded, and nobody is told of it
    session = agent.open_session
    payload = {
        "session_id": session.id if session is not None else agent.session_id or "",
        "transcript_path": (session.location or "") if session is not None else "",
        "cwd": str(agent.cwd),
        "permission_mode": mode_of(agent.host, agent),
        "hook_event_name": event,
        **_nested(agent),
        **fields,
    }
    hooks = [hook for hook in _hooks(agent) if hook.event == event and not _done(agent, hook)]
    around = _around(agent, judge)
    if event == "SessionStart":
        outcome = await _started(agent, hooks, payload, around)
    else:
        outcome = await run_hooks(hooks, event, payload, around)
    for answer in outcome.answers:
        if answer.hook is not None and answer.hook.handler.get("once") is True and not answer.failure:
            state_of(agent).setdefault("once", set()).add(answer.hook.identity)
    state_of(agent).setdefault("answers", deque(maxlen=_REMEMBERED)).extend(outcome.answers)
    await _tell(agent, event, outcome)
    return outcome


def explained(agent: AgentRunner) -> list[tuple[str, str, str, str]]:
    """Return the hooks that ran since this was asked: which, how long, what it said, and what it runs."""
    answers = state_of(agent).pop("answers", ())
    return [
        (one.hook.label, f"{one.seconds * 1000:.0f} ms", _in_words(one), agent.host.redact(one.hook.shown))
        for one in answers
        if one.hook is not None
    ]


def _in_words(answer: Answer) -> str:
    if answer.failure:
        return "failed, and blocked" if answer.decision == "deny" else "failed"
    changed = [word for word, value in (("input", answer.input), ("output", answer.output)) if value is not UNSAID]
    said: list[str] = [answer.decision] if answer.decision != "none" else []
    said += [f"changed the {' and the '.join(changed)}"] if changed else []
    said += ["context"] if answer.context else []
    return ", ".join(said) or "nothing"


async def _started(agent: AgentRunner, hooks: list[Hook], payload: Mapping[str, Any], around: Surroundings) -> Outcome:
    """Run the hooks of ``SessionStart``, which set variables for the commands of the session, too."""
    from .carrying import carrying

    outcome = Outcome()
    try:
        async with carrying(agent, around) as here:
            outcome = await run_hooks(hooks, "SessionStart", payload, here)
    except SkillKitError as error:
        await agent.events.complain("session_start", in_words(error))
    return outcome


def _done(agent: AgentRunner, hook: Hook) -> bool:
    """Return whether a hook runs once, and has."""
    return hook.handler.get("once") is True and hook.identity in state_of(agent).get("once", ())


async def _tell(agent: AgentRunner, event: str, outcome: Outcome) -> None:
    """Report failures, each with the hook that failed, and show messages to the person."""
    for hook, why in outcome.failures:
        await agent.events.fire(
            HandlerErrorEvent, event=event, source=f"{hook.label} ({hook.shown[:80]})", plugin="shell-hooks", error=why
        )
    for hook, text in outcome.messages:
        if agent.ui is not None:
            await agent.ui.notify(f"{hook.origin}: {agent.host.redact(text)}")


def _later(agent: AgentRunner, work: Awaitable[Answer]) -> None:
    """Let a hook run that nobody waits for; what it says is for the next turn."""

    async def done() -> None:
        outcome = fold([await work])
        await _tell(agent, outcome.answers[0].hook.event if outcome.answers[0].hook else "", outcome)
        _keep(agent, outcome)

    tasks: set[asyncio.Task[None]] = state_of(agent).setdefault("work", set())
    task = asyncio.create_task(done())
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    agent.events.arm(_WORK)


def _message(agent: AgentRunner, hook: Hook, text: str) -> CustomMessage:
    """Return a text of a hook for the model, marked as what it is."""
    said = f"[{hook.label}]\n{agent.host.redact(text)}"
    return CustomMessage(content=(TextBlock(said),), custom_type="shell-hooks.context", in_context=True)


def _keep(agent: AgentRunner, outcome: Outcome) -> None:
    """Keep what hooks say to the model, or that the run ends, for the next turn."""
    kept = state_of(agent)
    kept.setdefault("waiting", []).extend(_message(agent, hook, text) for hook, text in outcome.context)
    if outcome.stop is not None:
        kept.setdefault("stop", outcome.stop)
    if kept["waiting"] or outcome.stop is not None:
        agent.events.arm(WAITING)


# --- the session --------------------------------------------------------------------------------------------------------


async def session_start(agent: AgentRunner, event: t.SessionStartEvent) -> SessionStartResult | None:
    """Arm what has hooks, and run those of ``SessionStart``."""
    kept = state_of(agent)
    kept["hooks"] = own_hooks(agent.host)
    wanted = {hook.event for hook in _hooks(agent)} & EVENTS.keys()
    agent.events.arm(*map(topic, wanted))
    source = _SOURCES.get(event.reason)
    if agent.parent is not None or source is None or "SessionStart" not in wanted:
        return None
    if source == "clear" and not kept.get("begun"):
        source = "startup"
    kept["begun"] = True
    outcome = await fire(agent, "SessionStart", {"source": source, "model": str(agent.config.model or "")})
    if outcome.stop is not None:
        _keep(agent, Outcome(stop=outcome.stop))
    return SessionStartResult(context=[_message(agent, *one) for one in outcome.context]) if outcome.context else None


async def session_shutdown(ctx: HandlerContext, event: t.SessionShutdownEvent) -> None:
    """Run the hooks of ``SessionEnd``, which have a second and a half together, and end what hooks still do."""
    agent = ctx.agent
    if agent is None:
        return
    if agent.parent is None:
        known = ("clear", "logout", "prompt_input_exit", "resume")
        await fire(agent, "SessionEnd", {"reason": event.reason if event.reason in known else "other"})
    if tasks := list(state_of(agent).get("work", ())):
        _, late = await asyncio.wait(tasks, timeout=_LAST_WORDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


# --- what a person says, and the run ------------------------------------------------------------------------------------


async def input(ctx: HandlerContext, event: t.InputEvent) -> Handled | None:
    """Refuse a prompt that a hook blocks; it reaches neither the session nor a model."""
    agent = ctx.agent
    if agent is None or agent.parent is not None:
        return None
    try:
        if (refused := await _called(agent, event.text)) is not None:
            return Handled(refused)
        outcome = await fire(agent, "UserPromptSubmit", {"prompt": event.text})
    except Exception as error:  # noqa: BLE001 - fails closed
        await agent.events.complain("input", f"hooks of UserPromptSubmit: {in_words(error)}")
        return Handled(f"Blocked: hooks of UserPromptSubmit failed: {in_words(error)}")
    if outcome.decision == "deny" or outcome.stop is not None:
        return Handled(f"Blocked: {outcome.reason or outcome.stop}")
    _keep(agent, outcome)
    return None


async def _called(agent: AgentRunner, text: str) -> str | None:
    """Ask the hooks of ``UserPromptExpansion`` where a text calls a skill that no front end has asked about."""
    call = _SKILL.match(text.strip())
    seen = state_of(agent).pop("expanded", None) == text
    if call is None or seen or not agent.host.skills.has(call[1]):
        return None
    return await _expanded(agent, call[1], call[2] or "", "skill", text)


def prompt_guard(host: Host) -> Callable[[AgentRunner, Any, str], Awaitable[str | None]]:
    """Return what asks the hooks of ``UserPromptExpansion`` about a slash command."""

    async def guard(agent: AgentRunner, invocation: Any, text: str) -> str | None:
        name, arguments, origin = invocation.command.name, invocation.arguments, invocation.command.origin
        state_of(agent)["expanded"] = text  # the input that follows is the same call
        return await _expanded(agent, name, arguments, origin, f"/{name} {arguments}".strip())

    return guard


async def _expanded(agent: AgentRunner, name: str, arguments: str, origin: str, prompt: str) -> str | None:
    """Ask the hooks of ``UserPromptExpansion``; return why the prompt is not taken."""
    fields = {
        "expansion_type": "slash_command", "command_name": name, "command_args": arguments, "command_source": origin,
        "prompt": prompt,
    }  # fmt: skip
    outcome = await fire(agent, "UserPromptExpansion", fields)
    if outcome.decision == "deny" or outcome.stop is not None:
        return f"Blocked: {outcome.reason or outcome.stop}"
    _keep(agent, outcome)
    return None


async def before_agent_start(ctx: HandlerContext, event: t.BeforeAgentStartEvent) -> BeforeAgentStartResult | None:
    """Let hooks answer questions about calls; run those of ``SubagentStart``."""
    agent = ctx.agent
    if agent is None:
        return None
    if agent.parent is None:
        _answer_first(agent)
        return None
    outcome = await fire(agent, "SubagentStart", {})
    if not outcome.context:
        return None
    return BeforeAgentStartResult(messages=[_message(agent, *one) for one in outcome.context])


def _answer_first(agent: AgentRunner) -> None:
    """Put hooks before the approver of the run, whichever front end has set it by now."""
    from .approving import HookApprover

    run = agent.scheduler.run
    if run is not None and not isinstance(run.config.approver, HookApprover):
        run.config = replace(run.config, approver=HookApprover(agent, run.config.approver, fire))


def turn_start(ctx: HandlerContext) -> TurnStartResult | None:
    """Give the model what hooks said, or end the run."""
    agent = ctx.agent
    if agent is None:
        return None
    kept = state_of(agent)
    messages, stop = kept.pop("waiting", []), kept.pop("stop", None)
    agent.events.disarm(WAITING)
    if stop is not None:
        return TurnStartResult(append=messages, stop=True, reason=stop)
    return TurnStartResult(append=messages) if messages else None


async def turn_end(ctx: HandlerContext, event: t.TurnEndEvent) -> TurnEndResult | None:
    """Run the hooks of ``PostToolBatch``; end the run where one of any event wants that."""
    agent = ctx.agent
    if agent is None:
        return None
    calls = event.message.tool_calls if event.message is not None else ()
    if event.tool_results and calls:
        results = {one.tool_call_id: one for one in event.tool_results}
        rows = []
        for call in calls:
            name, args = theirs(call.name, call.args or {}, agent.cwd)
            text = results[call.id].text if call.id in results else ""
            rows.append({"tool_name": name, "tool_input": args, "tool_use_id": call.id, "tool_response": text})
        outcome = await fire(agent, "PostToolBatch", {"tool_calls": rows})
        _keep(agent, outcome)
        if outcome.decision == "deny":
            return TurnEndResult(stop=True, reason=outcome.reason)
    stop = state_of(agent).pop("stop", None)
    return TurnEndResult(stop=True, reason=stop) if stop is not None else None


async def before_agent_end(ctx: HandlerContext, event: t.BeforeAgentEndEvent) -> BeforeAgentEndResult | None:
    """Ask whether the run may end."""
    agent = ctx.agent
    if agent is None:
        return None
    said = next((m.text for m in reversed(event.messages) if m.role == "assistant"), "")
    name = "Stop" if agent.parent is None else "SubagentStop"
    outcome = await fire(agent, name, {"stop_hook_active": event.stop_hook_active, "last_assistant_message": said})
    if outcome.stop is not None:
        return None
    told = [outcome.reason] if outcome.decision == "deny" else []
    told += [f"[{hook.label}]\n{text}" for hook, text in outcome.context]
    return BeforeAgentEndResult(continue_with=agent.host.redact("\n\n".join(told))) if told else None


async def agent_end(ctx: HandlerContext, event: t.AgentEndEvent) -> None:
    """Run the hooks of ``StopFailure``."""
    if ctx.agent is not None and event.outcome == "failed":
        error = getattr(event.error, "kind", None) or type(event.error).__name__
        await fire(ctx.agent, "StopFailure", {"error": str(error), "error_details": event.reason or str(event.error)})


async def before_compact(ctx: HandlerContext, event: t.BeforeCompactEvent) -> BeforeCompactResult | None:
    """Keep the history as it is where a hook blocks its compaction."""
    if ctx.agent is None:
        return None
    trigger = "manual" if event.reason == "manual" else "auto"
    outcome = await fire(ctx.agent, "PreCompact", {"trigger": trigger, "custom_instructions": ""})
    return BeforeCompactResult(cancel=True) if outcome.decision == "deny" else None


async def compaction_end(ctx: HandlerContext, event: t.CompactionEndEvent) -> None:
    """Run the hooks of ``PostCompact``, then those of ``SessionStart`` with the source ``compact``."""
    agent = ctx.agent
    if agent is None or event.outcome != "completed":
        return
    trigger = "manual" if event.reason == "manual" else "auto"
    await fire(agent, "PostCompact", {"trigger": trigger, "compact_summary": ""})
    if agent.parent is None:
        _keep(agent, await fire(agent, "SessionStart", {"source": "compact"}))


# --- calls --------------------------------------------------------------------------------------------------------------


def _call(agent: AgentRunner, event: Any) -> dict[str, Any]:
    name, args = theirs(event.tool_name, _plain(event.args), agent.cwd)
    return {"tool_name": name, "tool_input": args, "tool_use_id": event.tool_call_id}


def _plain(value: Any) -> Any:
    """Return JSON without frozen mappings."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


async def before_tool_call(ctx: HandlerContext, event: t.ToolCallEvent) -> ToolCallEventResult | None:
    """Block a call, ask about it, or change its arguments, which are then checked as all arguments are."""
    agent = ctx.agent
    if agent is None:
        return ToolCallEventResult(block=True, reason="hooks: the call belongs to no agent")
    outcome = await fire(agent, "PreToolUse", _call(agent, event), _judge(agent, event))
    _keep(agent, outcome)
    if outcome.decision == "deny" or outcome.stop is not None:
        return ToolCallEventResult(block=True, reason=agent.host.redact(outcome.reason or outcome.stop or "no"))
    allowed = state_of(agent).setdefault("allowed", {})
    allowed.pop(event.tool_call_id, None)
    args: ReplaceArgs | None = None
    if outcome.input is not UNSAID:
        args = ReplaceArgs(ours(event.tool_name, outcome.input, agent.cwd))
    if outcome.decision == "allow":
        allowed[event.tool_call_id] = _plain(args.args if args is not None else event.args)
    ask = (outcome.reason or "A hook wants to know whether this may run.") if outcome.decision == "ask" else None
    return ToolCallEventResult(args=args, ask=ask) if args is not None or ask is not None else None


async def after_tool_result(ctx: HandlerContext, event: t.ToolResultEvent) -> ToolResultEventResult | None:
    """Let hooks see a result, and replace it."""
    agent = ctx.agent
    if agent is None:
        return None
    text = "".join(block.text for block in event.content if isinstance(block, TextBlock))
    fields = {**_call(agent, event), "duration_ms": round(event.duration * 1000)}
    if event.is_error:
        fields |= {"error": text, "is_interrupt": event.outcome == "aborted"}
    else:
        details = _plain(event.details) if isinstance(event.details, Mapping) else {}
        fields |= {"tool_response": {**details, "content": text}}
    outcome = await fire(agent, "PostToolUseFailure" if event.is_error else "PostToolUse", fields, _judge(agent, event))
    _keep(agent, outcome)
    if outcome.output is UNSAID:
        return None
    return ToolResultEventResult(content=_as_text(outcome.output), details=None)


def _as_text(output: Any) -> str:
    """Return the output that a hook wants as a model reads it."""
    if isinstance(output, str):
        return output
    if isinstance(output, Mapping) and isinstance(output.get("content"), str):
        return str(output["content"])
    import json

    return json.dumps(output, ensure_ascii=False)


async def tool_execution_end(ctx: HandlerContext, event: t.ToolExecutionEndEvent) -> None:
    """Run the hooks of ``PermissionDenied``."""
    if ctx.agent is not None and event.outcome in ("blocked", "denied"):
        reason = "".join(block.text for block in event.content if isinstance(block, TextBlock))
        fields = {**_call(ctx.agent, event), "reason": reason}
        _keep(ctx.agent, await fire(ctx.agent, "PermissionDenied", fields, _judge(ctx.agent, event)))


def notify(ctx: HandlerContext, kind: str, text: str) -> None:
    """Run the hooks of ``Notification`` beside what goes on."""
    agent = ctx.agent
    if agent is None:
        return

    async def work() -> Answer:
        await fire(agent, "Notification", {"notification_type": kind, "message": text})
        return Answer()

    _later(agent, work())
