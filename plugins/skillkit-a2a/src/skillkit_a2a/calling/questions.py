"""Questions of an agent elsewhere as surveys for the person here, and the answers as parts of a message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from skillkit_core import Answers, Survey, SurveyOption, SurveyQuestion
from skillkit_core.errors import UsageError

from ..errors import PeerError

if TYPE_CHECKING:
    from .progress import Progress

__all__ = ["answer_parts", "name_of", "survey_of"]

_TEXT, _LABEL, _MOST = 4_000, 200, 30
_KEPT = 40_000  # characters of a survey that a note of the session holds; of a larger one only the words are asked
_ANSWER = "answer"


def survey_of(progress: Progress) -> Survey:
    """Return what the agent asks, as a survey: by a JSON Schema, by options, or in words, as its message says.

    Raises:
        PeerError: ``declined``: it asks for a secret, which no agent elsewhere gets.
    """
    title = f"The agent {progress.agent} asks"
    data = progress.data()
    text = progress.said or next((str(one["text"]) for one in data if isinstance(one.get("text"), str)), "")
    for one in data:
        with suppress(UsageError):
            found = _formed(title, text, one, progress)
            if found is not None and len(json.dumps(found.to_dict())) <= _KEPT:
                return found
    return Survey(title, "", (SurveyQuestion(_ANSWER, text[:_TEXT] or f"{title}, and does not say what"),))


def _formed(title: str, text: str, data: Mapping[str, Any], progress: Progress) -> Survey | None:
    """Return the survey that an object describes; ``None``: it describes none."""
    if isinstance(data.get("survey"), Mapping):
        return _own(title, text, Survey.from_dict(data["survey"]), progress)
    schema = data.get("schema")
    if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
        return Survey(title, text[:_TEXT], _fields(schema))
    if options := _options(data.get("options")):
        return Survey(title, "", (SurveyQuestion(_ANSWER, text[:_TEXT] or title, "choice", options),))
    return None


def _own(title: str, text: str, given: Survey, progress: Progress) -> Survey:
    if any(question.kind == "secret" for question in given.questions):
        raise PeerError(
            "declined", f"{progress.agent} asks for a secret, which no agent elsewhere gets", task=progress.task
        )
    about = "\n".join(filter(None, (given.title, given.text or text)))
    return Survey(title, about[:_TEXT], given.questions[:_MOST])


def _options(given: Any) -> tuple[SurveyOption, ...]:
    """Return options, which are texts or objects with ``value`` or ``id``, and ``label``; fewer than two are none."""
    found: dict[str, SurveyOption] = {}
    for one in given[:_MOST] if isinstance(given, Sequence) and not isinstance(given, str) else ():
        fields = one if isinstance(one, Mapping) else {"value": one}
        value = str(next((fields[key] for key in ("value", "id", "label") if fields.get(key)), ""))[:_LABEL]
        if value:
            label = str(fields.get("label") or value)[:_LABEL]
            found[value] = SurveyOption(label, str(fields.get("description") or "")[:_TEXT], value)
    return tuple(found.values()) if len(found) > 1 else ()


def _fields(schema: Mapping[str, Any]) -> tuple[SurveyQuestion, ...]:
    """Return a question for each property of an object schema, required ones first: the wire keeps no order of them."""
    required = schema.get("required")
    needed = list(map(str, required)) if isinstance(required, list) else []
    properties = schema["properties"]
    names = [
        *(name for name in needed if name in properties),
        *sorted(name for name in properties if name not in needed),
    ]
    found = []
    for name in names[:_MOST]:
        field = properties[name] if isinstance(properties[name], Mapping) else {}
        text = ": ".join(str(field[key]) for key in ("title", "description") if field.get(key)) or str(name)
        kind, items = field.get("type"), field.get("items")
        options = _options(field.get("enum"))
        several = _options(items.get("enum")) if isinstance(items, Mapping) else ()
        ours = "confirm" if kind == "boolean" else "choices" if several else "choice" if options else "text"
        found.append(SurveyQuestion(str(name), text[:_TEXT], ours, options or several, required=name in needed))  # type: ignore[arg-type]
    return tuple(found)


def name_of(progress: Progress) -> str:
    """Return what the agent calls its question; empty: nothing."""
    found = (one["question"] for one in progress.data() if isinstance(one.get("question"), str))
    return str(next(found, ""))[:_LABEL]


def answer_parts(survey: Survey, answers: Answers, question: str) -> list[dict[str, Any]]:
    """Return the parts of the message that answers a question: words, and the same as an object.

    Args:
        survey: what was asked.
        answers: what the person said.
        question: what the agent calls the question.
    """
    told = answers.to_dict()
    words = "\n".join(
        _word(told[one.id]) if len(survey.questions) == 1 else f"{one.id}: {_word(told[one.id])}"
        for one in survey.questions
        if one.id in told
    )
    about = {"question": question} if question else {}
    alone = {"answer": told[_ANSWER]} if list(told) == [_ANSWER] else {"answers": told}
    return [{"text": words}, {"data": {**about, **alone}}]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
