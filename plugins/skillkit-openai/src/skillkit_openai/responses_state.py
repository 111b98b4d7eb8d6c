"""What the conversion of a Responses stream remembers between two events, and which item an event is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from skillkit_core.errors import ProviderError
from skillkit_core.messages import Block

from .responses_blocks import text_field
from .versions import Versions

__all__ = ["Item", "ResponsesState", "index_of", "moved", "place"]


class Item(NamedTuple):
    """An output item: its ``kind``, and content part to (block index, the block once it has ended).

    ``first`` is the block index that is kept for a message's first part, so that blocks stay in the order of their items;
    ``id`` and ``phase`` (``commentary`` or ``final_answer`` of a message) are the wire's. ``streamed``: deltas have said it;
    ``said``: what ``*.done`` events have said where there were none. ``waiting``: a call that has not begun, as far as it
    is known.
    """

    kind: str
    parts: Mapping[int, tuple[int, Block | None]]
    name: str = ""
    call_id: str = ""
    done: bool = False
    first: int = -1
    id: str = ""
    phase: str = ""
    streamed: bool = False
    said: frozenset[tuple[str, int]] = frozenset()
    waiting: Mapping[str, Any] | None = None


class ResponsesState(NamedTuple):
    """The accumulator of :data:`~skillkit_openai.responses_stream.responses_table`; ``ResponsesState()`` starts a stream.

    ``items`` is keyed by the wire's ``output_index``, ``next`` is the index of the next block, ``error`` what an error event
    said.
    """

    items: Versions[int, Item] = Versions()
    next: int = 0
    response_id: str | None = None
    error: ProviderError | None = None
    over: bool = False


def index_of(event: Mapping[str, Any], acc: ResponsesState) -> int:
    """The index of the item that an event is about; the newest one's where it does not say."""
    at = event.get("output_index")
    return at if isinstance(at, int) else max(0, len(acc.items) - 1)


def moved(at: int, acc: ResponsesState) -> ResponsesState:
    """With the item that has the index ``at`` at an index that nobody has."""
    others = {k: v for k, v in acc.items.items() if k != at}
    return acc._replace(items=Versions({**others, max(acc.items) + 1: acc.items[at]}))


def place(number: int, item: Mapping[str, Any], acc: ResponsesState, taken: set[int], ids: Mapping[Any, int]) -> int:
    """The index of an item of the terminal event: the one with its id, or of its kind at its place or anywhere.

    Some servers leave items out of the terminal event, sort them, or give them other ids there. ``ids``: which item has an id.
    """
    id, kind = item.get("id"), text_field(item, "type") or "unknown"

    def fits(at: int) -> bool:
        return at in acc.items and at not in taken and acc.items[at].kind == kind

    if fits(number) and (not id or id not in ids or acc.items[number].id == id):
        return number
    if id in ids and fits(ids[id]):
        return ids[id]
    alike = [at for at in acc.items if fits(at)]
    same = next((at for at in alike if id and acc.items[at].id == id), None)
    if same is not None:
        return same
    if number in alike or number not in acc.items:
        return number
    return next(iter(sorted(alike)), max(acc.items) + 1)
