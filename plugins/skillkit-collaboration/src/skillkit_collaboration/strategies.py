"""The three strategies that come with the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .checking import fold
from .desk import Choice, Desk
from .protocol import SUPERVISOR

if TYPE_CHECKING:
    from skillkit_core import Host

    from .models import CollaborationSession

__all__ = ["Llm", "RoleBased", "RoundRobin"]

RETRIES = 3  # of a model that names nobody who takes part
_TEXTS = ("proposal", "revision")


class RoundRobin:
    """Everybody in the order of the participants, one after the other."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def next(self, session: CollaborationSession, desk: Desk) -> Choice:
        """Choose the participant whose turn it is."""
        names = session.participants
        return Choice(names[session.current_turn % len(names)], f"turn {session.current_turn + 1} of a fixed order")

    def violated(self, session: CollaborationSession, speaker: str, desk: Desk) -> Literal["skip", "fail"]:
        """Do what the configuration says (``on_violation``)."""
        return desk.config.on_violation


class RoleBased(RoundRobin):
    """Whoever has to answer: a request, a text that nobody has judged, or a critique."""

    async def next(self, session: CollaborationSession, desk: Desk) -> Choice:
        """Choose by what was said last. Nobody who judges opens a session."""
        names, state = session.participants, desk.state
        if asked := next((to for _, to in state.requests if to in names), None):
            return Choice(asked, "answers a request")
        last = next((m for m in reversed(session.messages) if m.message_type == state.last), None)
        if last is None:
            return Choice(self._writers(session, desk)[0], "opens the session")
        if state.last == "delegation":
            return Choice(last.recipient if last.recipient in names else names[0], "has the task")
        if state.last in _TEXTS:
            judges = [name for name in names if desk.is_judge(name)] or list(names)
            judges = [name for name in judges if name != state.author] or list(names)
            return Choice(self._rested(session, judges), f"judges the {state.last} of {state.author}")
        author = state.author if state.author in names else self._writers(session, desk)[0]
        return Choice(author, f"answers the {state.last} of {last.sender}")

    @staticmethod
    def _writers(session: CollaborationSession, desk: Desk) -> list[str]:
        return [name for name in session.participants if not desk.is_judge(name)] or list(session.participants)

    @staticmethod
    def _rested(session: CollaborationSession, names: list[str]) -> str:
        """Return who of several has said least, the first of equals."""
        return min(names, key=lambda name: sum(message.sender == name for message in session.messages))


class Llm(RoundRobin):
    """Whom a model chooses; who is next in the fixed order, where it names nobody."""

    async def next(self, session: CollaborationSession, desk: Desk) -> Choice:
        """Ask a model for the next speaker, and for the task of the first one."""
        names = session.participants
        schema = {
            "type": "object",
            "properties": {
                "speaker": {"type": "string", "enum": list(names)},
                "reason": {"type": "string"},
                "instruction": {"type": "string"},
            },
            "required": ["speaker", "reason", "instruction"],
            "additionalProperties": False,
        }
        can = "\n".join(f"- {name}: {', '.join(desk.allowed(name)) or 'nothing'}" for name in names)
        words = (
            f"Who speaks next? What each may send now:\n{can}\n"
            'Answer {"speaker": "NAME", "reason": "why", "instruction": "the task of the first speaker, else empty"}.'
        )
        folded = {fold(name): name for name in names}
        for attempt in range(RETRIES + 1):
            found = await desk.ask(words, schema=schema, purpose="speaker")
            speaker = folded.get(fold(str((found or {}).get("speaker"))))
            if found is not None and speaker is not None:
                instruction = str(found.get("instruction") or "").strip() if not session.messages else ""
                return Choice(speaker, str(found.get("reason") or "")[:500], "model", instruction)
            if attempt == 0:
                words += f"\nThe speaker is one of: {', '.join(names)}; {SUPERVISOR} is none."
        choice = await super().next(session, desk)
        return choice._replace(reason=f"a model named nobody {RETRIES + 1} times; {choice.reason}")
