"""The tool ``ask_user``: one question to the person, whichever front end answers, now or after this process has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Survey, SurveyOption, SurveyQuestion, Tool, ToolOutput
from skillkit_core.errors import ToolError

if TYPE_CHECKING:
    from skillkit_core.tools import ToolContext

__all__ = ["TOOLS", "ask_user"]

_OPTION = {
    "type": "object",
    "properties": {"label": {"type": "string", "minLength": 1}, "description": {"type": "string"}},
    "required": ["label"],
    "additionalProperties": False,
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1, "description": "One question, complete in itself."},
        "options": {
            "type": "array",
            "items": {"anyOf": [{"type": "string", "minLength": 1}, _OPTION]},
            "minItems": 2,
            "maxItems": 20,
            "description": "What the person may choose from; without options the person answers in words.",
        },
        "several": {"type": "boolean", "description": "The person may choose several options."},
    },
    "required": ["question"],
    "additionalProperties": False,
}
_OTHER = "Something else"
_NOBODY = "Nobody can be asked here. Decide yourself, and write down what you assumed."
_ASK = Tool(
    "ask_user",
    "Ask the person one question, and wait for the answer. Ask only what you cannot find out, and what decides what you do.",
    "skillkit_planning.asking:ask_user",
    _SCHEMA,
    sequential=True,
    annotations={"mutates": "none", "purpose": "ask the person", "asks": True},
)
TOOLS = (_ASK,)


async def ask_user(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Ask, and return what the person said.

    Raises:
        ToolError: two options have one label.
    """
    question = str(args["question"])
    given = [one if isinstance(one, Mapping) else {"label": one} for one in args.get("options") or ()]
    options = [SurveyOption(str(one["label"]), str(one.get("description") or "")) for one in given]
    if len({option.label for option in options}) < len(options):
        raise ToolError("two options have the same label", hint="give each option a label of its own")
    if options and _OTHER not in [option.label for option in options]:
        options.append(SurveyOption(_OTHER, "answer in your own words"))
    kind = ("choices" if args.get("several") else "choice") if options else "text"
    there = ctx.ui is not None  # where nobody is, only a question that waits already waits on
    answers = await ctx.ask(Survey("Question", question, (_question("answer", question, kind, options),)), wait=there)
    if answers is None and not there:
        return ToolOutput(_NOBODY, {"answered": False}, is_error=True)
    said = answers.get("answer") if answers is not None else None
    chosen = [said] if isinstance(said, str) else list(said) if isinstance(said, tuple) else []
    if _OTHER in chosen:
        answers = await ctx.ask(Survey("Question", question, (_question("words", question, "text", ()),)))
        words = answers.get("words") if answers is not None else None
        chosen = [one for one in chosen if one != _OTHER] + ([words] if isinstance(words, str) else [])
    if not chosen:
        return ToolOutput("The person did not want to answer.", {"answered": False}, is_error=True)
    return ToolOutput(f"The person answered: {', '.join(chosen)}", {"answered": True, "answer": chosen})


def _question(name: str, text: str, kind: Any, options: Any) -> SurveyQuestion:
    return SurveyQuestion(name, text, kind, tuple(options))
