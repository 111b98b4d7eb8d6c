"""Asks the questions of a survey at the terminal, a line for each: what ``run`` and ``resume`` need of a person."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from skillkit_core import Answers, Deferred, NoticeLevel, Survey, SurveyQuestion, UserInterface
from skillkit_core.cli.output import echo, escaped, style

from .approval import clear_line

__all__ = ["TerminalPerson"]

_YES, _NO, _LATER = ("y", "yes"), ("n", "no"), ("l", "later")


class TerminalPerson(UserInterface):
    """Shows a survey on stderr, and reads a line for each of its questions.

    An empty line is the default of the question; where a question that needs an answer has none, it declines the survey. The
    answer ``l`` to a question of yes or no puts the survey off. Surveys that come at once are asked one after the other.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask the questions one after the other.

        Raises:
            Deferred: the person wants to answer later.
        """
        async with self._turn:
            clear_line()
            echo(f"\n{style(escaped(survey.title), bold=True, stream=sys.stderr)}", err=True)
            for line in survey.text.splitlines():
                echo(f"  {escaped(line)}", err=True)
            given: dict[str, Any] = {}
            for question in survey.questions:
                answer = await _answer(question)
                if answer is None and question.required:
                    return None
                given[question.id] = answer
            return survey.answer(given)

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Print the text on stderr."""
        clear_line()
        echo(escaped(text), err=True)


async def _answer(question: SurveyQuestion) -> Any:
    """Return an answer that fits the question, also its default; ``None``: there is none."""
    from skillkit_frontend import answer_to

    for number, option in enumerate(question.options, 1):
        about = f": {option.description}" if option.description else ""
        echo(escaped(f"  {number}  {option.label}{about}"), err=True)
    while True:
        typed = await answer_to(escaped(f"{question.text}{_hint(question)} "), hidden=question.kind == "secret")
        if not typed:
            return question.default
        answer = _read(question, typed)
        wrong = question.problem(answer)
        if wrong is None:
            return answer
        echo(f"The answer {wrong}.", err=True)


def _hint(question: SurveyQuestion) -> str:
    """Return what can be typed, and what an empty line means."""
    default = question.default
    match question.kind:
        case "confirm":
            yes, no = "[Y]es" if default is True else "[y]es", "[N]o" if default is False else "[n]o"
            return f" {yes}, {no}, [l]ater:"
        case "choices":
            return " (numbers; empty: none):" if default is None else f" (numbers; empty: {_shown(default)}):"
        case "choice":
            return " (a number):" if default is None else f" (a number; empty: {_shown(default)}):"
        case _:
            return ":" if default is None else f" [{_shown(default)}]:"


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _read(question: SurveyQuestion, typed: str) -> Any:
    """Return the answer that a line means; one that is none is left for the question to refuse.

    Raises:
        Deferred: it is ``later``.
    """
    word = typed.lower()
    match question.kind:
        case "confirm":
            if word in _LATER:
                raise Deferred("the person answers later")
            return True if word in _YES else False if word in _NO else typed
        case "choice":
            return _option(question, typed)
        case "choices":
            return tuple(_option(question, one) for one in typed.replace(",", " ").split())
        case _:
            return typed


def _option(question: SurveyQuestion, typed: str) -> str:
    """Return the value of the option with a number; else what was typed, which may be a value."""
    number = int(typed) if typed.isdecimal() else 0
    return question.options[number - 1].value if 0 < number <= len(question.options) else typed
