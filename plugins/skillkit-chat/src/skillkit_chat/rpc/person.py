"""The person behind the client: asked and told through the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from skillkit_frontend import rememberable

from skillkit_core import Answers, ApprovalDecision, ApprovalRequest, Approver, Survey, UserInterface
from skillkit_core.contracts.user_interface import NoticeLevel
from skillkit_core.errors import UsageError

from .connection import RpcError
from .protocol import ApproveResult, AskResult

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["RemoteApprover", "RemoteInterface"]


class RemoteApprover(Approver):
    """Asks the client to decide; what a client does not answer as agreed is denied.

    Attributes:
        connection: set once the client has said that it decides; ``None``: everything is denied.
    """

    def __init__(self) -> None:
        self.connection: Connection | None = None

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask the client."""
        if self.connection is None:
            return ApprovalDecision("deny", "the client answers no approvals")
        questions = [{"text": q.text, "plugin": q.plugin, "rule": q.rule} for q in request.questions]
        params = {
            "tool_call_id": request.tool_call_id,
            "tool": request.tool_name,
            "args": request.args,
            "questions": questions,
            "agent_path": list(request.agent_path),
            "rememberable": rememberable(request.questions),
        }
        try:
            said = ApproveResult.model_validate(await self.connection.ask("approve", params))
        except (RpcError, ConnectionError, ValidationError) as error:
            return ApprovalDecision("deny", f"the client gave no decision: {error}")
        return ApprovalDecision(said.decision, said.reason, said.remember, said.answer)


class RemoteInterface(UserInterface):
    """Asks and tells the person behind the client.

    Attributes:
        connection: where texts go.
        asks: the client has said that it asks the person.
    """

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.asks = False

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask; what does not fit the questions is asked again, with the reason in its text."""
        if self.connection is None or not self.asks:
            return None
        shown = survey.to_dict()
        while True:
            try:
                said = AskResult.model_validate(await self.connection.ask("ask", {"survey": shown}))
            except (RpcError, ConnectionError, ValidationError):
                return None
            if said.answers is None:
                return None
            try:
                return survey.answer(said.answers)
            except UsageError as error:
                shown = {**survey.to_dict(), "text": f"{survey.text}\n{error.message}".strip()}

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Tell."""
        if self.connection is not None:
            told: dict[str, Any] = {"text": text, "level": level}
            self.connection.notify("notify", told)
