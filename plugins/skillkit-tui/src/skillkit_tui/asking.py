"""The person at the UI: asked about calls and questions in a box above the input line, one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text
from skillkit_frontend import (
    SCOPES,
    Block,
    KeyQuestion,
    Look,
    Question,
    Remember,
    TextQuestion,
    always_question,
    call_head,
    preview_of,
    question_for,
    rememberable,
    rules_kept,
    shown_answer,
)
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from skillkit_core import (
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    Survey,
    SurveyQuestion,
    UserInterface,
)
from skillkit_core.contracts.user_interface import NoticeLevel

if TYPE_CHECKING:
    from .app import TerminalUI

__all__ = ["Box", "Person"]

PAUSE = 0.5
"""Seconds without a key before a question takes one: what a person was typing answers nothing."""
_DECLINED = object()
_LOOKS: Mapping[Look, str] = {"": "", "question": "bold", "key": "bold cyan", "chosen": "bold cyan", "hint": "dim"}


class Box(Vertical, can_focus=True):
    """Where a question stands. It takes the keys; those that it does not know scroll the transcript."""

    DEFAULT_CSS = """
    Box { display: none; height: auto; max-height: 60%; padding: 0 1; border-top: solid $warning; }
    Box Input { display: none; border: none; height: 1; padding: 0; }
    Box Static { height: auto; }
    """

    question: Question | None = None

    def compose(self) -> ComposeResult:
        """Make the question and the line for its answer."""
        yield Static(id="question")
        yield Input(id="answer", compact=True, select_on_focus=False)

    def put(self, question: Question | None) -> None:
        """Show a question; ``None``: no one."""
        self.question = question
        self.display = question is not None
        line = self.query_one("#answer", Input)
        typed = isinstance(question, TextQuestion)
        line.display = typed
        if isinstance(question, TextQuestion):
            line.password, line.value = question.secret, question.default
            line.cursor_position = len(question.default)
            self.screen.set_focus(line)  # at once: the next key is for the question
        elif question is not None:
            line.value = ""
            self.screen.set_focus(self)
        self.draw()

    def draw(self) -> None:
        """Show where the question stands."""
        if self.question is not None:
            parts = self.question.lines(max(20, self.app.size.width - 2))
            self.query_one("#question", Static).update(Text.assemble(*((text, _LOOKS[look]) for look, text in parts)))

    def on_resize(self) -> None:
        """Use the new width."""
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take a text that was typed."""
        event.stop()
        if self.question is not None:
            self.question.say(event.value)

    def on_key(self, event: events.Key) -> None:
        """Take a key."""
        if self.press(event.key, event.character):
            event.stop()
            event.prevent_default()

    def press(self, key: str, character: str | None) -> bool:
        """Take a key; return whether it is the question's."""
        question = self.question
        if question is None:
            return False
        if key == "escape":
            if question.declinable:
                question.say(None)
            return True
        if isinstance(question, TextQuestion):
            return False  # the line's
        if question.press(key, character or ""):
            self.draw()
            return True
        ui: TerminalUI = self.app  # type: ignore[assignment]
        return ui.scroll_by(key)


