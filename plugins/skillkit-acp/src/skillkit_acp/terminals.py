"""Commands of calls in terminals of the editor, where it offers them and no sandbox holds the command.

Two parts meet in a variable of the context: an executor that knows which call runs, and a runtime that runs its command.
"""

from __future__ import annotations

import asyncio
import signal as signals
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import RequestError, schema as s
from skillkit_bash import BashRuntime, clean_environment

from skillkit_core import (
    IN_PROCESS,
    AbortSignal,
    ExecutionResult,
    Factory,
    Host,
    OnOutput,
    SkillRuntime,
    Tool,
    ToolContext,
    ToolExecutor,
    ToolOutput,
)

from .calls import name_of

if TYPE_CHECKING:
    from acp.interfaces import Client

    from .session import EditorSession

__all__ = ["TerminalExecutor", "offer_terminals"]

_NAME = "editor"
_call: ContextVar[tuple[TerminalExecutor, str] | None] = ContextVar("skillkit_acp_call", default=None)


async def offer_terminals(host: Host) -> bool:
    """Let commands of a host's calls run in terminals; return false where the host says itself where they run."""
    if await host.find_executor() is not None:
        return False
    if host.config.get("runtime") == _NAME:
        return True
    if host.config.get("runtime") not in (None, "bash") or "bash" not in host.runtimes.list():
        return False
    host.runtimes.register(_NAME, Factory(_NAME, TerminalRuntime))
    host.configure({"runtime": _NAME})
    return True


class TerminalExecutor(ToolExecutor):
    """Runs tools in this process, and says whose call it is to the runtime that runs the command of one.

    Attributes:
        session: the editor's session, once it is there.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session: EditorSession | None = None

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """Run a tool."""
        if "command" not in tool.annotations:
            return await IN_PROCESS.execute(tool, args, ctx)
        token = _call.set((self, name_of(ctx.agent_path, ctx.tool_call_id or "")))
        try:
            return await IN_PROCESS.execute(tool, args, ctx)
        finally:
            _call.reset(token)


class TerminalRuntime(SkillRuntime):
    """Runs the command of a call in a terminal of the editor, and everything else as the runtime ``bash``.

    The command sees the variables that it would see without the editor, not those of the editor, and no input.
    """

    def __init__(self, host: Host) -> None:
        self._host, self._bash = host, BashRuntime(host)

    def inside(self, box: Any) -> SkillRuntime:
        """Return the runtime that holds commands in a sandbox, which no terminal of an editor does."""
        inside: SkillRuntime = self._host.runtimes.get("sandbox").inside(box)  # type: ignore[attr-defined]
        return inside

    async def execute(
        self,
        command: str | Sequence[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        *,
        on_error_output: OnOutput | None = None,
        signal: AbortSignal | None = None,
        stdin: bytes | None = None,
        max_output: int = 256 * 1024,
    ) -> ExecutionResult:
        """Run ``command``; see :meth:`skillkit_core.SkillRuntime.execute`. A command with secrets runs in no terminal."""
        call = _call.get()
        session = call[0].session if call is not None else None
        if call is None or session is None or not isinstance(command, str) or env is not None or stdin is not None:
            return await self._bash.execute(
                command, cwd, env, timeout, on_output,
                on_error_output=on_error_output, signal=signal, stdin=stdin, max_output=max_output,
            )  # fmt: skip
        config = self._host.config.section("bash", None)
        clean = clean_environment(config.env_allow, path=config.path) if config is not None else clean_environment()
        words = [
            "-i",
            *(f"{name}={value}" for name, value in clean.items()),
            "bash",
            "-c",
            f"exec </dev/null\n{command}",
        ]
        client, began = call[0].client, time.monotonic()
        made = await client.create_terminal(
            session_id=session.id,
            command="env",
            args=words,
            cwd=str(cwd or self._host.cwd),
            output_byte_limit=max_output,
        )
        terminal = {"session_id": session.id, "terminal_id": made.terminal_id}
        try:
            await session.show_terminal(call[1], made.terminal_id)
            how, code = await _waited(client, terminal, timeout, signal)
            said = await client.terminal_output(**terminal)
        finally:
            with suppress(RequestError, ConnectionError):
                await asyncio.shield(client.release_terminal(**terminal))
        output = said.output.replace("\r\n", "\n")
        return ExecutionResult(
            stdout=output,
            exit_code=code,
            timed_out=how == "timeout",
            aborted=how == "aborted",
            truncated=said.truncated,
            stdout_bytes=len(output.encode()),
            duration=time.monotonic() - began,
        )


async def _waited(
    client: Client, terminal: Mapping[str, str], timeout: float | None, signal: AbortSignal | None
) -> tuple[str, int | None]:
    """Wait for the end of a command, and end it where it takes too long or nobody wants it any more."""
    over = asyncio.ensure_future(client.wait_for_terminal_exit(**terminal))
    stop = asyncio.ensure_future(signal.wait()) if signal is not None else None
    try:
        waits = {over, *([stop] if stop is not None else [])}
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            return "exited", _code(over.result())
        await client.kill_terminal(**terminal)
        return ("aborted" if stop is not None and stop.done() else "timeout"), None
    finally:
        for task in (over, stop):
            if task is not None:
                task.cancel()


def _code(ended: s.WaitForTerminalExitResponse) -> int | None:
    """Return the status of a command, negative where a signal ended it."""
    if ended.exit_code is not None or ended.signal is None:
        return ended.exit_code
    number = getattr(signals, ended.signal if ended.signal.startswith("SIG") else f"SIG{ended.signal}", None)
    return -int(number) if number is not None else None
