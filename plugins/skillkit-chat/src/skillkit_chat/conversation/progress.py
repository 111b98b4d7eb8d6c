"""Shows blocks: what has ended is printed above, once; what goes on stands below it, as it is now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text
from skillkit_frontend import Block, Log, Recorder, one_line

from skillkit_core.cli.output import escaped, printable

from ..approval import call_lines, ends, hidden_line
from .paper import ansi, command, diff, fold, hanging, markdown, note, split

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .screen import Screen

__all__ = ["TICK", "Progress"]

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TICK = 0.1
_TAIL = 5  # lines of a running tool's output
_THOUGHT = 3  # lines of thinking
_WHOLE = 100  # lines at the beginning, and at the end, of the output of a person's own command
_KEPT = 4_000  # characters of a running tool's output that are looked at
_PREVIEW = 40  # lines of a preview; of a longer one head and tail are shown
_RECALLED = 6  # messages of a session that goes on


class Progress:
    """Shows what a recorder records.

    Args:
        screen: the terminal.

    Attributes:
        record: the recorder; set once it is made.
    """

    record: Recorder

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._doing, self._since = "", 0.0
        self._answer: tuple[Block | None, int] = (None, 0)  # that arrives, and how much of it is printed
        self._thought: Block | None = None
        self._running: dict[int, tuple[Block, str, float]] = {}  # calls by identity: whose, and since when
        self._notes: list[Block] = []  # to be printed when the block of the answer has ended
        self._drawn: tuple[str, int, str] = ("", 0, "")

    def changed(self, log: Log, block: Block | None) -> None:
        """Show a block that came, grew or ended."""
        main = log is self.record.main
        if main and log.doing != self._doing:
            self._doing, self._since = log.doing, time.monotonic()
        if block is not None and (main or block.kind in ("tool", "note")):
            getattr(self, f"_show_{block.kind}")(block, "" if main else f"{log.path[-1]} › ")
        self._screen.refresh()

    def recall(self, session_id: str) -> None:
        """Print the last messages of a session that goes on, and the calls between them; of long ones head and tail."""
        blocks, width = self.record.main.blocks, self._screen.width
        said = [block for block in blocks if block.kind in ("user", "text")]
        last = said[-_RECALLED:]
        first = blocks.index(last[0]) if len(last) < len(said) else 0
        if blocks:
            more = f"; the last {len(last)} of {len(said)} messages" if len(last) < len(said) else ""
            self._screen.print(Text(), note(f"session {session_id}{more}"))
        for block in blocks[first:]:
            if block.kind == "tool":
                self._screen.print(_cut(Text.assemble(_mark(block), block.summary(width)), width - 1))
            if block.kind not in ("user", "text"):
                continue
            asked = block.kind == "user"
            shown = [Text(f"› {one_line(block.text, width - 3)}", "bold")] if asked else fold(block.text, width, 2, 1)
            self._screen.print(*shown)

    # --- what goes on -----------------------------------------------------------------------------------------

    def live(self, width: int, rows: int) -> str:
        """Return what stands below the last finished part."""
        lines: list[str] = []
        if self._thought is not None:
            thought = printable(self._thought.text).strip().split("\n")[-_THOUGHT:]
            lines += ansi(*[Text(line[-(width - 4) :], "dim italic") for line in thought], width=width).splitlines()
        block, printed = self._answer
        if block is not None and (rest := block.text[printed:]).strip():
            if self._drawn[:2] != (rest, width):
                self._drawn = (rest, width, markdown(rest, width - 1))
            lines += ["", *self._drawn[2].splitlines()]
        now = time.monotonic()
        frame = FRAMES[int(now / TICK) % len(FRAMES)]
        for call, who, began in self._running.values():
            parts = [Text.assemble((f"{frame} ", "cyan"), who, call.head, (f"  {now - began:.0f} s", "dim"))]
            parts += [Text(line, "dim") for line in _tail(call, width)]
            lines += ["", *ansi(*[_cut(part, width - 1) for part in parts], width=width).splitlines()]
        if self._doing and not self._running and not self._screen.asking:
            seconds = now - self._since
            waited = f" {seconds:.0f} s" if seconds >= 1 else ""
            lines += ["", ansi(Text(f"{frame} {self._doing}{waited}  (Esc interrupts)", "dim"), width=width).rstrip()]
        for text in self.record.queued.values():
            lines += ansi(Text(f"↳ queued: {one_line(text, width - 12)}", "yellow"), width=width).splitlines()
        left_out = len(lines) - rows
        return "\n".join(lines if left_out <= 0 else lines[left_out:])

    # --- blocks -----------------------------------------------------------------------------------------------

    def _show_user(self, block: Block, who: str) -> None:
        if not block.open:  # a long paste
            self._screen.print(Text(), Text(f"› {block.summary(self._screen.width - 3)}", "bold"))
            return
        lines = ("› " + block.text).replace("\n", "\n  ")
        self._screen.print(Text(), *hanging(lines, self._screen.width, "  ", "bold"))

    def _show_text(self, block: Block, who: str) -> None:
        """Print the Markdown blocks of an answer that no further text changes."""
        printed = self._answer[1] if self._answer[0] is block else 0
        rest = block.text[printed:]
        done = rest if block.done else split(rest)[0] if "\n" in rest else ""
        if done.strip():
            self._screen.write("\n" + markdown(done, self._screen.width - 1))
        self._answer = (None, 0) if block.done else (block, printed + len(done))
        if block.done or printed + len(done) == len(block.text):
            self._print_notes()

    def _show_thinking(self, block: Block, who: str) -> None:
        self._thought = None if block.done else block
        if block.done and (thought := block.text.strip()):
            self._screen.print(Text(), note("thought:", "dim italic"), *fold(thought, self._screen.width, 2, 1))

    def _show_tool(self, block: Block, who: str) -> None:
        if not block.done:
            self._running.setdefault(id(block), (block, who, time.monotonic()))
            return
        self._running.pop(id(block), None)
        result = (f"  {block.result}" if block.result else "", "dim" if block.good else "red")
        head = _cut(Text.assemble(_mark(block), who, block.head, result), self._screen.width - 1)
        head_tail = (_WHOLE, _WHOLE) if block.open else (2, 3)  # open: a person's own command
        shown = fold(block.text, self._screen.width, *head_tail) if block.text.strip() else ()
        self._screen.print(Text(), head, *shown)

    def _show_asked(self, block: Block, who: str) -> None:
        """Print what is asked about, then the answer: of a call what would run, of a survey each answer."""
        call = block.diff or block.args is not None
        if call and not block.done:
            self._screen.print(Text(), *self._call(block))
        elif call:
            self._screen.print(note(f"  {block.result}", "green" if block.good else "yellow"))
        elif not block.done:
            self._screen.print(note(f"  {block.text.splitlines()[-1]}", ""))

    def _call(self, block: Block) -> Iterator[RenderableType]:
        """Yield what would run, and note whether something of it is hidden."""
        width, args = self._screen.width, block.args or {}
        rows = diff(block.diff, width) if block.diff else command(args, block.command, width)
        if rows is None:
            lines, block.cut = call_lines(block.head, args, whole=block.whole)
            yield from (Text.from_ansi(line) for line in lines)
            return
        head, left_out, tail = ends(rows, len(rows) if block.whole else _PREVIEW)
        block.cut = bool(left_out)
        yield Text(escaped(block.head), "bold")
        yield from head
        if left_out:
            yield Text.from_ansi(hidden_line(f"{left_out:,} lines"))
            yield from tail

    def _show_error(self, block: Block, who: str) -> None:
        self._screen.print(Text.assemble(("Error: ", "bold red"), note(block.text, "")))

    def _show_note(self, block: Block, who: str) -> None:
        """Print a note; the block of an answer that arrives is not broken for it."""
        if not block.about:  # what a command says
            self._screen.print(*hanging(block.text, self._screen.width))
            return
        self._notes.append(block)
        answer, printed = self._answer
        if answer is None or printed == len(answer.text):
            self._print_notes()

    def _print_notes(self) -> None:
        notes, self._notes = self._notes, []
        for block in notes:
            plain = block.about in ("notice", "message")
            self._screen.print(Text(), note(block.text, "" if plain else "yellow"))


def _mark(call: Block) -> tuple[str, str]:
    """Return the sign of a call that ended, and its colour."""
    return ("● ", "green") if call.good else ("✗ ", "red")


def _tail(call: Block, width: int) -> Iterator[str]:
    """Yield the last lines of a running tool's output, and above them how many there are."""
    text = printable(call.text[-_KEPT:].replace("\r\n", "\n").expandtabs(4))
    tail = [line.rsplit("\r", 1)[-1] for line in text.split("\n") if line][-_TAIL:]
    above = call.text.count("\n") - len(tail)
    if above > 0:
        yield f"  │ … {above:,} lines above"
    yield from (f"  │ {line[: width - 5]}" for line in tail)


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text
