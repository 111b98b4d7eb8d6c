"""Who answers when a guard asks: a person at the terminal, nobody, or somebody later."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver
from skillkit_core.cli.output import echo, printable, style
from skillkit_core.contracts.approver import Question
from skillkit_core.errors import UsageError

__all__ = ["APPROVALS", "Approvals", "DeferringApprover", "TerminalApprover", "approver_for", "confirm", "show_call"]

APPROVALS = ("ask", "deny", "defer")
Approvals = Literal["ask", "deny", "defer"]
LONGEST = 2_000


class TerminalApprover(Approver):
    """Shows the call with the arguments that would run and waits for a line: yes, no, later, or always in this session.

    Reading is the loop's, so an abort ends the waiting. Everything but a clear yes is a no. ``later`` offers to put the
    decision off, which suspends the run.
    """

    def __init__(self, *, later: bool = True) -> None:
        self.later = later

    @staticmethod
    def possible() -> bool:
        """Whether somebody can be asked: stdin and stderr are a terminal."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call."""
        return await self.ask(request.tool_name, request.args, request.questions)

    async def ask(self, tool: str, args: Mapping[str, Any], questions: Sequence[Question]) -> ApprovalDecision:
        """Ask whether a call with these arguments may run."""
        echo(err=True)
        show_call(tool, args, questions)
        sticky = bool(questions) and all(question.key is not None for question in questions)
        choices = ["[y]es", "[N]o", *(["[l]ater"] if self.later else []), *(["[a]lways"] if sticky else [])]
        echo(f"Run it? {', '.join(choices)}: ", err=True, nl=False)
        answer = (await _line_of_stdin()).strip().casefold()
        if answer in ("y", "yes"):
            return ApprovalDecision("allow", "a person agreed")
        if sticky and answer in ("a", "always"):
            return ApprovalDecision("allow", "a person agreed", remember=True)
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


def show_call(tool: str, args: Mapping[str, Any], questions: Sequence[Question], call_id: str = "") -> None:
    """Print on stderr what would run, and what is asked about it."""
    text = json.dumps(args, ensure_ascii=False)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"
    name = style(printable(tool), bold=True, stream=sys.stderr)
    echo(f"{f'{printable(call_id)}  ' if call_id else ''}{name} {printable(shown)}", err=True)
    for question in questions:
        owner = f" ({question.plugin})" if question.plugin else ""
        echo(f"  {printable(question.text)}{owner}", err=True)


async def confirm(question: str) -> bool:
    """Whether the person at the terminal says yes to ``question``."""
    echo(f"{question} [y/N] ", err=True, nl=False)
    return (await _line_of_stdin()).strip().casefold() in ("y", "yes")


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