class Person(Approver, UserInterface):
    """Shows what a call would do as a block and takes one key; asks surveys; tells.

    Args:
        front: the UI.
        later: the session is kept, so that a decision can be put off.
    """

    def __init__(self, front: TerminalUI, *, later: bool) -> None:
        self._front, self._later = front, later
        self._turn = asyncio.Lock()

    async def put(self, question: Question) -> Any:
        """Ask one question, after those that are asked already, and once nobody types."""
        async with self._turn:
            while (wait := self._front.last_key + PAUSE - time.monotonic()) > 0:  # noqa: ASYNC110 - keys set it
                await asyncio.sleep(wait)
            try:
                self._front.ask(question)
                return await question.answer
            finally:
                self._front.ask(None)

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call."""
        agent = self._front.agent
        tool = agent.offered(request.tool_name)
        command = (tool.annotations if tool is not None else {}).get("command")
        args: Mapping[str, Any] | None = request.args
        try:
            preview = await preview_of(agent, request)
        except Exception as error:  # noqa: BLE001 - a tool's preview: the arguments are shown in its place
            preview = None
            self._front.record.note(f"no preview: {type(error).__name__}: {' '.join(str(error).split())}")
        if preview:
            args = None
        who = "" if len(request.agent_path) == 1 else f"{request.agent_path[-1]} › "
        head = (
            f"{who}{call_head(agent, request.tool_name, request.args)}"
            if command or preview
            else f"{who}{request.tool_name}"
        )
        block = Block("asked", head=head, args=args, diff=preview or "", done=False)
        self._front.record.put(block)
        if not who:  # calls of agents below stand in logs of their own
            self._front.record.asked[request.tool_call_id] = block
        self._front.follow()
        asked = "\n".join(q.text + (f" ({q.plugin})" if q.plugin else "") for q in request.questions)
        try:
            answer, remember = await self._decide(request, asked)
        except asyncio.CancelledError:
            self._close(block, False, "not decided")
            raise
        if answer == "later":
            self._close(block, None, "put off")
            return ApprovalDecision("defer", "a person decides later")
        if answer != "yes":
            self._close(block, False, "denied")
            return ApprovalDecision("deny", "a person said no")
        where = {None: "", "session": ", in this session", "project": ", in this project"}.get(remember, ", everywhere")
        self._close(block, True, f"allowed{where}" if where or who else "")
        return ApprovalDecision("allow", "a person agreed", remember=remember or False)

    async def _decide(self, request: ApprovalRequest, asked: str) -> tuple[str, Remember | None]:
        choices = {"y": "yes", "n": "no"}
        choices |= {"a": "always"} if rememberable(request.questions) else {}
        choices |= {"l": "later"} if self._later else {}
        while True:
            answer = await self.put(
                KeyQuestion(f"{asked}\nRun {request.tool_name}?".strip(), choices, declinable=False)
            )
            if answer != "always":
                return answer, None
            if not rules_kept(request.questions):
                return "yes", "session"
            words = {word[0]: word for word in (*SCOPES, "back")}
            scope = await self.put(KeyQuestion(always_question(request.questions), words))
            if scope in SCOPES:
                return "yes", SCOPES[scope]

    def _close(self, block: Block, good: bool | None, result: str) -> None:
        block.end(good=good, result=result)
        block.open = False
        self._front.redraw()

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask the questions of a survey one after the other; Esc declines it."""
        record = self._front.record
        single = len(survey.questions) == 1 and survey.text == survey.questions[0].text
        given: dict[str, Any] = {}
        said: list[str] = []
        for number, question in enumerate(survey.questions):
            lead = "" if single or number else "\n".join(part for part in (survey.title, survey.text) if part) + "\n"
            answer = await self._answer(question, lead)
            if answer is _DECLINED:
                record.note(f"{survey.title}: declined")
                return None
            if answer != "" or question.required:
                given[question.id] = answer
            said.append(f"{question.text} {shown_answer(question, answer)}")
        block = Block("asked", "\n".join(said), head=survey.title, good=True, result="; ".join(said) if single else "")
        block.open = not single
        record.put(block)
        return survey.answer(given)

    async def _answer(self, question: SurveyQuestion, lead: str) -> Any:
        """Return an answer that fits the question."""
        problem = ""
        while True:
            answer = await self.put(question_for(question, f"{lead}{problem}{question.text}"))
            if answer is None:
                return _DECLINED
            if question.kind == "confirm":
                answer = answer == "yes"
            if answer in ("", ()) and question.default is not None:
                return question.default
            wrong = question.problem(answer)
            if wrong is None:
                return answer
            problem = f"The answer {wrong}.\n"

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a note."""
        self._front.record.note(text, error=level == "error")
