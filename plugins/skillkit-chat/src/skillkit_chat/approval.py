"""Who answers when a guard asks: a person at the terminal, nobody, or somebody later."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_frontend import (
    NOT_KEPT,
    Approvals,
    Defers,
    all_edits,
    answer_to,
    decide,
    in_vain,
    preview_of,
    question_text,
)

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver, ToolError
from skillkit_core.cli.output import columns, echo, escaped, style, warning
from skillkit_core.contracts.approver import Question
from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_frontend import Question as Asked

    from skillkit_core import AgentRunner

__all__ = [
    "TerminalApprover", "approver_for", "call_lines", "clear_line", "confirm", "ends", "hidden_line",
    "question_lines", "show_call",
]  # fmt: skip

LONGEST = 2_000  # characters of the arguments of a call; of longer ones head and tail are shown
LEAST = 100  # characters that each of many arguments gets
MOST = 20  # arguments; of more of them the first and the last ones are shown
LINES = 20  # of a text in an argument; more of them are shown one below the other only on request


class TerminalApprover(Approver):
    """Shows the call with the arguments that would run and waits for a line: yes, no, later, or always.

    Where a guard keeps answers, always shows the rule that the guard would keep, and asks where the rule is to hold.

    Keys that were typed before the question do not answer the question. Of long arguments the head and the tail are shown;
    an answer of its own shows all. Reading is the loop's, so an abort ends the waiting. Everything but a clear yes is a
    no. ``later`` offers to put the decision off, which suspends the run. Agents that ask at once are answered one after the
    other.
    """

    def __init__(self, *, later: bool = True) -> None:
        self.later = later
        self._agent: AgentRunner | None = None
        self._turn = asyncio.Lock()

    @staticmethod
    def possible() -> bool:
        """Whether somebody can be asked: stdin and stderr are a terminal."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def answers_for(self, agent: AgentRunner) -> None:
        """Ask the tools of this agent which calls are known to fail: nobody is asked about those."""
        self._agent = agent

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call, and say who asks where that is an agent below."""
        if (error := await self._known_to_fail(request)) is not None:
            return in_vain(error)
        async with self._turn:
            if len(request.agent_path) > 1:
                echo(f"\n{escaped(request.agent_path[-1])} asks", err=True, nl=False)
            later = self.later and request.deferrable
            return await self.ask(request.tool_name, request.args, request.questions, later=later)

    async def _known_to_fail(self, request: ApprovalRequest) -> ToolError | None:
        try:
            if self._agent is not None:
                await preview_of(self._agent, request)
        except ToolError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a tool's preview: the arguments are shown in any case
            warning(f"no preview of {request.tool_name}: {type(error).__name__}: {' '.join(str(error).split())}")
        return None

    async def ask(
        self, tool: str, args: Mapping[str, Any], questions: Sequence[Question], *, later: bool
    ) -> ApprovalDecision:
        """Ask whether a call with these arguments may run; ``later``: the decision can be put off."""
        clear_line()
        echo(err=True)
        shown = False

        def show() -> bool:
            nonlocal shown
            whole, shown = shown, True
            return show_call(tool, args, questions, whole=whole)

        edits = all_edits(self._agent, tool) if self._agent is not None else None
        return await decide(_typed, "Run it?", questions, later=later, show=show, edits=edits)


def approver_for(approvals: Approvals, *, kept: bool) -> Approver | None:
    """Who answers in a run; ``None`` denies. ``kept``: the session is, so that a decision can come later.

    Raises:
        UsageError: nobody can be asked, or a decision that is put off could never be taken.
    """
    if approvals == "ask":
        if not TerminalApprover.possible():
            raise UsageError(
                "--approvals ask needs a terminal", hint="write --approvals deny, or defer to decide later"
            )
        return TerminalApprover(later=kept)
    if approvals == "defer":
        if not kept:
            raise UsageError(NOT_KEPT, hint="leave --no-session out, and install a plugin that keeps sessions")
        return Defers()
    return None


def show_call(
    tool: str, args: Mapping[str, Any], questions: Sequence[Question], call_id: str = "", *, whole: bool = False
) -> bool:
    """Print on stderr what would run, and what is asked about it.

    Args:
        whole: print all of long arguments, not only the head and the tail.

    Returns: whether something of the arguments is hidden.
    """
    lines, hidden = call_lines(tool, args, call_id, whole=whole)
    for line in (*lines, *question_lines(questions)):
        echo(line, err=True)
    return hidden


def call_lines(tool: str, args: Mapping[str, Any], call_id: str = "", *, whole: bool = False) -> tuple[list[str], bool]:
    """Return what would run as lines for the terminal, and whether something of the arguments is hidden."""
    name, call_id = escaped(tool), f"{escaped(call_id)}  " if call_id else ""
    head = call_id + style(name, bold=True, stream=sys.stderr)
    text = escaped(json.dumps(args, ensure_ascii=False))
    room = columns() - len(call_id) - len(name) - 1 if sys.stderr.isatty() else LONGEST
    if len(text) <= room:
        return [f"{head} {text}"], False
    lines, hidden = _argument_lines(args, len(text) > LONGEST and not whole, whole)
    return [head, *lines], hidden


def question_lines(questions: Sequence[Question]) -> list[str]:
    """Return what guards ask, with the plugin of each."""
    return [f"  {escaped(line)}" for question in questions for line in question_text(question).split("\n")]


def _argument_lines(args: Mapping[str, Any], cut: bool, whole: bool) -> tuple[list[str], bool]:
    """Return each argument on lines of its own, and whether something is hidden, which it is only where ``cut``."""
    texts = [escaped(json.dumps({name: value}, ensure_ascii=False)[1:-1]) for name, value in args.items()]
    first, left_out, last = ends(texts, MOST if cut else len(texts))
    longest = max(LEAST, LONGEST // max(1, len(first) + len(last)))
    lines: list[str] = []
    hidden = bool(left_out)
    for place, text in enumerate((*first, *last)):
        if left_out and place == len(first):
            lines.append(hidden_line(f"{left_out:,} arguments"))
        head, count, tail = ends(text, longest if cut else len(text))
        lines += _wrapped(head, whole)
        if count:
            hidden = True
            lines += [hidden_line(f"{count:,} characters"), *_wrapped(tail, whole)]
    return lines, hidden


def ends(whole: Sequence[Any], most: int) -> tuple[Any, int, Any]:
    """Return head and tail of what is longer than ``most``, and between them how much is left out."""
    if len(whole) <= most:
        return whole, 0, whole[:0]
    return whole[: most // 2], len(whole) - most // 2 * 2, whole[-(most // 2) :]


def hidden_line(what: str) -> str:
    """Return the line that stands for what is left out."""
    return "  " + style(f"... {what} are hidden ...", fg="yellow", stream=sys.stderr)


def _wrapped(text: str, whole: bool) -> list[str]:
    """Return a text in lines of which none begins where those of SkillKit begin."""
    width = max(20, columns() - 4) if sys.stderr.isatty() else len(text)
    parts = text.replace("\\n", "\\n\n").split("\n") if whole or text.count("\\n") <= LINES else [text]
    rows = [part[start : start + width] for part in parts for start in range(0, len(part), width)]
    return [f"{'    ' if place else '  '}{row}" for place, row in enumerate(rows)]


def clear_line() -> None:
    """Take the sign of life away, so that a question does not stand behind it."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")


async def _typed(question: Asked) -> str:
    """Ask a question that a line answers: a key, or the word that the key stands for. All else is a no, for this reason."""
    from skillkit_frontend import KeyQuestion

    if not isinstance(question, KeyQuestion):
        return await answer_to(f"{escaped(question.text)} ")
    shown = [f"[{key.upper() if word in ('no', 'back') else key}]{word[1:]}" for key, word in question.choices.items()]
    given = await answer_to(f"{escaped(question.text)} {', '.join(shown)}: ")
    answer = given.casefold()
    return next(
        (word for key, word in question.choices.items() if answer in (key, word, word.split()[0])), given or "no"
    )


async def confirm(question: str) -> bool:
    """Whether the person at the terminal says yes to ``question``."""
    return (await answer_to(f"{question} [y/N] ")).casefold() in ("y", "yes")
