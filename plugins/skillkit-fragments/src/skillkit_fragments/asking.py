"""What fragments do with the world: ask a model for JSON, and call tools, through the run of their task."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_engines import Notebook, Task

from skillkit_core.errors import ToolError
from skillkit_core.messages import ToolCall, UserMessage, blocks_of

if TYPE_CHECKING:
    from skillkit_core.messages import Block, ToolResultMessage

__all__ = ["ask", "ask_json", "call", "first_tool", "object_in", "text_of"]


async def ask(
    task: Task,
    system: str,
    text: str,
    *,
    purpose: str,
    schema: Mapping[str, Any] | None = None,
    blocks: Sequence[Block] = (),
) -> str:
    """Ask the model of the run once; a run that is resumed does not ask again.

    Args:
        task: the task, which has a run.
        system: the instructions.
        text: what it is about; data.
        purpose: the word in the books, after ``fragments.``.
        schema: JSON Schema of the answer.
        blocks: images and documents that go with the text.
    """
    assert task.run is not None, "a fragment works in a run"
    book = Notebook(task.run, f"{task.id}.{purpose}")
    message = UserMessage(content=(*blocks_of(text), *blocks))
    answer = await book.ask([message], system=system, schema=schema, purpose=f"fragments.{purpose}")
    return answer.text


async def ask_json(
    task: Task, system: str, text: str, *, purpose: str, schema: Mapping[str, Any], blocks: Sequence[Block] = ()
) -> dict[str, Any]:
    """Ask for a JSON object.

    Raises:
        ToolError: the answer holds none, or one without what the schema requires.
    """
    told = await ask(task, system, text, purpose=purpose, schema=schema, blocks=blocks)
    found = object_in(told)
    missing = [name for name in schema.get("required", ()) if name not in found] if found is not None else []
    if found is None or missing:
        lacks = f"without {', '.join(missing)}" if missing else "without a JSON object"
        raise ToolError(f"the model answered {lacks}")
    return found


def object_in(text: str) -> dict[str, Any] | None:
    """Return the first JSON object of a text, in a fence or among words."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            found, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
            continue
        return found if isinstance(found, dict) else None
    return None


def first_tool(task: Task, *names: str) -> str | None:
    """Return the first of the named tools that the agent has; ``None``: it has none of them."""
    offered = {tool.name for tool in task.agent.tools}
    return next((name for name in names if name in offered), None)


async def call(task: Task, name: str, **args: Any) -> ToolResultMessage:
    """Call a tool, with all guards.

    Raises:
        ToolError: it failed or was refused; the text is that of the result.
    """
    assert task.run is not None, "a fragment works in a run"
    (result,) = await task.run.call(ToolCall("", name, args))
    if result.is_error:
        raise ToolError(f"{name}: {result.text}")
    return result


def text_of(value: Any) -> str:
    """Return a value as text: itself, else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
