"""Questions that stand in place of a front end's line: one key, a choice from a list, or a text. The front end draws them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from skillkit_core import SurveyOption, SurveyQuestion
from skillkit_core.cli.output import escaped, shorten

__all__ = [
    "Fragments",
    "KeyQuestion",
    "ListQuestion",
    "Look",
    "Question",
    "TextQuestion",
    "question_for",
    "shown_answer",
]

Look: TypeAlias = Literal["", "question", "key", "chosen", "hint", "warning"]
Fragments: TypeAlias = list[tuple[Look, str]]
"""Parts of what is shown, each with how it looks; a part that begins a row begins with a newline."""
_SHOWN = 10  # options of a list at a time


class Question(ABC):
    """A question.

    Attributes:
        text: the question.
        lead: what stands above it; a front end that shows it elsewhere takes it away.
        follows: a key of the person asked for it, so that it takes what is typed from now on.
        answer: what a person answered; ``None``: nothing, on purpose.
    """

    follows = False

    def __init__(self, text: str, lead: Fragments | None = None) -> None:
        self.text, self.lead = text, lead or []
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def say(self, value: Any) -> None:
        """Answer."""
        if not self.answer.done():
            self.answer.set_result(value)

    @abstractmethod
    def lines(self, width: int) -> Fragments:
        """Return what is shown on a terminal of so many columns, with what nobody sees escaped."""

    def press(self, key: str, typed: str) -> bool:
        """Take a key: ``enter``, ``up``, ``down``, ``space``, ``backspace``, or a character that was ``typed``.

        Returns: whether the question knows it.
        """
        return False

    def still(self) -> None:
        """Note that no key came for a moment."""

    @property
    def typed(self) -> str:
        """What was typed at the question, and answers nothing unless the question is answered with it."""
        return ""

    def _asked(self) -> Fragments:
        above: Fragments = [(look, f"{_plain(text)}\n") for look, text in self.lead]
        return [*above, ("question", _plain(self.text))]


def _plain(text: str) -> str:
    return "\n".join(map(escaped, text.split("\n")))


class KeyQuestion(Question):
    """A question that one key answers; :class:`~skillkit_frontend.Answering` says which keys are part of a text.

    Args:
        text: the question.
        choices: what each key means, ``{"y": "yes"}``; the value is the answer.
        lead: what stands above the question.
        denies: to decline it is a no to what is asked about.
    """

    def __init__(
        self, text: str, choices: Mapping[str, str], lead: Fragments | None = None, *, denies: bool = False
    ) -> None:
        super().__init__(text, lead)
        self.choices, self.denies = choices, denies

    def lines(self, width: int) -> Fragments:
        """Return the choices behind the question where they fit, else below it."""
        shown = self._asked()
        last = shown[-1][1].rpartition("\n")[2]
        long = len(last) + sum(len(word) + 4 for word in self.choices.values()) > width
        for place, (key, word) in enumerate(self.choices.items()):
            between = "\n" if long and not place else "  "
            shown += [("", between), ("key", f"[{key}]"), ("", word.removeprefix(key))]
        return shown

    def press(self, key: str, typed: str) -> bool:
        """Answer with what the key means."""
        word = self.choices.get(typed.lower())
        if word is not None:
            self.say(word)
        return word is not None


class ListQuestion(Question):
    """A list to choose from: arrows move, letters narrow the list, digits choose where there are at most nine options.

    Args:
        text: the question.
        options: what there is.
        lead: what stands above the question.
        several: any number of them may be chosen; space chooses.
        chosen: values that are chosen at first.
    """

    def __init__(
        self,
        text: str,
        options: Sequence[SurveyOption],
        lead: Fragments | None = None,
        *,
        several: bool = False,
        chosen: Sequence[str] = (),
    ) -> None:
        super().__init__(text, lead)
        self._options, self._several = options, several
        self._chosen = set(chosen) if several else set()
        self._typed, self._counted = "", False
        self._place = next((i for i, o in enumerate(options) if o.value in chosen), 0)

    @property
    def typed(self) -> str:
        """What narrows the list."""
        return self._typed

    @property
    def _found(self) -> list[SurveyOption]:
        wanted = self._typed.casefold()
        return [o for o in self._options if wanted in f"{o.label} {o.description}".casefold()]

    def lines(self, width: int) -> Fragments:
        """Return the question and a part of the list."""
        found, shown = self._found, self._asked()
        how = "space chooses, Enter ends" if self._several else "Enter chooses"
        shown.append(("hint", f"  {how}, Esc declines"))
        if self._typed:
            shown.append(("hint", f"  /{escaped(self._typed)}"))
        top = max(0, min(self._place - _SHOWN // 2, len(found) - _SHOWN))
        for place, option in enumerate(found[top : top + _SHOWN], top):
            here = place == self._place
            mark = ("[x] " if option.value in self._chosen else "[ ] ") if self._several else ""
            number = f"{place + 1}. " if len(self._options) <= 9 and not self._typed else ""
            row = f"{'❯' if here else ' '} {shorten(f'{number}{mark}{escaped(option.label)}', width - 3)}"
            shown.append(("chosen" if here else "", f"\n{row}"))
            if option.description and (room := width - len(row) - 3) > 8:
                shown.append(("hint", f"  {shorten(escaped(option.description), room)}"))
        if len(found) > _SHOWN:
            shown.append(("hint", f"\n  {len(found)} in all"))
        if not found:
            shown.append(("hint", "\n  nothing fits what was typed"))
        return shown

    def press(self, key: str, typed: str) -> bool:
        """Move, choose, narrow the list, or answer."""
        found, self._counted = self._found, False
        if key == "enter":
            if self._several:
                self.say(tuple(o.value for o in self._options if o.value in self._chosen))
            elif found:
                self.say(found[self._place].value)
        elif key in ("up", "down"):
            self._place = (self._place + (1 if key == "down" else -1)) % len(found) if found else 0
        elif key == "space" and self._several and found:
            self._chosen ^= {found[self._place].value}
        elif key == "backspace":
            self._typed, self._place = self._typed[:-1], 0
        elif typed.isdigit() and not self._typed and len(self._options) <= 9:
            if 0 < int(typed) <= len(found):
                self._place = int(typed) - 1
                self._counted = not self._several
                if self._several:
                    self.press("space", "")
        elif typed and typed.isprintable():
            self._typed, self._place = self._typed + typed, 0
        else:
            return False
        return True

    def still(self) -> None:
        """Choose the option that a digit named, now that nothing followed it."""
        if self._counted:
            self.press("enter", "")


class TextQuestion(Question):
    """A text to type, which the front end reads, unseen where it is ``secret``."""

    def __init__(
        self,
        text: str,
        lead: Fragments | None = None,
        *,
        secret: bool = False,
        default: str = "",
        follows: bool = False,
    ) -> None:
        super().__init__(text, lead)
        self.secret, self.default, self.follows = secret, default, follows

    def lines(self, width: int) -> Fragments:
        """Return the question."""
        hint = "  nobody sees or keeps it; Enter ends, Esc declines" if self.secret else "  Enter ends, Esc declines"
        return [*self._asked(), ("hint", hint)]


def question_for(question: SurveyQuestion, lead: Fragments | None = None) -> Question:
    """Return how a question of a survey is asked."""
    text, default = question.text, question.default
    if question.kind == "confirm":
        return KeyQuestion(text, {"y": "yes", "n": "no"}, lead)
    if question.kind in ("text", "secret"):
        typed = default if isinstance(default, str) else ""
        return TextQuestion(text, lead, secret=question.kind == "secret", default=typed)
    chosen = default if isinstance(default, tuple) else (str(default),) if default is not None else ()
    return ListQuestion(text, question.options, lead, several=question.kind == "choices", chosen=chosen)


def shown_answer(question: SurveyQuestion, answer: Any) -> str:
    """Return an answer as it is shown: a secret as nothing but its being there."""
    if question.kind == "secret":
        return "•••"
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    labels: dict[str, str] = {option.value: option.label for option in question.options}
    chosen: tuple[str, ...] = answer if isinstance(answer, tuple) else (str(answer),)
    return ", ".join(str(labels.get(one, one)) for one in chosen)
