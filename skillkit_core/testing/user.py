"""A person who answers by script: the user interface contract without a front end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

from ..contracts.user_interface import Answers, NoticeLevel, Survey, UserInterface
from ..errors import UsageError

Given: TypeAlias = Mapping[str, Any] | None


class ScriptedUser(UserInterface):
    """Answers one survey after the other.

    Args:
        answers: for each survey the answers by id of the question, ``None`` for a person who declines, or a function of the
            survey, sync or async, that returns one of both.

    Attributes:
        surveys: surveys that were asked.
        notices: texts that were shown, as (level, text).
    """

    def __init__(self, *answers: Given | Callable[[Survey], Given | Awaitable[Given]]) -> None:
        self._answers = answers
        self.surveys: list[Survey] = []
        self.notices: list[tuple[NoticeLevel, str]] = []

    async def ask(self, survey: Survey) -> Answers | None:
        """Return the next answer of the script.

        Raises:
            UsageError: the script has no further answer, or the answer does not fit the survey.
        """
        self.surveys.append(survey)
        if len(self.surveys) > len(self._answers):
            raise UsageError(f"the script has no answer {len(self.surveys)}")
        given: Any = self._answers[len(self.surveys) - 1]
        if callable(given):
            given = given(survey)
        if isawaitable(given):
            given = await given
        return None if given is None else survey.answer(given)

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Keep the text in ``notices``."""
        self.notices.append((level, text))
