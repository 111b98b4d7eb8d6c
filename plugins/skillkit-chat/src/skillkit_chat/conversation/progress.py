"""Shows a run from its events: the answer as it arrives, thinking, tools with their output, and what else happens."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text
from skillkit_frontend import Pieces

from skillkit_core import (
    AssistantMessage,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from skillkit_core.cli.output import escaped, printable

from .paper import ansi, fold, hanging, markdown, note, one_line, split
from .status import Status, short

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .screen import Screen

__all__ = ["Progress"]

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TICK = 0.1
_TAIL = 5  # lines of a running tool's output
_THOUGHT = 3  # lines of thinking
_KEPT = 4_000  # characters of a running tool's output that are kept for the screen


@dataclass(slots=True)
class _Running:
    """A call that runs."""

    head: str
    began: float
    lines: int = 0
    tail: deque[str] = field(default_factory=lambda: deque([""], maxlen=_TAIL + 1))

    def add(self, output: str) -> None:
        """Keep the last lines of the output."""
        first, *more = printable(output[-_KEPT:].expandtabs(4).replace("\r\n", "\n")).split("\n")
        self.lines += output.count("\n")
        self.tail[-1] += first
        self.tail.extend(more)


class Progress:
    """Listens to an agent and those below it.

    Attributes:
        shown: text of the answer was printed or is on the screen since the run began.
        busy: a run goes on.
        queued: texts that wait for the model to read them, by the id of the queue.
    """

    def __init__(self, agent: AgentRunner, screen: Screen, status: Status) -> None:
        self._agent, self._screen, self._status = agent, screen, status
        self.shown = self.busy = False
        self.queued: dict[str, str] = {}
        self._waited: set[str] = set()
        self._waiting: set[str] = set()
        self._rest = self._thought = ""
        self._notes: list[tuple[str, str]] = []  # to be printed when the block has ended
        self._pieces = Pieces(agent.host.secrets)
        self._first = True  # block of an answer
        self._doing, self._since = "thinking", 0.0
        self._running: dict[str, _Running] = {}
        self._drawn: tuple[str, int, str] = ("", 0, "")
        self._known: dict[str, Callable[[Any], None]] = {
            name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")
        }
        agent.events.observe(self._event)

    def begin(self) -> None:
        """Begin to show a run."""
        self._status.begin_turn()
        self.busy, self.shown = True, False
        self._doing, self._since = "thinking", time.monotonic()

    def wait(self, item: str, text: str) -> None:
        """Show a text that waits until the model reads it."""
        if item in self._waiting or item not in self._waited:
            self.queued[item] = text
        else:
            self._read(text)
        self._screen.refresh()

    def take_back(self) -> dict[str, str]:
        """Return the texts that wait, which nobody reads any more."""
        queued, self.queued = self.queued, {}
        return queued

    def end(self) -> None:
        """Show what is left of a run."""
        self._finish_text()
        self._running.clear()
        self.busy = False
        self._screen.refresh()

    # --- what goes on -----------------------------------------------------------------------------------------

    def live(self, width: int, rows: int) -> str:
        """Return what stands below the last finished part."""
        lines: list[str] = []
        if self._thought:
            thought = printable(self._thought).strip().split("\n")[-_THOUGHT:]
            lines += ansi(*[Text(line[-(width - 4) :], "dim italic") for line in thought], width=width).splitlines()
        if self._rest.strip():
            if self._drawn[:2] != (self._rest, width):
                self._drawn = (self._rest, width, markdown(self._rest, width - 1))
            lines += ["", *self._drawn[2].splitlines()]
        now = time.monotonic()
        frame = FRAMES[int(now / TICK) % len(FRAMES)]
        for call in self._running.values():
            tail = [line.rsplit("\r", 1)[-1] for line in call.tail if line][-_TAIL:]
            parts = [Text.assemble((f"{frame} ", "cyan"), call.head, (f"  {now - call.began:.0f} s", "dim"))]
            if call.lines > len(tail):
                parts.append(Text(f"  │ … {call.lines - len(tail):,} lines above", "dim"))
            parts += [Text("  │ " + line[: width - 5], "dim") for line in tail]
            lines += ["", *ansi(*[_cut(part, width - 1) for part in parts], width=width).splitlines()]
        if self.busy and not self._running and not self._screen.asking:
            seconds = now - self._since
            waited = f" {seconds:.0f} s" if seconds >= 1 else ""
            lines += ["", ansi(Text(f"{frame} {self._doing}{waited}  (Esc interrupts)", "dim"), width=width).rstrip()]
        for text in self.queued.values():
            lines += ansi(Text(f"↳ queued: {one_line(text, width - 12)}", "yellow"), width=width).splitlines()
        left_out = len(lines) - rows
        return "\n".join(lines if left_out <= 0 else lines[left_out:])

    # --- events -----------------------------------------------------------------------------------------------

    def _event(self, event: Any) -> None:
        if (handler := self._known.get(event.type)) is not None:
            handler(event)
            self._screen.refresh()

    def _on_message_update(self, event: MessageUpdateEvent) -> None:
        update = event.event
        if len(event.agent_path) > 1:
            self._doing = f"{event.agent_path[-1]} answers"
        elif update.type == "text_delta" and update.content:
            self._finish_thought()
            self.shown = True
            text = self._pieces.add("text", update.content)
            self._rest += text
            if "\n" in text:
                done, self._rest = split(self._rest)
                self._print_text(done)
        elif update.type == "thinking_delta":
            self._thought += self._pieces.add("thought", update.content)
        elif update.type == "tool_call_start":
            self._doing = f"preparing {update.tool_name}"

    def _on_message_end(self, event: MessageEndEvent) -> None:
        if len(event.agent_path) == 1 and isinstance(event.message, AssistantMessage):
            self._finish_text()

    def _on_tool_execution_start(self, event: ToolExecutionStartEvent) -> None:
        self._finish_text()
        self._running[event.tool_call_id] = _Running(self._head(event), time.monotonic())

    def _on_tool_execution_update(self, event: Any) -> None:
        if (call := self._running.get(event.tool_call_id)) is not None:
            call.add(self._pieces.add((event.tool_call_id, event.stream), event.output))

    def _on_tool_execution_end(self, event: ToolExecutionEndEvent) -> None:
        call = self._running.pop(event.tool_call_id, None)
        for stream in ("stdout", "stderr"):
            self._pieces.rest((event.tool_call_id, stream))  # the whole output follows
        self._doing, self._since = "thinking", time.monotonic()
        good = event.outcome.value == "ok"
        width = self._screen.width
        took = f"  {event.duration:.1f} s" if event.duration >= 0.1 else ""
        head = Text.assemble(
            ("● " if good else "✗ ", "green" if good else "red"),
            call.head if call is not None else self._head(event),
            ("" if good else f"  {event.outcome.value}", "red"),
            (took, "dim"),
        )
        text = "\n".join(block.text for block in event.content if hasattr(block, "text"))
        self._screen.print(Text(), _cut(head, width - 1), *(fold(text, width) if text.strip() else ()))

    def _on_retry_scheduled(self, event: Any) -> None:
        self._finish_text()
        self._screen.print(Text(), note(f"{event.error}; trying again in {event.delay:.1f} s", "yellow"))
        self._doing = "waiting to try again"

    def _on_retry_start(self, event: Any) -> None:
        self._doing, self._since = f"trying again ({event.attempt})", time.monotonic()

    def _on_model_select(self, event: Any) -> None:
        if self.busy and event.model is not None:
            because = f"{event.reason}; " if event.reason else ""
            self.tell(f"{because}now answering: {event.provider}/{event.model.id}", "yellow")

    def _on_compaction_start(self, event: Any) -> None:
        self._doing, self._since = "shortening the conversation", time.monotonic()

    def _on_compaction_end(self, event: Any) -> None:
        if event.outcome == "completed":
            self._status.shortened(event.after_tokens)
        if event.reason == "manual" and event.outcome in ("completed", "no_progress"):
            return  # the command that asked for it says so
        if event.outcome == "completed":
            said = f"shortened from about {short(event.before_tokens)} to {short(event.after_tokens)} tokens"
            self.tell(f"the conversation was {said}", "yellow")
        else:
            self.tell(f"the conversation was not shortened: {event.outcome.replace('_', ' ')}", "yellow")

    def _on_usage(self, event: Any) -> None:
        self._status.used(event)

    def _on_queue_update(self, event: Any) -> None:
        self._waiting = {*event.steering, *event.follow_up, *event.next_run}
        self._waited |= self._waiting
        for name in [name for name in self.queued if name not in self._waiting]:
            self._read(self.queued.pop(name))

    def _on_handler_error(self, event: Any) -> None:
        owner = f"plugin {event.plugin!r}" if event.plugin else event.source
        self.tell(" ".join(f"{owner} failed on {event.event}: {event.error}".split()), "yellow")

    # --- parts ------------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Print what a person said."""
        lines = ("› " + text).replace("\n", "\n  ")
        self._screen.print(Text(), *hanging(lines, self._screen.width, "  ", "bold"))
        self._first = True

    def _read(self, text: str) -> None:
        """Print a text that waited, now that the model reads it."""
        self._finish_text()
        self.say(text)

    def tell(self, text: str, style: str = "dim") -> None:
        """Print a line about what happens; the block of an answer that arrives is not broken for it."""
        self._notes.append((text, style))
        if not self._rest:
            self._print_notes()

    def _print_notes(self) -> None:
        notes, self._notes = self._notes, []
        for text, style in notes:
            self._screen.print(Text(), note(text, style))

    def _print_text(self, text: str) -> None:
        if text.strip():
            self._screen.write("\n" + markdown(text, self._screen.width - 1))

    def _finish_thought(self) -> None:
        thought, self._thought = (self._thought + self._pieces.rest("thought")).strip(), ""
        if thought:
            parts = fold(thought, self._screen.width, 2, 1)
            self._screen.print(Text(), note("thought:", "dim italic"), *parts)

    def _finish_text(self) -> None:
        self._finish_thought()
        rest, self._rest = self._rest + self._pieces.rest("text"), ""
        self._print_text(rest)
        self._print_notes()

    def _head(self, event: ToolExecutionStartEvent | ToolExecutionEndEvent) -> str:
        """Return the name of a tool, and what it is called with, on one line."""
        tool = self._agent.offered(event.tool_name)
        about = tool.annotations if tool is not None else {}
        name, args = self._agent.host.redact(event.tool_name), self._agent.host.redact(event.args)
        command = args.get(str(about["command"])) if "command" in about else None
        paths = [args[name] for name in about.get("paths", ()) if isinstance(args.get(name), str)]
        values = list(args.values())
        if isinstance(command, str):
            shown = command
        elif paths and "preview" in about:
            shown = " ".join(paths)  # what it changes was shown, or is too long for a line
        elif len(values) == 1 and isinstance(values[0], str):
            shown = values[0]
        else:
            shown = ", ".join(f"{key}={one_line(repr(value), 60)}" for key, value in args.items())
        who = f"{event.agent_path[-1]} › " if len(event.agent_path) > 1 else ""
        return f"{who}{escaped(name)} {one_line(shown, 200)}".rstrip()


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text
