"""One call with more rights: the tool ``escalate``, the guard that asks a person about it, and the note of the answer.

The tool has no argument that widens anything. It names a call that failed in the sandbox, and that call alone, with exactly
its arguments, runs again: in a process of its own, with the policy that the user's configuration names
(``executor.escalate``), which ends with the call. The guard asks every time, and all other guards are asked about the call as
if the model had made it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from skillkit_core import AssistantMessage, TextBlock, Tool, ToolCallEventResult, ToolError, ToolOutput, thaw
from skillkit_core.events.results import UNSET
from skillkit_core.events.types import ToolCallEvent
from skillkit_core.messages import message_from_dict

from .sandboxed import Held, Sandboxed, users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillkit_core import AgentRunner, HandlerContext, ToolContext
    from skillkit_core.events.types import ApprovalResolvedEvent

__all__ = ["NAME", "NOTE", "about_to", "explained", "put_off", "resolved", "tools_of"]

NAME = "escalate"
NOTE = "executor.escalation"
_KEPT = 50  # failed calls of one agent
_WORDS = re.compile(
    r"read-only file system|permission denied|operation not permitted|network is unreachable|device or resource busy"
    r"|name resolution|name or service not known|could not resolve host|not among the domains of the policy"
    r"|nodename nor servname|is read-only \(mode|\b(?:EROFS|EACCES|EPERM|ENETUNREACH|EBUSY|EAI_AGAIN)\b",
    re.IGNORECASE,
)
_NO_NETWORK = re.compile(r"connection refused|\bECONNREFUSED\b", re.IGNORECASE)
_TOOL = Tool(
    NAME,
    "Ask the person to run one tool call again that the sandbox refused, unchanged and with more rights. Call it only where the "
    "work cannot go on without that, and say why before you call it.",
    "skillkit_executor.escalation:escalate",
    {
        "type": "object",
        "properties": {
            "call": {
                "type": "integer",
                "description": "The number that the refused call's result names; default: the last call that failed.",
            }
        },
        "additionalProperties": False,
    },
    sequential=True,
    annotations={"mutates": "world", "purpose": "ask the person", "network": False},  # the call that runs again may
)
TOOLS = (_TOOL,)


class _Failed(NamedTuple):
    """A call that failed in the sandbox."""

    id: str
    tool: Tool
    args: Mapping[str, Any]
    held: str

    @property
    def shown(self) -> str:
        """The call, whole and in one line."""
        return f"{self.tool.name} {json.dumps(thaw(self.args), ensure_ascii=False)}"

    @property
    def digest(self) -> str:
        """What the session keeps of name and arguments."""
        return hashlib.sha256(self.shown.encode()).hexdigest()


class OneTime(Protocol):
    """What runs one call in another sandbox: the executor of this plugin."""

    sandboxed: Sandboxed

    async def once(self, policy: str, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """Run a tool in a process of its own, in the sandbox of a policy."""


def tools_of(agent: AgentRunner) -> Sequence[Tool]:
    """Return the tool where tools run elsewhere and the user's configuration names a policy that a person may grant."""
    transport = getattr(agent.config.executor, "transport", None) or agent.host.config.get("tools.executor")
    return TOOLS if transport in ("stdio", "http") and users(agent.host, "escalate") is not None else ()


def explained(
    output: ToolOutput, tool: Tool, args: Mapping[str, Any], ctx: ToolContext, held: Held, wider: str | None
) -> ToolOutput:
    """Return the output of a call in a sandbox. Where the kernel refused something, the model reads which policy holds."""
    may_be = output.is_error or "command" in tool.annotations  # a file that is read may have such words
    words = [_WORDS] if held.policy["network"] == "on" else [_WORDS, _NO_NETWORK]
    texts = [block.text for block in output.blocks if isinstance(block, TextBlock)]
    refused = may_be and any(one.search(text) for one in words for text in texts)
    if not refused and not output.is_error:
        return output
    offer = ""
    if wider is not None and any(tool.name == NAME for tool in ctx.agent.tools):
        state = ctx.agent.state("executor")
        failed: dict[int, _Failed] = state.setdefault("failed", {})
        number = state["number"] = state.get("number", 0) + 1
        failed[number] = _Failed(ctx.tool_call_id, tool, args, held.name)
        for old in list(failed)[:-_KEPT]:
            del failed[old]
        offer = f' {NAME} {{"call": {number}}} asks the person to run exactly this call with the policy {wider}.'
    if not refused:
        return output
    note = f"[This ran in the sandbox policy {held.said()}.{offer}]"
    if isinstance(output.content, str) or [type(block) for block in output.content] == [TextBlock]:
        return replace(output, content=f"{''.join(b.text for b in output.blocks if isinstance(b, TextBlock))}\n{note}")
    return replace(output, content=(*output.blocks, TextBlock(note)))


