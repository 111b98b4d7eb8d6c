"""Clients of version 1 of the protocol: they get whole events, and are asked one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from skillkit_core import ApprovalDecision, Origin, UsageError, event_to_dict

from .connection import RpcError
from .protocol import ApproveResult, AskResult
from .shown import APPROVAL

if TYPE_CHECKING:
    from .connection import Connection
    from .journal import Message
    from .live import Live

__all__ = ["FirstVersion"]


class FirstVersion:
    """Tells a client of version 1 what happens in a session, and asks it."""

    def __init__(self, connection: Connection, live: Live, answers: frozenset[str], origin: Origin) -> None:
        self._connection, self._live, self._answers, self._origin = connection, live, answers, origin
        self._asking: dict[str, asyncio.Task[None]] = {}

    def tell(self, message: Message) -> None:
        """Tell the client a message, as far as version 1 knows its type."""
        data = message.data
        match message.type:
            case "event":
                self._connection.notify(
                    "event", data["event"] if message.event is None else event_to_dict(message.event)
                )
            case "notice":
                self._connection.notify("notify", data)
            case "question" if data["question"]["kind"] in self._answers:
                question = data["question"]
                self._asking[question["id"]] = asyncio.get_running_loop().create_task(self._ask(question))
            case "question_answered" | "question_withdrawn":
                if (task := self._asking.pop(data["question"], None)) is not None:
                    task.cancel()
            case _:
                pass

    def close(self) -> None:
        """Ask nothing more."""
        for task in self._asking.values():
            task.cancel()

    async def _ask(self, question: Mapping[str, Any]) -> None:
        given = await (self._approve(question) if question["kind"] == APPROVAL else self._survey(question))
        while given is not None or question["kind"] != APPROVAL:
            try:
                await self._live.answer(question["id"], given, self._origin)
                return
            except UsageError as error:
                given = await self._survey(question, error.message)

    async def _approve(self, question: Mapping[str, Any]) -> ApprovalDecision:
        """Ask for a decision; what the client does not answer as agreed is denied."""
        names = ("tool_call_id", "tool", "args", "questions", "agent_path", "rememberable", "preview")
        try:
            said = ApproveResult.model_validate(
                await self._connection.ask("approve", {name: question[name] for name in names})
            )
        except (RpcError, ConnectionError, ValidationError) as error:
            return ApprovalDecision("deny", f"the client gave no decision: {error}")
        return ApprovalDecision(said.decision, said.reason, said.remember, said.answer)

    async def _survey(self, question: Mapping[str, Any], problem: str = "") -> Mapping[str, Any] | None:
        """Ask for the answers of a survey, with what was wrong with those before; ``None``: the person declines."""
        survey = question["survey"]
        shown = {**survey, "text": f"{survey['text']}\n{problem}".strip()} if problem else survey
        try:
            return AskResult.model_validate(await self._connection.ask("ask", {"survey": shown})).answers
        except (RpcError, ConnectionError, ValidationError):
            return None
