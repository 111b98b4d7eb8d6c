"""The secrets of an action that a person typed: on a command line everybody could read them."""

from __future__ import annotations

from skillkit_core import (
    Answers,
    NoticeLevel,
    Survey,
    UserInterface,
)
from skillkit_core.cli.output import echo, escaped

from .approval import clear_line

__all__ = ["SecretsOfAPerson"]


class SecretsOfAPerson(UserInterface):
    """Asks at the terminal for the secrets of the action that a person typed, and declines any other survey."""

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask for each secret in a line that nobody sees; an empty one declines."""
        from skillkit_frontend import answer_to

        clear_line()
        given: dict[str, str] = {}
        for question in survey.questions:
            if question.kind != "secret":
                return None
            text = f"{escaped(survey.title)}\n{escaped(question.text)}: "
            given[question.id] = await answer_to(text, hidden=True)
        return survey.answer(given) if all(given.values()) else None

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Print the text on stderr."""
        echo(escaped(text), err=True)
