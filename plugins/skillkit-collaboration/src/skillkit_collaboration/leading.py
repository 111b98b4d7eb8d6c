"""A session from its begin to its end: who speaks, what becomes of the message, and whether the session goes on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from skillkit_engines import BELOW, Task, editor_of

from skillkit_core import Skill
from skillkit_core.errors import LimitReached, RunAborted, SkillKitError, Suspended, in_words

from .checking import kind_of
from .desk import Choice, Desk, Strategy, number_of
from .events import (
    CollaborationCompactedEvent,
    CollaborationEndEvent,
    CollaborationMessageEvent,
    CollaborationViolationEvent,
)
from .protocol import SUPERVISOR, Violation, receive
from .record import END, MESSAGE, OUTCOMES, TURN, VIOLATION, Record, write
from .settings import settings_of
from .tally import Tally
from .thread import told
from .turns import instructions, message_in, request

if TYPE_CHECKING:
    from skillkit_core import AgentRunner
    from skillkit_core.tools import ToolContext

__all__ = ["Leader"]

By = Literal["rule", "model"]
_CONFIDENCE = {
    "type": "object",
    "properties": {"confidence": {"type": "number"}, "reason": {"type": "string"}},
    "required": ["confidence", "reason"],
    "additionalProperties": False,
}
_TEXTS = ("proposal", "revision")
_SHOWN = 200  # characters of a message that are shown while others work


class Leader:
    """Leads one session, or what is left of it."""

    def __init__(self, ctx: ToolContext, record: Record) -> None:
        self._ctx, self._record = ctx, record
        self._agent: AgentRunner = ctx.agent
        self._settings = settings_of(self._agent.host)
        self._desk = Desk(ctx, record)
        self._strategy: Strategy = self._agent.host.registry("strategies").get(record.config.supervisor_strategy)
        self._tally = Tally(self._agent)

    async def lead(self) -> None:
        """Lead the session to its end. What happens is in its notes, also when it is cancelled.

        Raises:
            Suspended: a call of a participant waits for a decision; the turn is taken again then.
        """
        record = self._record
        with self._tally:
            try:
                while record.status == "active" or record.budgeted:
                    await self._step()
            except LimitReached as error:
                await self._end("failed", f"budget: {error}", SUPERVISOR, "rule", budgeted=True)
            except (asyncio.CancelledError, RunAborted):
                with contextlib.suppress(SkillKitError):
                    await self._end("failed", "cancelled", SUPERVISOR, "rule", budgeted=True)
                raise

    async def _step(self) -> None:
        """Take one turn, and end the session where it has come to its end."""
        record = self._record
        if record.open is None:
            await self._answer()
            await self._begin_turn()
        if record.status == "active":
            await self._delegate()
            await self._turn(str((record.open or {})["speaker"]))
        if record.status == "active":
            await self._converge()
        elif not record.reason:
            await self._ended_by_protocol()

    # --- who speaks ---------------------------------------------------------------------------------------------------

    async def _begin_turn(self) -> None:
        """Choose who speaks, and write that down before anybody does."""
        record, inputs = self._record, self._record.inputs()
        try:
            who, choice = await self._choice()
        except SkillKitError:
            raise
        except Exception as error:  # noqa: BLE001 - code of a plugin
            reason = f"strategy: {record.config.supervisor_strategy} failed: {in_words(error)}"
            await self._end("failed", reason, SUPERVISOR, "rule")
            return
        decision = {
            "what": "speaker", "choice": choice.speaker, "who": who, "by": choice.by, "reason": choice.reason,
            "inputs": inputs, "turn": record.turn + 1,
        }  # fmt: skip
        instruction = {"instruction": choice.instruction} if choice.instruction else {}
        data = {"turn": record.turn + 1, "speaker": choice.speaker, "decision": decision, **instruction}
        await self._write(TURN, data)

    async def _delegate(self) -> None:
        """Say what the supervisor wants of the first speaker; it is no turn of its own."""
        record = self._record
        instruction = str((record.open or {}).get("instruction") or "")
        if instruction and not record.messages:
            await self._supervise("delegation", str((record.open or {})["speaker"]), instruction)

    async def _answer(self) -> None:
        """Answer the questions to the supervisor from what the session is about; one that cannot be answered stays open."""
        for asker, asked in self._record.state.requests:
            if asked != SUPERVISOR:
                continue
            words = (
                f"{asker} has asked you the newest question of its own in the thread. Answer it, from the request and the thread "
                f"alone, in few words; say so where they do not tell.{self._given()}"
            )
            try:
                text = await self._desk.text(words, purpose="info")
            except LimitReached:
                raise
            except SkillKitError:
                return
            await self._supervise("info_response", asker, text)

    def _given(self) -> str:
        return f"\n\n{self._record.context}" if self._record.context.strip() else ""

    async def _supervise(self, kind: str, recipient: str, content: str) -> None:
        """Take a message of the supervisor into the thread, if it may be there."""
        message = {
            "sender": SUPERVISOR, "recipient": recipient, "message_type": kind, "content": content,
            "structured_data": {}, "references": [], "status": "pending",
        }  # fmt: skip
        if receive(self._record.rules, self._record.state, message).violation is None:
            await self._say(message, self._record.turn, None, time.time())

    async def _choice(self) -> tuple[str, Choice]:
        """Return who decided, and whom."""
        session, host = self._record.session(), self._agent.host
        for impl in host.impls("choose_speaker"):
            given = {"session": session, "agent": self._agent}
            try:
                name = await impl.function(*(given[one] for one in impl.argnames))
            except SkillKitError:
                raise
            except Exception as error:  # noqa: BLE001 - code of a plugin
                host.note(impl.plugin_name, f"choose_speaker failed: {in_words(error)}")
                continue
            if name in session.participants:
                return impl.plugin_name, Choice(str(name), "a plugin chose")
        choice = await self._strategy.next(session, self._desk)
        if choice.speaker not in session.participants:
            raise LookupError(f"{choice.speaker!r} takes no part")
        return self._record.config.supervisor_strategy, choice

    # --- a turn -------------------------------------------------------------------------------------------------------

    async def _turn(self, speaker: str) -> None:
        """Let somebody speak until the message is in the thread, or the turn is over without one."""
        record = self._record
        turn = record.turn + 1
        while record.turn < turn and record.status == "active":
            mine = [one for one in record.refusals if one.turn == turn]
            refused = next((one for one in reversed(mine) if one.outcome == "resend"), None)
            began = time.time()
            try:
                message, session, why = await self._spoken(speaker, len(mine) + 1, refused)
            except TimeoutError:
                message, session, why = None, None, f"timeout: nothing came within {record.config.timeout_s:g} s"
            except (LimitReached, Suspended, RunAborted):
                raise
            except SkillKitError as error:
                message, session, why = None, None, f"failed: {error}"
            except Exception as error:  # noqa: BLE001 - code of a plugin
                message, session, why = None, None, f"failed: {in_words(error)}"
            if why:
                await self._failed(speaker, why, mine)
                continue
            violation = self._judged(message, speaker)
            if violation is None and message is not None:
                await self._say(message, turn, session, began)
            else:
                assert violation is not None
                await self._refuse(speaker, message or {}, violation, mine)

    async def _spoken(self, speaker: str, attempt: int, refused: Any) -> tuple[dict[str, Any] | None, str | None, str]:
        """Return the message of a participant, the session of its agent, and why there is none."""
        record = self._record
        context = await self._context(speaker, refused)
        turn = record.turn + 1
        name = f"{record.id}.t{turn}" + (f"#{attempt}" if attempt > 1 else "")
        task = Task(
            name, self._agent, Skill(name=speaker), request(record, self._desk, speaker), context=context,
            packs=(*record.packs, *record.config.tool_packs), editor=editor_of(self._agent), rules=record.system,
            name=f"turn{turn}-{_plain(speaker)}"[:64], role=record.roles.get(speaker, ""), **self._where(name),
        )  # fmt: skip
        kind, own = kind_of(record.names[speaker])
        try:
            async with asyncio.timeout(record.config.timeout_s):
                result = await self._agent.host.registry("participants").get(kind).speak(own, task)
        except Suspended:
            await self._write(TURN, {"turn": turn, "speaker": speaker, "waiting": name})
            raise
        refusal = result.status == "partial" and result.reason.startswith("denied")
        if result.status not in ("completed", "partial") or refusal:
            return None, result.session, f"failed: {result.reason or result.status}"
        return await message_in(result.text, record, self._desk, speaker), result.session, ""

    def _where(self, name: str) -> dict[str, Any]:
        """Return the session of the agent of a turn: that in which a call waited, else a new one where sessions are kept."""
        session = self._agent.session
        if (self._record.open or {}).get("waiting") == name:
            for note in reversed(session.notes(BELOW)):
                if note.data["task"] == name:
                    return {"session": str(note.data["session"]), "resumed": True}
        return {"session": "new" if session.location is not None else None}

    async def _context(self, speaker: str, refused: Any) -> str:
        """Return what a participant is given: who it is, what other steps found, and the thread, shortened if it is long."""
        record = self._record
        thread = told(record.messages, self._settings.thread_chars)
        if thread.shortened:
            await self._emit(
                CollaborationCompactedEvent, turn=record.turn + 1, participant=speaker, chars=thread.chars,
                shown=len(thread.text), shortened=thread.shortened,
            )  # fmt: skip
        parts = (instructions(record, self._desk, speaker, refused), record.context, thread.text)
        return "\n\n".join(part for part in parts if part.strip())

    def _judged(self, message: Mapping[str, Any] | None, speaker: str) -> Violation | None:
        record = self._record
        if message is None:
            return Violation(
                "type", "the answer is no message: a JSON object with message_type", self._desk.allowed(speaker)
            )
        violation = receive(record.rules, record.state, message).violation
        if violation is None and message["message_type"] in _TEXTS and not str(message["content"]).strip():
            return Violation("content", "a proposal or a revision has a text", self._desk.allowed(speaker))
        return violation

    async def _say(self, message: Mapping[str, Any], turn: int, session: str | None, began: float) -> None:
        """Take a message into the thread, tell of it, and show its beginning."""
        await self._write(MESSAGE, {"turn": turn, "message": message, "began": began, "session": session})
        shown = {name: message[name] for name in ("sender", "recipient", "message_type", "content", "status")}
        await self._emit(CollaborationMessageEvent, turn=turn, **shown)
        about = f"{message['sender']} → {message['recipient']} · {message['message_type']}"
        self._show(turn, about, str(message["content"]))

    def _show(self, turn: int, about: str, text: str) -> None:
        """Show a branch of the tree while the session goes on, in one line: what was said, and how it begins."""
        lines = text.strip().splitlines() or [""]
        more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
        self._ctx.on_output(f"├─ {turn or '·'} {about}: {lines[0][:_SHOWN]}{more}\n")

    async def _failed(self, speaker: str, why: str, mine: Sequence[Any]) -> None:
        """Write down a turn that failed: it is tried again, left out where the participant is optional, or the end."""
        record = self._record
        rule, _, text = why.partition(": ")
        tries = sum(one.outcome == "retry" for one in mine)
        optional = {speaker, record.names[speaker]} & set(record.config.optional)
        outcome = "retry" if tries < self._settings.retries else "skip" if optional else "fail"
        message = {"sender": speaker, "recipient": SUPERVISOR, "status": "failed", "content": text}
        await self._refusal(speaker, Violation(rule, text, ()), message, mine, outcome)
        if outcome == "fail":
            await self._end("failed", f"participant: {speaker} {why}", SUPERVISOR, "rule")

    async def _refuse(
        self, speaker: str, message: Mapping[str, Any], violation: Violation, mine: Sequence[Any]
    ) -> None:
        """Write down a message that breaks a rule; it may be sent again once, then the strategy decides."""
        record = self._record
        sent = sum(one.outcome == "resend" for one in mine)
        if sent < self._settings.resend:
            outcome = "resend"
        else:
            outcome = self._violated(speaker)
        await self._refusal(speaker, violation, message, mine, outcome)
        if outcome == "fail":
            reason = f"protocol: {speaker} broke {violation.rule} again: {violation.text}"
            await self._end("failed", reason, record.config.supervisor_strategy, "rule")

    def _violated(self, speaker: str) -> str:
        """Return what the strategy makes of a second violation; one that fails, or answers nothing of use, fails the session."""
        try:
            found = self._strategy.violated(self._record.session(), speaker, self._desk)
        except Exception as error:  # noqa: BLE001 - code of a plugin
            self._agent.host.note(self._record.config.supervisor_strategy, f"violated failed: {in_words(error)}")
            return "fail"
        return found if found in ("skip", "fail") else "fail"

    async def _refusal(
        self, speaker: str, violation: Violation, message: Mapping[str, Any], mine: Sequence[Any], outcome: str
    ) -> None:
        turn = self._record.turn + 1
        about = {"turn": turn, "sender": speaker, "rule": violation.rule, "text": violation.text}
        data = {**about, "attempt": len(mine) + 1, "allowed": list(violation.allowed), "message": dict(message)}
        await self._write(VIOLATION, {**data, "outcome": outcome})
        await self._emit(CollaborationViolationEvent, **about, outcome=outcome)
        self._show(turn, f"{speaker} · {violation.rule} → {outcome}", violation.text)

    # --- how it ends --------------------------------------------------------------------------------------------------

    async def _ended_by_protocol(self) -> None:
        last = self._record.messages[-1]
        if self._record.status == "converged":
            await self._end("converged", f"approval received from {last.sender}", "protocol", "rule")
        else:
            revisions = self._record.state.revisions
            await self._end("failed", f"rejected by {last.sender} after {revisions} revisions", "protocol", "rule")

    async def _converge(self) -> None:
        """End the session where one of the other rules says so."""
        record, wanted = self._record, self._record.config.convergence
        if not wanted.require_approval and record.best:
            newest = {message.sender: message for message in record.messages}
            if all(
                name in newest and newest[name].structured_data.get("no_further_changes") is True
                for name in record.names
            ):
                await self._end("converged", "no further changes from all participants", SUPERVISOR, "rule")
                return
            text = record.messages[-1].message_type in _TEXTS and record.rows[-1]["turn"] == record.turn
            if wanted.confidence is not None and text and await self._confident(wanted.confidence):
                return
        if record.turn >= (wanted.max_turns or self._settings.max_turns):
            await self._end("max_turns_reached", "max turns reached", SUPERVISOR, "rule")

    async def _confident(self, least: float) -> bool:
        words = (
            "How good is the newest text as an answer, from 0 to 1, and is anything left to change? "
            'Answer {"confidence": 0.0, "reason": "why"}.'
        )
        inputs = self._record.inputs()
        found = await self._desk.ask(words, schema=_CONFIDENCE, purpose="confidence") or {}
        value = number_of(found.get("confidence"))
        if value <= least:
            return False
        reason = f"confidence {value:g} is above {least:g}: {str(found.get('reason') or '')[:300]}"
        await self._end("converged", reason, SUPERVISOR, "model", inputs=inputs)
        return True

    async def _end(
        self, status: str, reason: str, who: str, by: By, *, inputs: str = "", budgeted: bool = False
    ) -> None:
        record = self._record
        decision = {
            "what": "end", "choice": status, "who": who, "by": by, "reason": reason,
            "inputs": inputs or record.inputs(), "turn": record.turn,
        }  # fmt: skip
        result = record.best
        if record.config.synthesis and status in ("converged", "max_turns_reached"):
            result = await self._synthesis() or result
        data = {"status": status, "reason": reason, "result": result, "budgeted": budgeted, "decision": decision}
        await self._write(END, data)
        await self._emit(CollaborationEndEvent, status=status, reason=reason, turns=record.turn)
        self._ctx.on_output(f"└─ {OUTCOMES[status].replace('_', ' ')}: {reason}\n")

    async def _synthesis(self) -> str:
        words = (
            "Write the result of the session for who asked: a balanced view of all that was said, without the messages."
        )
        try:
            return await self._desk.text(words, purpose="synthesis")
        except SkillKitError:
            return ""  # the newest text is the result then

    # --- notes and events ---------------------------------------------------------------------------------------------

    async def _write(self, kind: str, data: Mapping[str, Any]) -> None:
        await write(self._agent, self._record, kind, {**data, **self._tally.take()})

    async def _emit(self, event: type[Any], **about: Any) -> None:
        events = self._agent.events
        await events.emit(events.make(event, session=self._record.id, **about))


def _plain(name: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name)
