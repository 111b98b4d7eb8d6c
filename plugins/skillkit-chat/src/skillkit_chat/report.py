"""What a run was: the tool calls, skill and action it used, collected from its events, and the JSON object about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core import (
    AgentError,
    AgentResponse,
    AgentRunner,
    StopReason,
    SuspendedCall,
    TokenUsage,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from skillkit_core.cli.output import shorten
from skillkit_core.errors import ProviderError
from skillkit_core.models import BUCKETS

from .waiting import waiting_json

__all__ = ["Report"]

RESULT = 300  # characters of a result that are shown


class Report:
    """Listens to one agent, whose session is open, and tells afterwards what happened.

    Attributes:
        going_on: the command that decides about what waits, if something does.
    """

    def __init__(self, agent: AgentRunner, going_on: str = "") -> None:
        self.agent = agent
        self.going_on = going_on
        self._waited = agent.suspension
        self._written = len(agent.session.entries)
        self.calls: list[dict[str, Any]] = []
        self.model: str | None = None
        self.provider: str | None = None
        self.shown = False
        self._last_result = ""
        agent.events.on("tool_execution_start", self._started)
        agent.events.on("tool_execution_end", self._ended)
        agent.events.on("agent_start", self._began)

    def _began(self, event: Any) -> None:
        self.model, self.provider = event.model.id if event.model is not None else "", event.provider

    def _started(self, event: ToolExecutionStartEvent) -> None:
        tool = self.agent.offered(event.tool_name)
        about = tool.annotations if tool is not None else {}
        self.calls.append(
            {
                "id": event.tool_call_id,
                "tool": event.tool_name,
                "skill": about.get("skill"),
                "action": about.get("action"),
                "args": event.args,
                "outcome": None,
            }
        )

    def _ended(self, event: ToolExecutionEndEvent) -> None:
        for call in self.calls:
            if call["id"] == event.tool_call_id and call["outcome"] is None:
                call["outcome"] = event.outcome.value
                self._last_result = f"{event.tool_name}: {''.join(getattr(b, 'text', '') for b in event.content)}"
                call["duration"] = round(event.duration, 4)
                if event.details is not None:
                    call["data"] = event.details
                return

    @property
    def waiting(self) -> tuple[SuspendedCall, ...]:
        """The calls that wait for a decision now."""
        now = self.agent.suspension
        return now.calls if now is not None else ()

    @property
    def denied(self) -> tuple[SuspendedCall, ...]:
        """The calls that waited for a decision and were denied, by one or by another input."""
        denied = {call["id"] for call in self.calls if call["outcome"] == "denied"}
        return tuple(call for call in (self._waited.calls if self._waited else ()) if call.id in denied)

    @property
    def in_vain(self) -> str:
        """What a person should know of a run that completed although no tool call did its work; empty: there was none such."""
        if not self.calls or any(call["outcome"] == "ok" for call in self.calls):
            return ""
        calls = f"all {len(self.calls)} tool calls" if len(self.calls) > 1 else "the only tool call"
        last = shorten(self._last_result, RESULT)
        return f"{calls} of this run failed, and exit code 0 tells of the run alone; last {last}"

    def _requests(self) -> list[dict[str, Any]]:
        """What each request of the run used, nested ones too, from the books."""
        return [
            {
                **TokenUsage(**{name: data.get(name, 0) for name in BUCKETS}).to_dict(),
                "cost": data.get("cost"),
                **{name: data.get(name, "") for name in ("provider", "model", "purpose")},
            }
            for data in self._books(self._written)
        ]

    def _books(self, begin: int = 0) -> list[Mapping[str, Any]]:
        return [e.data for e in self.agent.session.entries[begin:] if e.type == "usage"]

    def to_dict(self, response: AgentResponse | None, error: Exception | None, ok: bool) -> dict[str, Any]:
        """The object of ``--json``: the answer, what was used for it, usage, cost, and where the session is."""
        last = next((c for c in reversed(self.calls) if c["skill"]), None)
        session = self.agent.session
        priced = all(data.get("cost") is not None for data in self._books() if any(data.get(b) for b in BUCKETS))
        response = response or AgentResponse(session_id=session.id)
        problem = None
        if error is not None:
            problem = error.to_dict() if isinstance(error, AgentError) else {"message": str(error)}
            if isinstance(error.__cause__, ProviderError):
                problem = error.__cause__.to_dict()
        elif not ok:
            what = "refusal" if response.stop_reason is StopReason.refusal else response.outcome
            problem = {"type": what, "message": response.reason or response.content}
        return {
            "ok": ok,
            "answer": response.content,
            "outcome": response.outcome,
            "stop_reason": None if response.stop_reason is None else str(response.stop_reason),
            "skill": last["skill"] if last else None,
            "action": last["action"] if last else None,
            "data": last.get("data") if last else None,
            "tool_calls": self.calls,
            "waiting": waiting_json(self.waiting),
            "denied": waiting_json(self.denied),
            "resume": self.going_on if self.waiting else None,
            "provider": self.provider,
            "model": self.model,
            "usage": response.usage.to_dict(),
            "cost": response.cost,
            "requests": self._requests(),
            "session_usage": session.usage.to_dict(),
            "session_cost": session.cost if priced else None,
            "plugin_problems": [p.to_dict() for p in self.agent.host.problems if p.severity == "error"],
            "session": session.id,
            "session_path": session.location,
            "error": problem,
        }
