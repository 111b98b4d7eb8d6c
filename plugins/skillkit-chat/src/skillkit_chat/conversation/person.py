"""The person at the conversation: asked about calls and questions, and told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text
from skillkit_frontend import (
    SCOPES,
    KeyQuestion,
    Remember,
    always_question,
    preview_of,
    question_for,
    rememberable,
    rules_kept,
    shown_answer,
)

from skillkit_core import (
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    Survey,
    SurveyQuestion,
    UserInterface,
)
from skillkit_core.cli.output import escaped, printable
from skillkit_core.contracts.user_interface import NoticeLevel

from ..approval import call_lines, ends, hidden_line, question_lines
from .paper import command, diff, note

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .progress import Progress
    from .screen import Screen

__all__ = ["PersonAnswers", "PersonApproves"]

_LINES = 40  # of a preview; of a longer one head and tail are shown
_LEVELS: Mapping[NoticeLevel, str] = {"info": "", "warning": "yellow", "error": "red"}


class PersonApproves(Approver):
    """Shows what a call would do and takes one key: yes, no, always where guards allow it, later where the session is kept.

    Attributes:
        agent: whose calls are asked about; set once it is made.
        screen: where they are shown; set once it is made.
    """

    agent: AgentRunner
    screen: Screen

    def __init__(self, *, later: bool) -> None:
        self._later = later

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call."""
        preview = await self._preview(request)
        hidden = self._show(request, preview, whole=False)
        remember: Remember | None = None
        while True:
            choices = {"y": "yes", "n": "no"}
            choices |= {"a": "always"} if rememberable(request.questions) else {}
            choices |= {"s": "show all"} if hidden else {}
            choices |= {"l": "later"} if self._later else {}
            answer = await self.screen.ask(KeyQuestion(f"Run {request.tool_name}?", choices, declinable=False))
            if answer == "show all":
                hidden = self._show(request, preview, whole=True)
            elif answer != "always" or (remember := await self._how_long(request)) is not None:
                break
        if answer in ("yes", "always"):
            said = {None: "", "session": ", in this session", "project": ", in this project"}.get(
                remember, ", everywhere"
            )
            self.screen.print(note(f"  allowed{said}", "green"))
            return ApprovalDecision("allow", "a person agreed", remember=remember or False)
        self.screen.print(note("  put off" if answer == "later" else "  denied", "yellow"))
        if answer == "later":
            return ApprovalDecision("defer", "a person decides later")
        return ApprovalDecision("deny", "a person said no")

    async def _how_long(self, request: ApprovalRequest) -> Remember | None:
        """Return how long an answer is to hold; ``None``: the person would rather not say."""
        if not rules_kept(request.questions):
            return "session"
        choices = {word[0]: word for word in (*SCOPES, "back")}
        answer = await self.screen.ask(KeyQuestion(always_question(request.questions), choices))
        return SCOPES.get(answer)

    async def _preview(self, request: ApprovalRequest) -> list[Text] | None:
        """Return what the tool itself says a call would do, or its shell command; ``None`` where the arguments say more."""
        tool = self.agent.offered(request.tool_name)
        about = tool.annotations if tool is not None else {}
        width = self.screen.width
        if "preview" not in about:
            return command(request.args, about.get("command"), width)
        try:
            text = await preview_of(self.agent, request)
        except Exception as error:  # noqa: BLE001 - a tool's preview: the arguments are shown in its place
            self.screen.print(note(f"  no preview: {type(error).__name__}: {' '.join(str(error).split())}", "yellow"))
            return None
        return diff(text, width) if text else None

    def _show(self, request: ApprovalRequest, preview: list[Text] | None, *, whole: bool) -> bool:
        """Print what would run and what is asked; return whether something is hidden."""
        who = "" if len(request.agent_path) == 1 else f"{request.agent_path[-1]} › "
        if preview is None:
            lines, hidden = call_lines(request.tool_name, request.args, whole=whole)
            body: list[Text] = [Text.from_ansi(line) for line in lines]
        else:
            head, left_out, tail = ends(preview, len(preview) if whole else _LINES)
            hidden = bool(left_out)
            body = [Text(escaped(request.tool_name), "bold"), *head]
            body += [Text.from_ansi(hidden_line(f"{left_out:,} lines")), *tail] if left_out else []
        asked = [Padding(Text(line.strip()), (0, 0, 0, 2)) for line in question_lines(request.questions)]
        self.screen.print(Text(), *([note(f"{who}asks")] if who else []), *body, *asked)
        return hidden


class PersonAnswers(UserInterface):
    """Asks the questions of a survey one after the other, and prints notices.

    Attributes:
        screen: where they are shown; set once it is made.
        progress: what stands above them; set once it is made.
    """

    screen: Screen
    progress: Progress

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask; Esc declines the survey."""
        single = len(survey.questions) == 1 and survey.text == survey.questions[0].text
        head = [Text(printable(survey.title), "bold")]
        if survey.text and not single:
            head.append(Text(printable(survey.text)))
        self.screen.print(Text(), *head)
        given: dict[str, Any] = {}
        for question in survey.questions:
            answer = await self._answer(question)
            if answer is None:
                self.screen.print(note("  declined", "yellow"))
                return None
            if answer != "" or question.required:
                given[question.id] = answer
            self.screen.print(
                Text.assemble((f"  {printable(question.text)} ", "dim"), printable(shown_answer(question, answer)))
            )
        return survey.answer(given)

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Print, behind the block of an answer that arrives."""
        self.progress.tell(text, _LEVELS[level])

    async def _answer(self, question: SurveyQuestion) -> Any:
        """Return an answer that fits the question, ``None`` for none."""
        while True:
            answer = await self.screen.ask(question_for(question, question.text))
            if answer is None:
                return None
            if question.kind == "confirm":
                answer = answer == "yes"
            if answer in ("", ()) and question.default is not None:
                return question.default
            problem = question.problem(answer)
            if problem is None:
                return answer
            self.screen.print(note(f"  the answer {problem}", "yellow"))
