"""Asking a person: surveys and answers are checked where they are made, and survive as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillkit_core import (
    AgentConfig,
    Answers,
    ApprovalDecision,
    Survey,
    SurveyOption,
    SurveyQuestion,
    UsageError,
    UserInterface,
)
from skillkit_core.testing import Call, Reply, ScriptedUser

CITIES = (SurveyOption("Rome"), SurveyOption("Oslo, by train", "cool", "oslo"))
NAME = SurveyQuestion("name", "Your name?")
CITY = SurveyQuestion("city", "Where to?", "choice", CITIES, default="Rome")
ALL = Survey(
    "A journey",
    "We book it at once.",
    (
        NAME,
        CITY,
        SurveyQuestion("stops", "On the way?", "choices", CITIES, default=("oslo",), required=False),
        SurveyQuestion("sure", "Sure?", "confirm"),
        SurveyQuestion("card", "Card?", "secret"),
        SurveyQuestion("note", "Anything else?", required=False),
    ),
)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SurveyOption(5), "option: label is of type int; it must be a str"),  # type: ignore[arg-type]
        (lambda: SurveyOption(""), "an option has no label"),
        (lambda: SurveyQuestion("", "?"), "a question has no id"),
        (
            lambda: SurveyQuestion("a", "?", "tick"),  # type: ignore[arg-type]
            "question 'a': kind is 'tick'; it must be one of choice, choices, text, confirm, secret",
        ),
        (lambda: SurveyQuestion("a", "?", "choice"), "question 'a': a question of kind choice needs options"),
        (lambda: SurveyQuestion("a", "?", options=CITIES), "question 'a': a question of kind text has no options"),
        (lambda: SurveyQuestion("a", "?", "choice", CITIES[:1] * 2), "question 'a': two options have the same value"),
        (
            lambda: SurveyQuestion("a", "?", "choice", CITIES, default="Oslo"),
            "question 'a': the default must be one of Rome, oslo",
        ),
        (lambda: SurveyQuestion("a", "?", "confirm", default="yes"), "question 'a': the default must be yes or no"),
        (lambda: SurveyQuestion("a", "?", "secret", default="x"), "question 'a': a secret has no default"),
        (lambda: Survey("s"), "survey 's' has no questions"),
        (lambda: Survey("s", questions=(NAME, NAME)), "survey 's': two questions have the id 'name'"),
        (
            lambda: Survey("s", questions=("name",)),  # type: ignore[arg-type]
            "survey 's': questions is of type tuple; it must be a tuple of SurveyQuestion",
        ),
        (lambda: Answers({"a": 5}), "answers: a is of type int; it must be a str, bool or tuple of str"),  # type: ignore[dict-item]
        (lambda: Answers({"a": (1,)}), "answers: a is of type tuple; it must be a str, bool or tuple of str"),  # type: ignore[dict-item]
        (lambda: AgentConfig(ui="terminal"), "ui is 'terminal'; it must be a UserInterface"),  # type: ignore[arg-type]
        (lambda: ApprovalDecision("allow", answer="yes"), "decision: answer is of type str; it must be a mapping"),  # type: ignore[arg-type]
    ],
)
def test_what_nobody_could_ask_or_answer_is_refused_where_it_is_made(make: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "question 'name' has no answer"),
        ({"name": ""}, "question 'name': the answer must be a text"),
        ({"name": "Ana", "city": "Oslo"}, "question 'city': the answer must be one of Rome, oslo"),
        (
            {"name": "Ana", "stops": ["oslo", "oslo"]},
            "question 'stops': the answer must be some of Rome, oslo, each once",
        ),
        ({"name": "Ana", "stops": "oslo"}, "question 'stops': the answer must be some of Rome, oslo, each once"),
        ({"name": "Ana", "sure": 1}, "question 'sure': the answer must be yes or no"),
        (
            {"name": "Ana", "sure": True, "card": "1", "more": "x"},
            "survey 'A journey' has no question 'more'; known: name, city, stops, sure, card, note",
        ),
    ],
)
def test_answers_that_do_not_fit_are_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        ALL.answer(given)
    assert str(caught.value) == said


def test_answers_are_a_mapping_with_the_defaults_and_keep_no_secret() -> None:
    answers = ALL.answer({"name": "Ana", "sure": False, "card": "4711", "city": None})
    assert answers == {"name": "Ana", "city": "Rome", "stops": ("oslo",), "sure": False, "card": "4711"}
    assert answers.get("note") is None and len(answers) == 5
    assert "4711" not in repr(answers)
    kept = json.loads(json.dumps(answers.to_dict()))
    assert kept == {"name": "Ana", "city": "Rome", "stops": ["oslo"], "sure": False}
    assert Answers.from_dict(kept) == {**kept, "stops": ("oslo",)}
    assert ALL.answer({"name": "Ana", "sure": True, "card": "1", "stops": []})["stops"] == ()


def test_a_survey_survives_as_json() -> None:
    assert Survey.from_dict(json.loads(json.dumps(ALL.to_dict()))) == ALL
    for wrong in (
        {},
        {"title": "s", "questions": [{}]},
        {"title": "s", "questions": [5]},
        {"title": 5, "questions": []},
    ):
        with pytest.raises(UsageError):
            Survey.from_dict(wrong)


def test_a_tool_asks_the_person_that_the_agent_was_given(kit: Any, go: Any) -> None:
    async def main() -> None:
        person: UserInterface = ScriptedUser({"city": "oslo"}, None)
        seen: list[Any] = []

        async def travel(args: Any, ctx: Any) -> str:
            assert ctx.agent is agent
            for _ in range(2):
                seen.append(await ctx.ui.ask(Survey("A journey", questions=(CITY,))))
            await ctx.ui.notify("booked", "warning")
            return "done"

        agent = kit.agent(Reply(calls=[Call("travel")]), "end", tools=[kit.tool("travel", travel)], ui=person)
        await agent.chat("go")
        assert kit.results(agent)[0].text == "done"
        assert seen == [{"city": "oslo"}, None]
        assert person.notices == [("warning", "booked")]  # type: ignore[attr-defined]
        assert [survey.title for survey in person.surveys] == ["A journey"] * 2  # type: ignore[attr-defined]

    go(main)
