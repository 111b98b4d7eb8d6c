"""A history, measured: where it may be cut, how long a tail fits, and how a tool result becomes shorter.

Pinned messages stay whatever is cut (the core sees to that), so that each of them is paid for before anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillkit_core.contracts.compactor import CompactionRequest, CompactionResult
from skillkit_core.messages import (
    AgentMessage,
    AssistantMessage,
    CustomMessage,
    ToolResultMessage,
    UserMessage,
    blocks_of,
)

__all__ = ["History", "Kept", "clip", "is_pinned", "is_summary", "shorter", "starts_turn"]

ENVELOPE = 24  # tokens of what the core writes around a summary
LEAST_NOTE = 64  # tokens that a summary has at least
LEAST_RESULT = 64  # tokens that are left of a tool result at least
LEAST_MANUAL = 1_000  # tokens of a conversation that nobody needs to shorten


def is_pinned(message: AgentMessage) -> bool:
    """Return whether compaction keeps the message word for word."""
    return bool(getattr(message, "pinned", False))


def is_summary(message: AgentMessage) -> bool:
    """Return whether the message is the summary of an earlier compaction."""
    return isinstance(message, CustomMessage) and message.custom_type == "compaction_summary"


def starts_turn(message: AgentMessage) -> bool:
    """Return whether a turn of the conversation begins with the message."""
    return isinstance(message, UserMessage) and message.source != "steer"


def clip(text: str, most: int) -> str:
    """Return ``text``, or its head and its tail of ``most`` characters together and a note of what was left out."""
    if len(text) <= most:
        return text
    head, tail = text[: most - most // 2], text[len(text) - most // 2 :]
    return "\n".join([part for part in (head, f"[{len(text) - most:,} characters left out]", tail) if part])


def shorter(message: ToolResultMessage, most: int) -> ToolResultMessage:
    """Return a tool result of text alone, cut to ``most`` characters."""
    text = clip(message.text, most)
    others = sum(block.type != "text" for block in message.content)
    if others:
        text += f"\n[{others} image{'s' * (others > 1)} or documents left out]"
    return replace(message, content=blocks_of(text))


@dataclass(frozen=True, slots=True)
class Kept:
    """The part of a history that stays.

    Attributes:
        cut: index of its first message.
        replacements: shorter tool results, by index.
        tokens: its size, with the pinned messages from before the cut.
    """

    cut: int
    tokens: int
    replacements: Mapping[int, AgentMessage] = field(default_factory=dict)


class History:
    """The messages of a request with their tokens.

    Attributes:
        messages: the messages, oldest first.
        size: tokens of all messages.
        room: most tokens that may be left.
        overhead: tokens of the request that are no messages: system prompt and tools.
        pinned: tokens of the pinned messages.
    """

    def __init__(self, request: CompactionRequest, budget: int | None = None) -> None:
        self._request = request
        self.messages: Sequence[AgentMessage] = request.messages
        self.tokens = [request.estimate((m,)) for m in self.messages]
        self.size = sum(self.tokens)
        self.overhead = max(0, request.tokens - self.size)
        rooms = [request.budget, *([budget] if budget else [])]
        if request.window:
            rooms.append((request.window - self.overhead) // 2)
        if request.reason != "threshold":
            # Who asks wants less, and after an overflow the estimate is known to be too low.
            rooms.append(self.size // 2)
        self.room = max(1, min(rooms))
        self._costs = self._cost_of_tails()
        self.pinned = self._costs[-1]
        self._cuts = self._legal_cuts()

    @property
    def fits(self) -> bool:
        """Whether nothing has to be left out."""
        manual = self._request.reason == "manual" and self.size < LEAST_MANUAL
        return self.size <= self.room or manual or not self.messages

    def measure(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._request.estimate((UserMessage(content=blocks_of(text)),))

    def clipped(self, text: str, most: int) -> str:
        """Return ``text``, or its head and tail of at most ``most`` tokens."""
        tokens = self.measure(text)
        characters, out = len(text), text
        while tokens > most and characters > 0:
            characters = min(characters * max(0, most - 8) // tokens, characters * 7 // 8)
            out = clip(text, characters)
            tokens = self.measure(out)
        return out

    def _cost_of_tails(self) -> list[int]:
        """Return for each cut the tokens that stay: those from the cut on, and the pinned messages from before it."""
        cost = sum(t for m, t in zip(self.messages, self.tokens, strict=True) if is_pinned(m))
        costs = [cost]
        for message, tokens in zip(reversed(self.messages), reversed(self.tokens), strict=True):
            cost += 0 if is_pinned(message) else tokens
            costs.append(cost)
        return costs[::-1]

    def _legal_cuts(self) -> list[int]:
        """Return where the kept part may begin so that no result is parted from its call, the oldest place first."""
        found, open_results = [], False
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            # the results of an answer lie between it and the next one
            open_results = not isinstance(message, AssistantMessage) and (
                open_results or isinstance(message, ToolResultMessage)
            )
            if not open_results or not index:
                found.append(index)
        return found[::-1]

    def allowance(self, wanted: int) -> tuple[int, int]:
        """Return how many of the ``wanted`` tokens a summary may have, and how many are left for messages beside it.

        A long newest tool result takes room from the summary, down to a quarter of all room.
        """
        shortest = self._cuts[-1]
        whole, cut_down = self._costs[shortest], self._least(shortest)
        note = max(LEAST_NOTE, min(wanted, self.room - cut_down, max(self.room - whole, self.room // 4)))
        return note - ENVELOPE, self.room - note

    def _least(self, cut: int) -> int:
        """Return the tokens of a tail whose tool results are as short as they can be."""
        return self._costs[cut] - sum(self.tokens[i] - LEAST_RESULT for i in self._shrinkable(cut))

    def _shrinkable(self, cut: int) -> list[int]:
        return [
            i
            for i in range(cut, len(self.messages))
            if self.tokens[i] > LEAST_RESULT
            and isinstance(self.messages[i], ToolResultMessage)
            and not is_pinned(self.messages[i])
        ]

    def keep(self, room: int, turns: int = 0) -> Kept:
        """Return the longest tail of at most ``room`` tokens, the pinned messages from before it included.

        It begins with a turn where that does not halve it. A turn that is too long is split; an answer whose results do not
        fit keeps them cut short.

        Args:
            room: tokens.
            turns: most turns; 0: any number.
        """
        starts = [i for i in self._cuts if starts_turn(self.messages[i])]
        first = starts[-turns] if 0 < turns < len(starts) else 0
        fitting = [i for i in self._cuts if i >= first and self._costs[i] <= room]
        if fitting:
            cut = fitting[0]
            whole = [i for i in fitting if i in set(starts)]
            if whole and 2 * self._costs[whole[0]] >= self._costs[cut]:
                cut = whole[0]
            return Kept(cut, self._costs[cut])
        shortest = self._cuts[-1]
        newest = starts[-1] if starts and self._least(starts[-1]) <= room else shortest
        return self._shrunk(newest, room)

    def _shrunk(self, cut: int, room: int) -> Kept:
        """Return a tail whose longest tool results are cut to one length, so that it fits where that is possible."""
        results = self._shrinkable(cut)
        left = room - self._costs[cut] + sum(self.tokens[i] for i in results)
        level = 0
        for n, tokens in enumerate(sorted(self.tokens[i] for i in results)):
            level = left // (len(results) - n)
            if tokens > level:
                break
            left -= tokens
        kept = Kept(cut, self._costs[cut])
        for i in results:
            if self.tokens[i] > level:
                kept = self._with_shorter(kept, i, max(level, LEAST_RESULT))
        return kept

    def _with_shorter(self, kept: Kept, index: int, most: int) -> Kept:
        """Return ``kept`` with a tool result of at most ``most`` tokens."""
        old = self.messages[index]
        tokens = self.measure(old.text)
        characters = len(old.text) if tokens <= most else len(old.text) * max(0, most - 24) // tokens
        return self._swapped(kept, index, characters)

    def _swapped(self, kept: Kept, index: int, characters: int) -> Kept:
        old = self.messages[index]
        assert isinstance(old, ToolResultMessage)
        new = shorter(old, characters)
        tokens = self._request.estimate((new,))
        if tokens >= self.tokens[index]:
            return kept
        return Kept(kept.cut, kept.tokens - self.tokens[index] + tokens, {**kept.replacements, index: new})

    def pruned(self, indices: Sequence[int], characters: int) -> Kept:
        """Return the whole history with these tool results cut to ``characters``, until the rest fits."""
        kept = Kept(0, self.size)
        for i in indices:
            if kept.tokens <= self.room:
                break
            kept = self._swapped(kept, i, characters)
        return kept

    def result(self, summary: str, kept: Kept, details: Mapping[str, Any]) -> CompactionResult | None:
        """Return the result of a compaction, ``None`` when it would free nothing."""
        after = kept.tokens + (self.measure(summary) + ENVELOPE if kept.cut else 0)
        if after >= self.size or (not kept.cut and not kept.replacements):
            return None
        return CompactionResult(summary if kept.cut else "", kept.cut, kept.replacements, details=dict(details))

    def splits(self, cut: int) -> bool:
        """Return whether the cut lies inside a turn, so that what was asked is left out and its answer goes on."""
        rest = (m for m in self.messages[cut:] if not isinstance(m, CustomMessage))
        return not starts_turn(next(rest, self.messages[cut]))
