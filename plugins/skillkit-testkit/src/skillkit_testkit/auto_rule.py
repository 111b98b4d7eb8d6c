"""A turn that needs no script: it picks one of the offered tools by a plain rule, then says what the tool answered.

It is no model. It stands in for one where a test or a trial runs a plain request over a real wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .decoder import OfferedTool
from .received import ReceivedRequest
from .turns import Call, Reply

__all__ = ["auto", "fill", "pick"]

_USE = re.compile(r"\buse:\s*([A-Za-z0-9_-]+)")
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'|`([^`]+)`")
_FILE = re.compile(r"(?<![\w/.~-])(?:[\w.~-]*/[\w./-]+|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,7})(?![\w/])")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_WORD = re.compile(r"[a-z][a-z0-9]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "the and for with that this from into onto when where what which your you its are was will can use used using "
        "has have not all any one two out our their them then than please give make show tell run",
    )
)


def auto(request: ReceivedRequest) -> Reply:
    """Answer ``request``: call a tool, or repeat what the tool said.

    The tools named after ``use:`` in the user's text are called one after the other. Without any, the tool whose name
    and description share most words with the text is called (the first of equals). When the results are there, their
    last text is the answer. Nothing fits: a sentence that says so.
    """
    text = request.user_text
    named = _USE.findall(text)
    results = request.tool_results
    if len(results) < (len(named) or 1):
        if named:
            wanted = named[len(results)]
            tool = next((t for t in request.tools if t.name == wanted), None)
            if tool is None:
                return Reply(text=f"No tool called {wanted} is offered.")
        else:
            tool = pick(text, request.tools)
            if tool is None:
                return Reply(text="No offered tool fits the request.")
        return Reply(tool_calls=[Call(tool.name, fill(tool.parameters, _USE.sub(" ", text)))])
    return Reply(text=results[-1].text or "The tool said nothing.")


def pick(text: str, tools: Iterable[OfferedTool]) -> OfferedTool | None:
    """The tool that shares most words with ``text``; of equals the first; ``None`` when none shares any."""
    wanted = _words(text)
    best, most = None, 0
    for tool in tools:
        shared = 2 * len(wanted & _words(tool.name)) + len(wanted & _words(tool.description))
        if shared > most:
            best, most = tool, shared
    return best


def _words(text: str) -> set[str]:
    words = _WORD.findall(re.sub(r"[_-]", " ", text.casefold()))
    return {w.removesuffix("s") if len(w) > 3 else w for w in words if len(w) > 2 and w not in _STOP}


def fill(parameters: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Arguments for an object schema: what ``text`` states as ``name=value``, and the required rest from what it quotes.

    Strings take quoted text in order, then words that look like files (arguments whose names speak of paths look for
    files first), then the whole text; numbers take numbers; enums the value that the text names.
    """
    properties: Mapping[str, Any] = parameters.get("properties") or {}
    required = parameters.get("required") or ()
    args: dict[str, Any] = {}
    for name, schema in properties.items():
        stated = re.search(rf"\b{re.escape(name)}=(?:\"([^\"]*)\"|'([^']*)'|(\S+))", text)
        if stated:
            args[name] = _typed(next(g for g in stated.groups() if g is not None), schema)
            text = text.replace(stated.group(0), " ", 1)
    found = _Found(text)
    for name, schema in properties.items():
        if name in required and name not in args:
            args[name] = found.take(name, schema)
    return args


class _Found:
    """The values in a text, each used once."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self.quoted = ["".join(groups) for groups in _QUOTED.findall(text)]
        rest = _QUOTED.sub(" ", text)
        self.files = _FILE.findall(rest)
        self.numbers = _NUMBER.findall(rest)

    def take(self, name: str, schema: Mapping[str, Any]) -> Any:
        """A value for the argument ``name``."""
        kind = schema.get("type", "string")
        if choices := schema.get("enum"):
            return next((c for c in choices if str(c).casefold() in self.text.casefold()), choices[0])
        if kind in ("integer", "number"):
            return _typed(self.numbers.pop(0), schema) if self.numbers else schema.get("default", 0)
        if kind == "boolean":
            return bool(schema.get("default", name.casefold() in self.text.casefold()))
        if kind == "array":
            values = [*self.quoted, *self.files]
            self.quoted, self.files = [], []
            return values
        if kind == "object":
            return fill(schema, self.text)
        is_path = any(w in name.casefold() for w in ("path", "file", "input", "output", "dir", "source", "target"))
        for source in (self.files, self.quoted) if is_path else (self.quoted, self.files):
            if source:
                return source.pop(0)
        return schema.get("default", self.text)


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "integer":
        return int(float(value))
    if kind == "number":
        return float(value)
    if kind == "boolean":
        return value.casefold() in ("1", "true", "yes", "on")
    if kind == "array":
        return value.split(",")
    return value