async def about_to(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Ask a person about the call that is to run again, after the other guards were asked about it."""
    agent = ctx.agent
    if agent is None or agent.toolbox.source(NAME) != "executor":
        return None
    executor = await _executor(agent)
    wider = executor.sandboxed.wider if executor is not None else None
    failed: Mapping[int, _Failed] = agent.state("executor").get("failed", {})
    call = _waiting(agent, event.tool_call_id) or failed.get(event.args.get("call", max(failed, default=0)))
    if wider is None or call is None:
        why = (
            "no policy is named by executor.escalate"
            if wider is None
            else "no call with this number failed in the sandbox"
        )
        return ToolCallEventResult(block=True, reason=f"{why}; make the call itself")
    asked = await agent.events.emit(
        agent.events.make(
            ToolCallEvent, tool_name=call.tool.name, tool_call_id=call.id, args=thaw(call.args), raw_args=thaw(call.args),
            index=0, batch_size=1, annotations=call.tool.annotations,
        )
    )  # fmt: skip
    questions: tuple[Any, ...] = getattr(asked, "questions", ())
    if getattr(asked, "block", False):
        return ToolCallEventResult(block=True, reason=f"{call.tool.name}: {getattr(asked, 'reason', '')}")
    if getattr(asked, "changed_by", None) is not None or getattr(asked, "result", UNSET) is not UNSET:
        return ToolCallEventResult(
            block=True, reason=f"a plugin changes calls of {call.tool.name}; make the call itself"
        )
    # what runs is what the person was shown, also when a decision comes later
    agent.state("executor").setdefault("asked", {})[event.tool_call_id] = (call, wider)
    text = f"run again with the sandbox policy {wider} instead of {call.held}, this once: {call.shown}"
    return ToolCallEventResult(ask="; ".join([text, *(question.text for question in questions)]))


def _waiting(agent: AgentRunner, asked_by: str) -> _Failed | None:
    """Return the call about which a person decides later, as the session has it: the process that asked may be gone."""
    notes = [note.data for note in agent.session.notes(NOTE) if note.data["asked_by"] == asked_by]
    if not notes or notes[-1]["decision"] != "defer":
        return None
    note = notes[-1]
    tool = next((tool for tool in agent.tools if tool.name == note["tool"]), None)
    said = (message_from_dict(thaw(e.data["message"])) for e in agent.session.path() if e.type == "message")
    made = (call for message in said if isinstance(message, AssistantMessage) for call in message.tool_calls)
    found = (
        _Failed(c.id, tool, c.args or {}, note["instead_of"]) for c in made if tool is not None and c.id == note["call"]
    )
    return next((call for call in found if call.digest == note["digest"]), None)


async def resolved(event: ApprovalResolvedEvent, ctx: HandlerContext) -> None:
    """Write down what was decided: the policy, the call, and who decided."""
    agent = ctx.agent
    asked = agent.state("executor").get("asked", {}) if agent is not None else {}
    if agent is None or event.tool_call_id not in asked:
        return
    await _note(agent, event.tool_call_id, event.decision, event.reason)
    if event.decision != "allow":
        del asked[event.tool_call_id]


async def put_off(agent: AgentRunner) -> None:
    """Write down the calls that wait because an earlier call waits: nobody was asked about them, so nothing was resolved."""
    asked = agent.state("executor").get("asked", {})
    for waits in agent.suspension.calls if agent.suspension is not None else ():
        if waits.id in asked:
            await _note(agent, waits.id, "defer", "an earlier call waits for a decision")
            del asked[waits.id]


async def _note(agent: AgentRunner, asked_by: str, decision: str, reason: str) -> None:
    call, wider = agent.state("executor")["asked"][asked_by]
    data = {
        "call": call.id, "tool": call.tool.name, "digest": call.digest,
        "policy": wider, "instead_of": call.held, "asked_by": asked_by, "decision": decision,
        "reason": reason, "decided_by": _deciders(agent),
    }  # fmt: skip
    await agent.session.note(NOTE, data, sync=True)


def _deciders(agent: AgentRunner) -> list[str]:
    """Return the kinds of approvers that are asked about the agent's calls, the agent's own first."""
    found = [type(one.config.approver) for one in agent.ancestors() if one.config.approver is not None]
    return [f"{kind.__module__}:{kind.__qualname__}" for kind in found]


async def escalate(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Run the call that a person agreed to.

    Raises:
        ToolError: nobody agreed, or the process did not do its work.
    """
    executor = await _executor(ctx.agent)
    call, wider = ctx.agent.state("executor").get("asked", {}).pop(ctx.tool_call_id, (None, None))
    if executor is None or call is None:
        raise ToolError("nobody agreed to run a call again")
    try:
        async with asyncio.timeout(call.tool.timeout):
            return await executor.once(wider, call.tool, call.args, _As(call.tool.name, ctx))
    except TimeoutError:
        raise ToolError(f"{call.tool.name!r} did not finish within {call.tool.timeout:g} s") from None


class _As:
    """The context of a call for the tool that it runs."""

    answer = None  # that of the approval is about the policy

    def __init__(self, name: str, ctx: ToolContext) -> None:
        self.tool_name = name
        self._ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


async def _executor(agent: AgentRunner) -> OneTime | None:
    """Return the agent's executor where it is that of this plugin, which alone has a ``Sandboxed``."""
    found: Any = await agent.toolbox.executor()
    return found if isinstance(getattr(found, "sandboxed", None), Sandboxed) else None
