"""Questions of servers (elicitation), put to a person: those in a call of a tool are surveys of that call (``ctx.ask``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Deferred, Survey, SurveyOption, SurveyQuestion, UsageError, UserInterface

from .text import shortened

if TYPE_CHECKING:
    from skillkit_core import Answers, ToolContext
    from skillkit_core.contracts.user_interface import NoticeLevel

__all__ = ["AskedByCall", "ask_form", "ask_url"]

_MAX_FIELDS = 30
_TRIES = 3


class AskedByCall(UserInterface):
    """The person as a tool call asks: a question is in the session first, and waits there where nobody answers.

    Then the call is made again once the answer is there, and the server asks again. Where the run has no user interface, only
    a question that waits already waits on.
    """

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask a survey of the call."""
        there = self._ctx.ui is not None
        answers = await self._ctx.ask(survey, wait=there)
        if answers is None and not there:
            raise Deferred("nobody can be asked")
        return answers

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Show a text where somebody looks."""
        if self._ctx.ui is not None:
            await self._ctx.ui.notify(text, level)


async def ask_form(ui: UserInterface, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a person answered to the fields of a form; ``None``: the person declined, or the form cannot be asked."""
    fields = schema.get("properties")
    fields = {k: v for k, v in fields.items() if isinstance(v, Mapping)} if isinstance(fields, Mapping) else {}
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) and all(isinstance(r, str) for r in required) else set()
    title, text = f"The MCP server {server} asks", shortened(message, 4000)
    if not fields:
        answers = await ui.ask(Survey(title, text, (SurveyQuestion("go_on", "Agree?", "confirm"),)))
        return {} if answers is not None and answers.get("go_on") is True else None
    if len(fields) > _MAX_FIELDS:
        return None
    questions = tuple(_question(name, field, name in needed) for name, field in fields.items())
    for _ in range(_TRIES):
        answers = await ui.ask(Survey(title, text, questions))
        if answers is None:
            return None
        try:
            return {
                name: value
                for name, field in fields.items()
                if name in answers and (value := _value(name, field, answers[name])) is not None
            }
        except UsageError as problem:
            await ui.notify(str(problem), "warning")
    return None


async def ask_url(ui: UserInterface, server: str, message: str, url: str) -> bool:
    """Return whether a person agrees to open an address."""
    text = f"{shortened(message, 2000)}\n{shortened(url, 2000)}"
    survey = Survey(
        f"The MCP server {server} asks you to open an address",
        text,
        (SurveyQuestion("open", "Open it in a browser, and go on?", "confirm"),),
    )
    answers = await ui.ask(survey)
    return answers is not None and answers.get("open") is True


def _options(field: Mapping[str, Any]) -> tuple[SurveyOption, ...]:
    """Return what there is to choose from: ``enum``, with ``enumNames``, or ``oneOf`` with ``const`` and ``title``."""
    values, names = field.get("enum"), field.get("enumNames")
    if isinstance(choices := field.get("oneOf") or field.get("anyOf"), list):
        pairs = [(c.get("const"), c.get("title")) for c in choices if isinstance(c, Mapping)]
    elif isinstance(values, list):
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, labels, strict=True))
    else:
        return ()
    found = {value: str(label or value) for value, label in pairs if isinstance(value, str) and value}
    return tuple(SurveyOption(shortened(label, 200) or value, "", value) for value, label in found.items())


def _question(name: str, field: Mapping[str, Any], required: bool) -> SurveyQuestion:
    label = field.get("title") if isinstance(field.get("title"), str) else name
    about = field.get("description")
    text = shortened(f"{label}: {about}" if isinstance(about, str) and about else str(label), 500)
    kind, default = field.get("type"), field.get("default")
    if kind == "boolean":
        return SurveyQuestion(
            name, text, "confirm", default=default if isinstance(default, bool) else None, required=required
        )
    items = field.get("items")
    if kind == "array" and isinstance(items, Mapping) and (options := _options(items)):
        return SurveyQuestion(name, text, "choices", options, required=required)
    if options := _options(field):
        known = {option.value for option in options}
        return SurveyQuestion(name, text, "choice", options, default if default in known else None, required)
    given = str(default) if isinstance(default, (str, int, float)) and not isinstance(default, bool) else None
    return SurveyQuestion(name, text, "text", default=given or None, required=required)


def _value(name: str, field: Mapping[str, Any], given: Any) -> Any:
    """Return an answer as the type that the field wants."""
    kind = field.get("type")
    if isinstance(given, tuple):
        return list(given)
    if kind in ("integer", "number") and isinstance(given, str):
        if not given.strip():
            return None
        try:
            return int(given) if kind == "integer" else float(given)
        except ValueError:
            raise UsageError(
                f"{shortened(name, 60)} must be {'a whole number' if kind == 'integer' else 'a number'}"
            ) from None
    return given
