"""Questions that stand in place of the input line: one key, a choice from a list, or a text."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from prompt_toolkit.formatted_text import StyleAndTextTuples

from skillkit_core import SurveyOption
from skillkit_core.cli.output import escaped, shorten

__all__ = ["KeyPanel", "Panel", "PickPanel", "TextPanel"]

_SHOWN = 10  # options of a list at a time


class Panel(ABC):
    """A question.

    Attributes:
        answer: what a person answered; ``None``: nothing, on purpose.
        declinable: Esc declines it.
    """

    declinable = True

    def __init__(self) -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def say(self, value: Any) -> None:
        """Answer."""
        if not self.answer.done():
            self.answer.set_result(value)

    @abstractmethod
    def lines(self, width: int) -> StyleAndTextTuples:
        """Return what is shown on a terminal of so many columns."""

    @abstractmethod
    def press(self, key: str, typed: str) -> None:
        """Take a key: ``enter``, ``up``, ``down``, ``space``, ``backspace``, or a character that was ``typed``."""


class KeyPanel(Panel):
    """A question that one key answers.

    Args:
        text: the question.
        choices: what each key means, ``{"y": "yes"}``; the value is what the panel answers.
        declinable: Esc declines it.
    """

    def __init__(self, text: str, choices: Mapping[str, str], *, declinable: bool = True) -> None:
        super().__init__()
        self._text, self._choices, self.declinable = text, choices, declinable

    def lines(self, width: int) -> StyleAndTextTuples:
        """Return what is shown: the choices on the line of the question where they fit."""
        text = escaped(self._text)
        shown: StyleAndTextTuples = [("bold", text)]
        long = len(text) + sum(len(word) + 4 for word in self._choices.values()) > width
        for place, (key, word) in enumerate(self._choices.items()):
            between = "\n" if long and not place else "  "
            shown += [("", between), ("class:key", f"[{key}]"), ("", word.removeprefix(key))]
        return shown

    def press(self, key: str, typed: str) -> None:
        """Answer with what the key means."""
        if (word := self._choices.get(typed.lower())) is not None:
            self.say(word)


class PickPanel(Panel):
    """A list to choose from: arrows move, letters narrow the list, digits choose where there are at most nine options.

    Args:
        text: the question.
        options: what there is.
        several: any number of them may be chosen; space chooses.
        chosen: values that are chosen at first.
    """

    def __init__(
        self, text: str, options: Sequence[SurveyOption], *, several: bool = False, chosen: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self._text, self._options, self._several = text, options, several
        self._chosen = set(chosen) if several else set()
        self._typed = ""
        self._place = next((i for i, o in enumerate(options) if o.value in chosen), 0)

    @property
    def _found(self) -> list[SurveyOption]:
        wanted = self._typed.casefold()
        return [o for o in self._options if wanted in f"{o.label} {o.description}".casefold()]

    def lines(self, width: int) -> StyleAndTextTuples:
        """Return what is shown."""
        found = self._found
        how = "space chooses, Enter ends" if self._several else "Enter chooses"
        shown: StyleAndTextTuples = [("bold", escaped(self._text)), ("class:hint", f"  {how}, Esc declines")]
        if self._typed:
            shown.append(("class:hint", f"  /{self._typed}"))
        top = max(0, min(self._place - _SHOWN // 2, len(found) - _SHOWN))
        for place, option in enumerate(found[top : top + _SHOWN], top):
            here = place == self._place
            mark = ("[x] " if option.value in self._chosen else "[ ] ") if self._several else ""
            number = f"{place + 1}. " if len(self._options) <= 9 and not self._typed else ""
            row = f"{'❯' if here else ' '} {shorten(f'{number}{mark}{escaped(option.label)}', width - 3)}"
            shown.append(("class:chosen" if here else "", f"\n{row}"))
            if option.description and (room := width - len(row) - 3) > 0:
                shown.append(("class:hint", f"  {shorten(escaped(option.description), room)}"))
        if len(found) > _SHOWN:
            shown.append(("class:hint", f"\n  {len(found)} in all"))
        if not found:
            shown.append(("class:hint", "\n  nothing fits what was typed"))
        return shown

    def press(self, key: str, typed: str) -> None:
        """Move, choose, narrow the list, or answer."""
        found = self._found
        if key == "enter":
            if self._several:
                self.say(tuple(o.value for o in self._options if o.value in self._chosen))
            elif found:
                self.say(found[self._place].value)
        elif key in ("up", "down") and found:
            self._place = (self._place + (1 if key == "down" else -1)) % len(found)
        elif key == "space" and self._several and found:
            self._chosen ^= {found[self._place].value}
        elif key == "backspace":
            self._typed, self._place = self._typed[:-1], 0
        elif typed.isdigit() and not self._typed and len(self._options) <= 9:
            if 0 < int(typed) <= len(found):
                self._place = int(typed) - 1
                self.press("space" if self._several else "enter", "")
        elif typed.isprintable():
            self._typed, self._place = self._typed + typed, 0


class TextPanel(Panel):
    """A text to type; the screen reads it, unseen where it is ``secret``."""

    def __init__(self, text: str, *, secret: bool = False, default: str = "") -> None:
        super().__init__()
        self._text, self.secret, self.default = text, secret, default

    def lines(self, width: int) -> StyleAndTextTuples:
        """Return what is shown."""
        hint = "  nobody sees or keeps it; Enter ends, Esc declines" if self.secret else "  Enter ends, Esc declines"
        return [("bold", escaped(self._text)), ("class:hint", hint)]

    def press(self, key: str, typed: str) -> None:
        """Do nothing: keys go to the text."""
