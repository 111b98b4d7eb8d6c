"""A person's own shell line on the page, ``!git status``: as in a terminal, guards see it first, and the model reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_frontend import Block, command_in, run_line

from skillkit_core import AbortSignal, UsageError

if TYPE_CHECKING:
    from skillkit_live import Live

__all__ = ["ShellLine"]


class ShellLine:
    """The shell line of a session that goes on now."""

    def __init__(self) -> None:
        self._signal: AbortSignal | None = None

    def stop(self) -> bool:
        """End the line that goes on; return whether there is one."""
        if self._signal is None:
            return False
        self._signal.abort("stopped at the page")
        return True

    async def run(self, live: Live, line: str) -> dict[str, Any]:
        """Run a line in the folder of a session, and tell every tab what came of it.

        Raises:
            UsageError: it is no shell line, a guard denies it, or something goes on whose model could not read it next.
        """
        command = command_in(line)
        if command is None:
            raise UsageError("a shell line begins with ! and a command")
        if live.agent.running or self._signal is not None:
            raise UsageError("a shell line has to wait for the end of what goes on", hint="stop it")
        if live.state == "suspended":
            raise UsageError("a shell line has to wait for the calls that wait for a decision", hint="decide them")
        self._signal = AbortSignal()
        shown: list[Block] = []

        def put(block: Block) -> Block:
            shown[:] = [block]
            return block

        try:
            await run_line(live.agent, put, command, self._signal)
        finally:
            self._signal = None
        (block,) = shown
        await live.questions.notify(f"{block.head}\n{block.text}")
        return {"ok": not block.result}
