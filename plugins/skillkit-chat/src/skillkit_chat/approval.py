"""Asking the person at the terminal whether a call may run."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver
from skillkit_core.cli.output import echo, printable, style

__all__ = ["TerminalApprover"]

LONGEST = 2_000


class TerminalApprover(Approver):
    """Shows the call with the arguments that would run and waits for a line: y, n, or a for "always in this session".

    Reading is the loop's, so an abort ends the waiting. Everything but a clear yes is a no.
    """

    @staticmethod
    def possible() -> bool:
        """Whether somebody can be asked: stdin and stderr are a terminal."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call."""
        args = json.dumps(request.args, ensure_ascii=False)
        shown = args if len(args) <= LONGEST else f"{args[:LONGEST]}... ({len(args)} characters)"
        echo(err=True)
        echo(f"{style(request.tool_name, bold=True, stream=sys.stderr)} {printable(shown)}", err=True)
        for question in request.questions:
            owner = f" ({question.plugin})" if question.plugin else ""
            echo(f"  {printable(question.text)}{owner}", err=True)
        sticky = all(question.key is not None for question in request.questions)
        echo(f"Run it? [y/N{'/a' if sticky else ''}] ", err=True, nl=False)
        answer = (await _line_of_stdin()).strip().casefold()
        if answer in ("y", "yes"):
            return ApprovalDecision("allow", "a person agreed")
        if sticky and answer in ("a", "always"):
            return ApprovalDecision("allow", "a person agreed", remember=True)
        return ApprovalDecision("deny", "a person said no")


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
