"""What a run asks, as the message of a task that waits for input; and what the caller answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import ApprovalDecision, Survey, SurveyQuestion, UsageError

from .parts import data_part, text_part

if TYPE_CHECKING:
    from a2a.types import Part

    from .keys import Caller
    from .parts import Said

__all__ = ["answer_in", "asked", "decides", "schema_of"]

_OWNERS = ("permissions", "sandbox")  # plugins whose questions are about this machine: its owner alone answers
_YES = ("allow", "yes", "y", "approve", "approved", "ok", "true")
_NO = ("deny", "no", "n", "reject", "denied", "false")
_WORDS = {"confirm": "yes or no", "choice": "one of: ", "choices": "some of: ", "text": "", "secret": ""}


def decides(caller: Caller, question: Mapping[str, Any]) -> bool:
    """Return whether a caller may answer a question of its own task.

    A survey asks for what the caller knows. A guard asks whether a call may run: that takes the scope ``approve``, and where
    the call is about this machine, its owner.
    """
    if question["kind"] == "survey":
        return all(one["kind"] != "secret" for one in question["survey"]["questions"])
    return caller.approve and not any(one.get("plugin") in _OWNERS for one in question["questions"])


def asked(caller: Caller, question: Mapping[str, Any], problem: str = "") -> list[Part]:
    """Return the parts of the message that asks: words for people, and data for programs.

    Args:
        caller: who is asked.
        question: the question, as a live session shows it.
        problem: what was wrong with the answer before.
    """
    by = "caller" if decides(caller, question) else "owner"
    data: dict[str, Any] = {"question": question["id"], "kind": question["kind"], "by": by}
    if question["kind"] == "survey":
        survey = Survey.from_dict(question["survey"])
        words = [survey.title, survey.text, *map(_line, survey.questions)]
        data |= {"text": survey.title, "survey": question["survey"], "schema": schema_of(survey)}
    else:
        asks = [one["text"] for one in question["questions"]]
        words = [*asks, "allow or deny" if by == "caller" else "The owner of this agent decides."]
        data |= {"text": "\n".join(asks), "tool": question["tool"], "args": question["args"]}
        data["options"] = ["allow", "deny"]
    return [text_part("\n".join(filter(None, [problem, *words]))), data_part(data)]


def _line(question: SurveyQuestion) -> str:
    options = ", ".join(option.value for option in question.options)
    how = _WORDS[question.kind] + options
    return f"{question.id}: {question.text}" + (f" ({how})" if how else "")


def schema_of(survey: Survey) -> dict[str, Any]:
    """Return the JSON Schema of the answers of a survey."""
    return {
        "type": "object",
        "properties": {question.id: _field(question) for question in survey.questions},
        "required": [one.id for one in survey.questions if one.required and one.default is None],
        "additionalProperties": False,
    }


def _field(question: SurveyQuestion) -> dict[str, Any]:
    values = [option.value for option in question.options]
    kinds: dict[str, dict[str, Any]] = {
        "confirm": {"type": "boolean"},
        "choice": {"type": "string", "enum": values},
        "choices": {"type": "array", "items": {"type": "string", "enum": values}, "uniqueItems": True},
    }
    field = {"title": question.text, **kinds.get(question.kind, {"type": "string"})}
    if question.default is not None:
        field["default"] = list(question.default) if isinstance(question.default, tuple) else question.default
    return field


# --- answers --------------------------------------------------------------------------------------------------------


def answer_in(said: Said, question: Mapping[str, Any]) -> ApprovalDecision | Mapping[str, Any]:
    """Return what a message answers: data where it has some, else its words.

    Raises:
        UsageError: the message does not answer the question.
    """
    data = next((one for one in said.data if isinstance(one, Mapping)), None)
    if question["kind"] == "survey":
        return _survey(Survey.from_dict(question["survey"]), said, data)
    given = next((data[key] for key in ("decision", "answer") if key in data), None) if data else said.text
    word = str(given).strip().lower() if given is not None else ""
    if word not in (*_YES, *_NO):
        raise UsageError("the answer is neither allow nor deny")
    reason = str(data.get("reason", "")) if data else ""
    return ApprovalDecision("allow" if word in _YES else "deny", reason)


def _survey(survey: Survey, said: Said, data: Mapping[str, Any] | None) -> Mapping[str, Any]:
    ids = [question.id for question in survey.questions]
    if data is not None:
        answers = data.get("answers")
        given = dict(answers) if isinstance(answers, Mapping) else {k: v for k, v in data.items() if k in ids}
        if not given and "answer" in data and len(ids) == 1:
            given = {ids[0]: data["answer"]}
    elif len(ids) == 1:
        given = {ids[0]: _read(survey.questions[0], said.text)}
    else:
        raise UsageError(f"several things are asked: answer with a data part, an object with {', '.join(ids)}")
    return survey.answer(given).to_dict()


def _read(question: SurveyQuestion, text: str) -> Any:
    """Return an answer in words as the value that the question wants; words that do not fit stay words."""
    word = text.strip()
    known = {name.lower(): option.value for option in question.options for name in (option.label, option.value)}
    if question.kind == "confirm":
        return True if word.lower() in _YES else False if word.lower() in _NO else word
    if question.kind == "choice":
        return known.get(word.lower(), word)
    if question.kind == "choices":
        return [known.get(one.strip().lower(), one.strip()) for one in word.split(",")]
    return word
