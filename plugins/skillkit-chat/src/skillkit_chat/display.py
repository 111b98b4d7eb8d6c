"""What a person sees while a run goes on: the answer as it arrives, tool output, and a sign of life after a second."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Any

from skillkit_frontend import Pieces, arguments_line

from skillkit_core import AgentRunner, MessageUpdateEvent, ToolExecutionEndEvent, ToolExecutionStartEvent
from skillkit_core.cli.output import echo, printable, shorten, stdout, style, terminal_width

__all__ = ["Display"]

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PATIENCE = 1.0  # seconds before anything moves
TICK = 0.1


class _OwnLines:
    """Stderr at the terminal to which an answer arrives: what is said there begins on a line of its own, whoever says it.

    Args:
        stream: stderr.
        before: ends the line of the answer.
    """

    def __init__(self, stream: Any, before: Callable[[], None]) -> None:
        self.stream, self._before, self._open = stream, before, False

    def write(self, text: str) -> int:
        """Write a text below the line of the answer."""
        if text:
            self._before()
            self._open = not text.endswith(("\n", "\r\x1b[2K"))
        written: int = self.stream.write(text)
        return written

    def end_line(self) -> None:
        """End a line that was begun."""
        if self._open:
            self.write("\n")
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Display:
    """Shows a run on a terminal.

    The answer goes to stdout and nothing else does; tools, progress and ``-v`` lines go to stderr. When stdout is no
    terminal the answer is printed once, at the end, by the caller.
    """

    def __init__(self, agent: AgentRunner, *, verbose: bool, quiet: bool = False) -> None:
        self.agent = agent
        self.verbose = verbose
        self.live = stdout().isatty() and not quiet
        self.progress = sys.stderr.isatty() and not quiet
        self.printed = ""
        self._pieces = Pieces(agent.host.secrets)
        self._doing = "thinking"
        self._ticker: asyncio.Task[None] | None = None
        self._drawn = False
        self._tool_line_open = False
        self._aside: _OwnLines | None = None
        on = agent.events.on
        on("tool_execution_start", self._tool_started)
        on("tool_execution_end", self._tool_ended)
        if self.live:
            on("message_update", self._update)
        if self.progress or verbose:
            on("tool_execution_update", self._tool_output)
        if verbose:
            on("agent_start", self._began)
            on("usage", self._usage)
        on("retry_scheduled", self._retry)
        on("model_select", self._model_select)
        on("handler_error", self._handler_error)

    # --- the sign of life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to show that something happens, once it takes longer than a second."""
        if self.live:
            self._aside = _OwnLines(sys.stderr, self._break)
            sys.stderr = self._aside
        if self.progress:
            self._ticker = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Take the sign of life away."""
        if self._ticker is not None:
            self._ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticker
            self._ticker = None
        self._clear()
        if self._aside is not None:
            self._aside.end_line()
            sys.stderr, self._aside = self._aside.stream, None

    async def _tick(self) -> None:
        from skillkit_frontend import is_asked

        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(PATIENCE)
        n = 0
        while True:
            if not self.printed and not self._tool_line_open and not is_asked():
                text = f"{FRAMES[n % len(FRAMES)]} {self._doing} {loop.time() - began:.0f} s"
                sys.stderr.write("\r\x1b[2K" + style(text, dim=True, stream=sys.stderr))
                sys.stderr.flush()
                self._drawn = True
            n += 1
            await asyncio.sleep(TICK)

    def _clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._drawn = False

    def _say(self, text: str) -> None:
        self._clear()
        self._end_line()
        if self._tool_line_open:
            echo("", err=True)
            self._tool_line_open = False
        echo(style(printable(self.agent.host.redact(text)), dim=True, stream=sys.stderr), err=True)

    # --- events -----------------------------------------------------------------------------------------------

    def _update(self, event: MessageUpdateEvent) -> None:
        delta = event.event.type == "text_delta"
        self._show(self._pieces.add("answer", event.event.content) if delta else self._pieces.rest("answer"))

    def _show(self, text: str) -> None:
        """Show more of the answer."""
        if text:
            self._clear()
            if self._aside is not None:
                self._aside.end_line()
                self._tool_line_open = False
            self.printed += text
            echo(printable(text), nl=False)
            stdout().flush()

    def _break(self) -> None:
        """End the line of the answer where it is, because something else is said: the answer goes on below that."""
        if self.printed and not self.printed.endswith("\n"):
            self.printed += "\n"
            echo()
            stdout().flush()

    def _end_line(self) -> None:
        self._show(self._pieces.rest("answer"))
        self._break()

    def end_of_text(self) -> None:
        """End the answer's last line on the terminal."""
        self._end_line()

    def _began(self, event: Any) -> None:
        if event.model is not None:  # code may drive the run
            self._say(f"{event.provider}/{event.model.id}, tools: {', '.join(event.tools) or 'none'}")

    def _tool_started(self, event: ToolExecutionStartEvent) -> None:
        self._doing = f"running {event.tool_name}"
        if self.printed:
            self._end_line()
        if self.verbose:
            args = arguments_line(self.agent.host.redact(event.args))
            self._say(shorten(f"→ {event.tool_name}({args})", (terminal_width() or 200)))

    def _tool_output(self, event: Any) -> None:
        self._show_output(self._pieces.add((event.tool_call_id, event.stream), event.output))

    def _show_output(self, text: str) -> None:
        """Show more of what a tool puts out."""
        if text:
            self._clear()
            echo(style(printable(text), dim=True, stream=sys.stderr), err=True, nl=False)
            self._tool_line_open = not text.endswith("\n")

    def _tool_ended(self, event: ToolExecutionEndEvent) -> None:
        self._doing = "thinking"
        for stream in ("stdout", "stderr"):
            self._show_output(self._pieces.rest((event.tool_call_id, stream)))
        if self.verbose or event.outcome.value in ("blocked", "denied"):
            text = "".join(b.text for b in event.content if hasattr(b, "text"))
            self._say(
                shorten(
                    f"← {event.tool_name}: {event.outcome.value}, {event.duration:.2f} s: {text}",
                    terminal_width() or 200,
                )
            )

    def _usage(self, event: Any) -> None:
        cost = "" if event.cost is None else f", ${event.cost:.4f}"
        used = event.usage
        cached = f" ({used.cache_read:,} from a cache)" if used.cache_read else ""
        read = used.input + used.cache_read + used.cache_write
        self._say(f"{used.total:,} tokens: {read:,} in{cached}, {used.output + used.reasoning:,} out{cost}")

    def _retry(self, event: Any) -> None:
        self._say(f"{event.error}; trying again in {event.delay:.1f} s")

    def _model_select(self, event: Any) -> None:
        if event.reason and event.model is not None:
            self._say(f"{event.reason}; now answering: {event.provider}/{event.model.id}")

    def _handler_error(self, event: Any) -> None:
        owner = f"plugin {event.plugin!r}" if event.plugin else event.source
        self._say(" ".join(f"{owner} failed on {event.event}: {event.error}".split()))
