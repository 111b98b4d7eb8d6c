"""Who answers when a guard asks: a person at the terminal, nobody, or somebody later."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit_frontend import SCOPES, Approvals, Remember, always_question, rememberable, rules_kept

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver
from skillkit_core.cli.output import columns, echo, escaped, style
from skillkit_core.contracts.approver import Question
from skillkit_core.errors import UsageError

__all__ = [
    "DeferringApprover", "TerminalApprover", "approver_for", "call_lines", "confirm", "ends", "hidden_line",
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
        self._turn = asyncio.Lock()

    @staticmethod
    def possible() -> bool:
        """Whether somebody can be asked: stdin and stderr are a terminal."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call, and say who asks where that is an agent below."""
        async with self._turn:
            if len(request.agent_path) > 1:
                echo(f"\n{escaped(request.agent_path[-1])} asks", err=True, nl=False)
            return await self.ask(request.tool_name, request.args, request.questions)

    async def ask(self, tool: str, args: Mapping[str, Any], questions: Sequence[Question]) -> ApprovalDecision:
        """Ask whether a call with these arguments may run."""
        echo(err=True)
        hidden = show_call(tool, args, questions)
        sticky = rememberable(questions)
        others = [*(["[l]ater"] if self.later else []), *(["[a]lways"] if sticky else [])]
        remember: Remember | None = None
        while True:
            choices = ["[y]es", "[N]o", *(["[s]how all"] if hidden else []), *others]
            answer = await _answer_to(f"Run it? {', '.join(choices)}: ")
            if hidden and answer in ("s", "show", "show all"):
                hidden = show_call(tool, args, questions, whole=True)
            elif sticky and answer in ("a", "always"):
                if (remember := await _how_long(questions)) is not None:
                    break
            else:
                break
        if answer in ("y", "yes"):
            return ApprovalDecision("allow", "a person agreed")
        if remember is not None:
            return ApprovalDecision("allow", "a person agreed", remember=remember)
        if self.later and answer in ("l", "later"):
            return ApprovalDecision("defer", "a person decides later")
        return ApprovalDecision("deny", "a person said no")


class DeferringApprover(Approver):
    """Puts decisions off, which suspends the run.

    Args:
        calls: the ids of the calls that it puts off; ``None``: every call. others: who is asked about the other ones;
            ``None``: nobody, so that they are put off too.
    """

    def __init__(self, calls: frozenset[str] | None = None, others: Approver | None = None) -> None:
        self._calls, self._others = calls, others

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Defer."""
        mine = self._calls is None or request.tool_call_id in self._calls
        if mine or self._others is None:
            return ApprovalDecision("defer", "put off")
        return await self._others.approve(request)


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
            raise UsageError(
                "--approvals defer needs a session that is kept",
                hint="leave --no-session out, and install a plugin that keeps sessions",
            )
        return DeferringApprover()
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
    texts = [question.text + (f" ({question.plugin})" if question.plugin else "") for question in questions]
    return [f"  {escaped(line)}" for text in texts for line in text.split("\n")]


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


async def _how_long(questions: Sequence[Question]) -> Remember | None:
    """Return how long an answer is to hold; ``None``: the person would rather not say."""
    if not rules_kept(questions):
        return "session"
    choices = ", ".join(f"[{word[0]}]{word[1:]}" for word in SCOPES)
    answer = await _answer_to(f"{escaped(always_question(questions))} {choices}, [B]ack: ")
    return next((scope for word, scope in SCOPES.items() if answer in (word, word[0])), None)


async def confirm(question: str) -> bool:
    """Whether the person at the terminal says yes to ``question``."""
    return await _answer_to(f"{question} [y/N] ") in ("y", "yes")


async def _answer_to(question: str) -> str:
    """Ask at the terminal and return the line that is typed from then on, in small letters."""
    if sys.stdin.isatty():
        from termios import TCIFLUSH, tcflush  # where there is no such module, nobody is asked at a terminal

        tcflush(sys.stdin.fileno(), TCIFLUSH)
    echo(question, err=True, nl=False)
    return (await _line_of_stdin()).strip().casefold()


async def _line_of_stdin() -> str:
    """The next line that is typed; empty when the input has ended."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()
    descriptor = sys.stdin.fileno()
    typed = b""

    def ready() -> None:
        nonlocal typed
        data = os.read(descriptor, 4096)
        typed += data
        if (not data or b"\n" in data) and not line.done():
            line.set_result(typed.decode("utf-8", "replace"))

    loop.add_reader(descriptor, ready)
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)
