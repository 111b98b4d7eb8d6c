"""Whether a key answers a question or belongs to a text: keys that follow one another are a text, and a text answers nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from skillkit_core.program import program

from .questions import KeyQuestion, Question

__all__ = ["IDLE", "PAUSE", "WAITS", "After", "AnswerLine", "Answering", "Later", "after"]

IDLE = program().distribution or "SkillKit"
WAITS = f"{IDLE}: a question waits"
"""Titles of the terminal."""
PAUSE = 0.5
"""Seconds without a key before a question takes one, and after the key that answers it."""
TOGETHER = 0.05
"""Seconds in which a program, or a paste, writes on after an Enter; a person needs longer."""
_ASIDE = "no answer: Enter says it, Ctrl-C sets it aside, Esc "


class Later(Protocol):
    """What will be called."""

    def cancel(self) -> object:
        """Call it no more."""


After: TypeAlias = Callable[[float, Callable[[], None]], Later]
"""Calls something after so many seconds, as ``loop.call_later`` does; tests say themselves when a moment has passed."""


def after(seconds: float, call: Callable[[], None]) -> Later:
    """Call something after so many seconds."""
    return asyncio.get_running_loop().call_later(seconds, call)


class AnswerLine(Protocol):
    """The line that a person types into, as a question needs it."""

    def typed_text(self) -> str:
        """Return what stands there."""

    def type(self, text: str) -> None:
        """Insert a text where the cursor is; ``""``: empty the line."""


class Answering:
    """What the keys mean while a question stands.

    The front end says :meth:`pressed` for every key and every paste before it is done, and :meth:`typed` after a key has put
    its character into the line. Then the question is answered by a character that a key has put into an empty line, where no
    key came for a moment before it and none comes for a moment after it, or Enter (:attr:`answers`, :meth:`entered`) and then
    none. Every other text stays in the line. A question that is no :class:`KeyQuestion` gets the keys once it is ``ready``.

    Args:
        question: the question.
        line: where texts go.
        ready: called once the question takes keys.
        after: calls something later.

    Attributes:
        question: the question.
        armed: nobody has typed for a moment, so that the next key may answer.
        shown: the question takes keys, or did so before the last key.
    """

    def __init__(self, question: Question, line: AnswerLine, ready: Callable[[], None], after: After = after) -> None:
        self.question, self.armed, self.shown = question, False, False
        self._line, self._ready, self._after = line, ready, after
        self._may_answer = ""  # the character that stands alone in the line
        self._entered = False  # and Enter came after it
        self._before = (False, "")
        self._moment = after(0 if question.follows else PAUSE, self._passed)

    def pressed(self) -> None:
        """Note that a key is pressed, or a text pasted, before the line gets it."""
        if self._entered:
            self._line.type("\n")  # the Enter was a part of a text
        self._before = (self.armed, self._may_answer)
        self.armed, self._may_answer, self._entered = False, "", False
        self._wait(TOGETHER if self.shown and isinstance(self.question, KeyQuestion) else PAUSE)

    def typed(self, character: str) -> None:
        """Note that the key has put its character into the line."""
        question = self.question
        if not isinstance(question, KeyQuestion) or self._line.typed_text() != character or not self._before[0]:
            return
        if character.lower() in question.choices:
            self._may_answer = character
            self._wait(PAUSE)

    @property
    def answers(self) -> bool:
        """Whether the key, which is Enter, belongs to an answer, so that it does not send the line."""
        character = self._before[1]
        return bool(character) and self._line.typed_text() == character

    def entered(self) -> None:
        """Take the Enter that belongs to an answer."""
        self._may_answer, self._entered = self._before[1], True
        self._wait(TOGETHER)

    def end(self) -> None:
        """Let the question take no more keys."""
        self._moment.cancel()

    @property
    def aside(self) -> str:
        """What a person may do with a text in the line, which answers nothing; empty where there is none."""
        question, text = self.question, self._line.typed_text()
        if not isinstance(question, KeyQuestion) or not text or text == self._may_answer:
            return ""
        return _ASIDE + ("is a no" if question.denies else "declines")

    def _wait(self, seconds: float) -> None:
        self._moment.cancel()
        self._moment = self._after(seconds, self._passed)

    def _passed(self) -> None:
        """Take the answer that nothing followed, or let the next key be one."""
        character = self._may_answer
        if character and self._line.typed_text() == character:
            self._line.type("")
            self.question.press("", character)
            return
        self.armed = self.shown = True
        self.question.still()
        self._ready()
