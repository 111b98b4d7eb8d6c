"""Surveys as forms of the editor (elicitation). No secret is asked for in a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp import schema as s

from skillkit_core import Survey, SurveyQuestion

__all__ = ["answers_of", "can_be_asked", "form_for", "message_of"]


def can_be_asked(survey: Survey) -> bool:
    """Return whether a form may ask it: the protocol forbids secrets there."""
    return all(question.kind != "secret" for question in survey.questions)


def message_of(survey: Survey, problem: str = "") -> str:
    """Return what stands above the form."""
    return "\n".join(part for part in (problem, survey.title, survey.text) if part)


def form_for(survey: Survey) -> s.ElicitationSchema:
    """Return the form of a survey: a field for each question."""
    return s.ElicitationSchema(
        type="object",
        properties={question.id: _field(question) for question in survey.questions},
        required=[question.id for question in survey.questions if question.required],
    )


def _field(question: SurveyQuestion) -> Any:
    default: Any = question.default
    about: dict[str, Any] = {"title": question.text}
    told = "\n".join(f"{option.label}: {option.description}" for option in question.options if option.description)
    if told:
        about["description"] = told
    options = [s.EnumOption(const=option.value, title=option.label) for option in question.options]
    if question.kind == "confirm":
        return s.ElicitationBooleanPropertySchema(type="boolean", default=default, **about)
    if question.kind == "choice":
        return s.ElicitationStringPropertySchema(type="string", one_of=options, default=default, **about)
    if question.kind == "choices":
        items = s.TitledMultiSelectItems(any_of=options)
        chosen = list(default) if default is not None else None
        return s.ElicitationMultiSelectPropertySchema(
            type="array", items=items, default=chosen, min_items=1 if question.required else None, **about
        )
    return s.ElicitationStringPropertySchema(
        type="string", default=default, min_length=1 if question.required else None, **about
    )


def answers_of(survey: Survey, content: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a person filled in, without fields that were left empty."""
    given = {name: getattr(value, "root", value) for name, value in (content or {}).items()}
    optional = {question.id for question in survey.questions if not question.required}
    return {name: value for name, value in given.items() if not (name in optional and value in ("", []))}
