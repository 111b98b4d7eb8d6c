"""The transcript: thousands of blocks of which only those in view are ever formatted.

Heights of blocks that nobody has seen are estimates. The row at the top of the view is held by its block (the anchor), so that
a height that turns out otherwise moves nothing that a person looks at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from rich.segment import Segment
from rich.style import Style
from skillkit_frontend import Block
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from .paint import INDENT, Growing, estimate, rows

__all__ = ["Transcript"]

_KEPT = 400
"""Formatted blocks that are kept."""
_WHEEL = 3
_FOCUS = Style(color="cyan", bold=True)


class Transcript(ScrollView, can_focus=True):
    """Shows blocks, the newest at the bottom, and follows them while the bottom is in view.

    Args:
        pressed: called with a key that is pressed while the transcript has the focus, and its character.

    Attributes:
        chosen: the block that has the focus, by its place; ``None``: none has.
        repaints: how often the blocks were drawn anew.
    """

    DEFAULT_CSS = """
    Transcript { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; height: 1fr; width: 1fr; }
    """

    def __init__(self, pressed: Callable[[str, str], None], **options: Any) -> None:
        super().__init__(**options)
        self._pressed = pressed
        self._blocks: Sequence[Block] = ()
        self._heights: list[int] = []
        self._keys: list[object] = []  # of each block: what its height was measured for; None: it is an estimate
        self._ends: list[int] = []
        self._rows: OrderedDict[int, tuple[object, list[Strip]]] = OrderedDict()
        self._growing: dict[int, Growing] = {}
        self._width = 0
        self._view = Size()  # for which the scroll position holds
        self._anchor = (0, 0)
        self._follow = True
        self._moving = False
        self._dirty = True
        self.chosen: int | None = None
        self.repaints = 0

    # --- what is shown ----------------------------------------------------------------------------------------

    def show(self, blocks: Sequence[Block]) -> None:
        """Show other blocks, from their end. The sequence may grow; then say :meth:`changed`."""
        self._blocks = blocks
        self._heights, self._keys, self._ends = [], [], []
        self._rows.clear()
        self._growing.clear()
        self.chosen, self._follow, self._anchor = None, True, (0, 0)
        self.changed()

    def changed(self) -> None:
        """Note that blocks came or changed; the next :meth:`flush` draws them."""
        self._dirty = True

    def flush(self) -> None:
        """Draw what changed since the last time. Call it as often as the screen is to be drawn at most."""
        if self._dirty and self.size.height:
            self._dirty = False
            self.repaints += 1
            self._settle()
            self.refresh()

    @property
    def at_end(self) -> bool:
        """Whether the newest row is in view."""
        return self._follow

    # --- heights ----------------------------------------------------------------------------------------------

    def _key(self, place: int) -> object:
        block = self._blocks[place]
        return (id(block), block.version, self._width)

    def _measured(self, place: int) -> list[Strip]:
        """Return the rows of a block, and correct its height."""
        key = self._key(place)
        kept = self._rows.get(place)
        if kept is None or kept[0] != key:
            base = self.rich_style
            made = [
                strip.apply_style(base).adjust_cell_length(max(0, self._width - INDENT), base)
                for strip in rows(self._blocks[place], self._width, self._growing)
            ]
            kept = self._rows[place] = (key, made)
            while len(self._rows) > _KEPT:
                self._rows.popitem(last=False)
        self._rows.move_to_end(place)
        self._set(place, len(kept[1]), key)
        return kept[1]

    def _set(self, place: int, height: int, key: object) -> None:
        self._keys[place] = key
        if self._heights[place] != height:
            self._heights[place] = height
            del self._ends[place:]

    def _height(self, place: int) -> int:
        return len(self._measured(place)) if self._keys[place] != self._key(place) else self._heights[place]

    def _sum(self) -> int:
        """Return the rows of all blocks, as far as they are known."""
        if len(self._ends) < len(self._heights):
            known = len(self._ends)
            start = self._ends[-1] if known else 0
            sums = accumulate(self._heights[known:], initial=start)
            next(sums)
            self._ends.extend(sums)
        return self._ends[-1] if self._ends else 0

    def _top(self, place: int) -> int:
        self._sum()
        return self._ends[place - 1] if place else 0

    def _catch_up(self) -> None:
        """Take in the blocks that came, those that went, and another width."""
        width = self.scrollable_content_region.width or self.size.width
        if width != self._width or len(self._heights) > len(self._blocks):
            self._width = width
            self._heights, self._keys, self._ends = [], [], []
            self._rows.clear()
        for place in range(len(self._heights), len(self._blocks)):
            self._heights.append(estimate(self._blocks[place], width))
            self._keys.append(None)

    def _settle(self) -> None:
        """Measure what is in view, and bring the scroll position in line with it."""
        self._catch_up()
        self._view = self.scrollable_content_region.size
        view, count = self.scrollable_content_region.height, len(self._blocks)
        if not count or not view:
            self._place(0)
            return
        if not self._follow:
            place, inner = min(self._anchor[0], count - 1), self._anchor[1]
            inner = min(inner, self._height(place) - 1)
            below, last = self._height(place) - inner, place
            while below < view and last + 1 < count:
                last += 1
                below += self._height(last)
            self._anchor = (place, inner)
            if below < view:
                self._follow = True  # the end came into view
        if self._follow:
            place, seen = count, 0
            while place and seen < view:
                place -= 1
                seen += self._height(place)
            self._anchor = (place, max(0, seen - view))
        self._place(self._top(self._anchor[0]) + self._anchor[1])

    def _place(self, top: int) -> None:
        """Scroll to a row."""
        self._moving = True
        try:
            size = Size(self._width, self._sum())
            if size != self.virtual_size:
                self.virtual_size = size
            self.set_reactive(ScrollView.scroll_target_y, float(top))
            self.scroll_y = top
        finally:
            self._moving = False

    # --- moving -----------------------------------------------------------------------------------------------

    def move(self, delta: int) -> None:
        """Move the view by so many rows."""
        self._settle()
        if not self._blocks:
            return
        place, inner = self._anchor
        inner += delta
        while inner < 0 and place:
            place -= 1
            inner += self._height(place)
        while inner >= self._height(place) and place + 1 < len(self._blocks):
            inner -= self._height(place)
            place += 1
        self._anchor = (place, max(0, min(inner, self._height(place) - 1)))
        self._follow = False
        self.repaints += 1
        self._settle()
        self.refresh()

    def move_to(self, place: int) -> None:
        """Move the view so that the block at ``place`` is at the top."""
        self._anchor, self._follow = (max(0, place), 0), False
        self._settle()
        self.refresh()

    def end(self) -> None:
        """Move the view to the end, and follow it."""
        self._follow = True
        self._settle()
        self.refresh()

    def choose(self, step: int) -> None:
        """Move the focus to the next (1) or previous (-1) block; the first step takes the last block in view."""
        if not self._blocks:
            return
        if self.chosen is None:
            row = self._bottom_in_view()
            self.chosen = row if step < 0 else min(row + 1, len(self._blocks) - 1)
        else:
            self.chosen = max(0, min(self.chosen + step, len(self._blocks) - 1))
        self._show_chosen()

    def unchoose(self) -> None:
        """Take the focus from the block that has it."""
        self.chosen = None
        self.refresh()

    def toggle(self, place: int | None = None) -> None:
        """Open or close a block, by default the one that has the focus."""
        place = self.chosen if place is None else place
        if place is not None and place < len(self._blocks):
            self._settle()
            block = self._blocks[place]
            block.open = not block.open
            self._follow = False
            self._show(place)

    def _bottom_in_view(self) -> int:
        self._settle()
        bottom = self.scroll_offset.y + self.scrollable_content_region.height - 1
        return min(bisect_right(self._ends, bottom), len(self._blocks) - 1)

    def _show_chosen(self) -> None:
        if self.chosen is not None:
            self._settle()
            self._show(self.chosen)

    def _show(self, place: int) -> None:
        """Bring a block into view, its beginning where it is higher than the view."""
        view = self.scrollable_content_region.height
        if place < self._anchor[0] or (place == self._anchor[0] and self._anchor[1]):
            self._anchor, self._follow = (place, 0), False
        else:
            place_, need = place, self._height(place)
            while place_ > self._anchor[0] and need < view:
                place_ -= 1
                need += self._height(place_)
            if place_ > self._anchor[0] or need - self._anchor[1] > view:
                anchor = (place_, max(0, need - view)) if self._height(place) <= view else (place, 0)
                self._anchor, self._follow = anchor, False
        self._settle()
        self.refresh()

    # --- Textual ----------------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take over where the scrollbar was moved to; a new size of the view moves nothing."""
        if not self._moving and self.scrollable_content_region.size != self._view:
            self.changed()
        elif not self._moving and round(old_value) != round(new_value) and self._blocks:
            self._sum()
            row = round(new_value)
            place = min(bisect_right(self._ends, row), len(self._blocks) - 1)
            self._anchor, self._follow = (place, max(0, row - self._top(place))), False
            self._settle()
        super().watch_scroll_y(old_value, new_value)

    def on_resize(self, event: events.Resize) -> None:
        """Format for the new width."""
        self.changed()
        self.flush()

    def notify_style_update(self) -> None:
        """Forget the colours of another theme."""
        super().notify_style_update()
        self._rows.clear()
        self._keys = [None] * len(self._keys)
        self.changed()

    def render_line(self, y: int) -> Strip:
        """Return a row of the view."""
        row = self.scroll_offset.y + y
        base = self.rich_style
        if not self._blocks or len(self._ends) < len(self._heights) or row >= (self._ends[-1] if self._ends else 0):
            return Strip.blank(self.size.width, base)
        place = bisect_right(self._ends, row)
        strips = self._measured(place)
        inner = row - self._top(place)
        if inner >= len(strips):
            return Strip.blank(self.size.width, base)
        blank_behind = self._blocks[place].open and inner == len(strips) - 1
        chosen = place == self.chosen and not blank_behind
        mark = Segment("▌ " if chosen else "  ", base + _FOCUS if chosen else base)
        strip = strips[inner]
        return Strip([mark, *strip], INDENT + strip.cell_length)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.move(_WHEEL)
        event.stop()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.move(-_WHEEL)
        event.stop()

    def on_click(self, event: events.Click) -> None:
        """Choose the block, and open or close it where its first row is clicked."""
        row = self.scroll_offset.y + event.y
        if self._blocks and row < self._sum():
            place = bisect_right(self._ends, row)
            self.chosen = place
            if row == self._top(place):
                self.toggle(place)
            else:
                self._show_chosen()

    async def _on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._pressed(event.key, event.character or "")
