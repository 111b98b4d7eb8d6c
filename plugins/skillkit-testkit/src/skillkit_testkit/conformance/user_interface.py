"""The user interface suite: every kind of question comes back as its kind of answer, and nobody is left waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args

import pytest

from skillkit_core.contracts.user_interface import (
    Answers,
    NoticeLevel,
    Survey,
    SurveyOption,
    SurveyQuestion,
    UserInterface,
)

from .running import run

__all__ = ["MakeUI", "UserInterfaceConformance"]

MakeUI: TypeAlias = Callable[..., UserInterface]
CITIES = (SurveyOption("Rome", "sunny"), SurveyOption("Oslo, by train", "cool", "oslo"))
QUESTIONS: Mapping[str, tuple[SurveyQuestion, Any]] = {
    "text": (SurveyQuestion("name", "Your name?"), "Ana"),
    "many lines": (SurveyQuestion("name", "Your name?"), "Ana\nMaría"),
    "choice": (SurveyQuestion("city", "Where to?", "choice", CITIES), "oslo"),
    "choices": (SurveyQuestion("cities", "Where to?", "choices", CITIES), ("Rome", "oslo")),
    "one of several choices": (SurveyQuestion("cities", "Where to?", "choices", CITIES), ("oslo",)),
    "yes": (SurveyQuestion("sure", "Sure?", "confirm"), True),
    "no": (SurveyQuestion("sure", "Sure?", "confirm", default=True), False),
    "secret": (SurveyQuestion("key", "Your key?", "secret"), "hush-4711"),
}


class UserInterfaceConformance:
    """Subclass it and give the fixture ``make_ui``; the fixture ``idle_ui``, too, where a person can be slow."""

    @pytest.fixture
    def make_ui(self) -> MakeUI:
        """Override: a callable ``(*answers) -> UserInterface``.

        Each of ``answers`` is what a person does with one survey: the answers by id of the question, in which a question that
        the person passes over is missing, or ``None`` when the person declines.
        """
        raise NotImplementedError("give the fixture make_ui: (*answers) -> UserInterface")

    @pytest.fixture
    def idle_ui(self) -> UserInterface:
        """Override: a user interface whose person never answers."""
        pytest.skip("nobody is slow here: give the fixture idle_ui")

    @pytest.mark.parametrize("kind", list(QUESTIONS))
    def test_an_answer_comes_as_its_question_wants_it(self, make_ui: MakeUI, kind: str) -> None:
        """A text is a str, a choice the value of its option, and so on."""
        question, value = QUESTIONS[kind]
        found = run(make_ui({question.id: value}).ask(Survey("A question", questions=(question,))))
        assert isinstance(found, Answers), f"ask gave {found!r}"
        assert dict(found) == {question.id: value}

    def test_a_survey_has_all_its_answers_at_once(self, make_ui: MakeUI) -> None:
        """Several questions, one of them without an answer and one with a default."""
        questions = (
            SurveyQuestion("name", "Your name?"),
            SurveyQuestion("city", "Where to?", "choice", CITIES, default="Rome"),
            SurveyQuestion("note", "Anything else?", required=False),
        )
        survey = Survey("A journey", "We book it at once.", questions)
        found = run(make_ui({"name": "Ana"}).ask(survey))
        assert found is not None and dict(found) == {"name": "Ana", "city": "Rome"}

    def test_a_person_may_decline(self, make_ui: MakeUI) -> None:
        """That is ``None``, and no error."""
        survey = Survey("A question", questions=(SurveyQuestion("sure", "Sure?", "confirm"),))
        assert run(make_ui(None).ask(survey)) is None

    def test_a_secret_is_neither_shown_nor_kept(self, make_ui: MakeUI) -> None:
        """Whoever logs or stores the answers does not give the secret away."""
        question, value = QUESTIONS["secret"]
        found = run(make_ui({question.id: value}).ask(Survey("Login", questions=(question,))))
        assert found is not None
        assert value not in repr(found)
        assert found.to_dict() == {}

    def test_surveys_at_the_same_time_come_one_after_the_other(self, make_ui: MakeUI) -> None:
        """Tools run side by side; each gets an answer."""

        async def both() -> list[Answers | None]:
            ui = make_ui({"n": "1"}, {"n": "2"})
            survey = Survey("A number", questions=(SurveyQuestion("n", "Which?"),))
            return list(await asyncio.gather(ui.ask(survey), ui.ask(survey)))

        assert sorted(str(found["n"]) for found in run(both()) if found is not None) == ["1", "2"]

    @pytest.mark.parametrize("level", get_args(NoticeLevel))
    def test_a_notice_is_shown_and_does_not_hold_up(self, make_ui: MakeUI, level: NoticeLevel) -> None:
        """Whatever its level and its text."""
        ui = make_ui()
        for text in ("It is done.", "", "two\nlines", "[bold]no markup[/bold] \x1b[31m"):
            run(ui.notify(text, level))

    def test_a_survey_that_nobody_answers_can_be_cancelled(self, idle_ui: UserInterface) -> None:
        """As a run does that is aborted; the next survey does not wait for it."""

        async def main() -> None:
            survey = Survey("A question", questions=(SurveyQuestion("sure", "Sure?", "confirm"),))
            for _ in range(2):
                asking = asyncio.create_task(idle_ui.ask(survey))
                for _ in range(10):
                    await asyncio.sleep(0)
                assert not asking.done()
                asking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asking
                assert asking.cancelled()

        run(main())
