"""What happens in a session as updates for the editor: texts as they arrive, thoughts, calls until their end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acp import schema as s

from skillkit_core import (
    AgentMessage,
    AssistantMessage,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

from .calls import Content, changes, described, name_of, text_content
from .prompts import without_context

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Telling", "message_updates", "plan_update"]

_OUTPUT = 16 * 1024  # characters of a running call's output that are shown
_PLAN = {"pending": "pending", "doing": "in_progress", "done": "completed"}


@dataclass(slots=True)
class _Call:
    """A call that has not ended.

    Attributes:
        about: its title, kind, places and arguments.
        shown: what it would change, or the terminal that it runs in.
        output: what it said.
    """

    about: Mapping[str, Any]
    shown: Content = field(default_factory=list)
    output: str = ""


class Telling:
    """Makes updates of the messages of a live session.

    Attributes:
        spoken: the agent said something since the editor asked last.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent
        self._calls: dict[str, _Call] = {}
        self.spoken = False

    def updates(self, event: Mapping[str, Any]) -> Iterator[Any]:
        """Yield what the editor is told of an event, as JSON without history."""
        path = tuple(event["agent_path"])
        match event["type"]:
            case "input" if len(path) == 1 and (event.get("origin") or {}).get("kind") != "acp":
                yield _chunk("user_message_chunk", event["text"])  # somebody else, who is attached
            case "message_update" if len(path) == 1:
                yield from self._delta(event["event"])
            case "message_end":
                yield from self._ended(path, event["message"])
            case "tool_execution_start":
                call = name_of(path, event["tool_call_id"])
                if call not in self._calls:
                    yield self.announced(path, event["tool_call_id"], event["tool_name"], event["args"])
                yield s.ToolCallProgress(session_update="tool_call_update", tool_call_id=call, status="in_progress")
            case "tool_execution_update":
                yield from self._output(name_of(path, event["tool_call_id"]), event["output"])
            case "tool_execution_end":
                yield from self.result(path, event, event.get("details"))

    def announced(self, path: Sequence[str], call: str, name: str, args: Mapping[str, Any] | None) -> s.ToolCallStart:
        """Return the update that shows a call before anything of it runs."""
        about = described(self._agent, path, name, args or {})
        key = name_of(path, call)
        self._calls[key] = _Call(about)
        return s.ToolCallStart(session_update="tool_call", tool_call_id=key, status="pending", **about)

    def asked(self, question: Mapping[str, Any]) -> tuple[list[Any], s.ToolCallUpdate]:
        """Return what is told before a person is asked about a call, and the call as the question shows it."""
        path, call = question["agent_path"], question["tool_call_id"]
        key = name_of(path, call)
        told: list[Any] = []
        if key not in self._calls:
            told.append(self.announced(path, call, question["tool"], question["args"]))
        kept = self._calls[key]
        kept.about = {**kept.about, **described(self._agent, path, question["tool"], question["args"])}
        kept.shown = changes(question.get("preview"), self._agent.cwd)
        asks = "\n".join(one["text"] for one in question["questions"])
        shown = [*kept.shown, *([text_content(asks)] if asks else [])]
        return told, s.ToolCallUpdate(tool_call_id=key, status="pending", content=shown, **kept.about)

    def in_terminal(self, call: str, terminal: str) -> s.ToolCallProgress:
        """Return the update that shows the terminal in which a call runs."""
        content: Content = [s.TerminalToolCallContent(type="terminal", terminal_id=terminal)]
        if (kept := self._calls.get(call)) is not None:
            kept.shown = content
        return s.ToolCallProgress(session_update="tool_call_update", tool_call_id=call, content=content)

    def _delta(self, part: Mapping[str, Any]) -> Iterator[Any]:
        text = part.get("content") or ""
        if part["type"] == "text_delta" and text:
            self.spoken = True
            yield _chunk("agent_message_chunk", text)
        elif part["type"] == "thinking_delta" and text:
            yield _chunk("agent_thought_chunk", text)

    def _ended(self, path: Sequence[str], message: Mapping[str, Any]) -> Iterator[Any]:
        """Show the calls of an answer; end the call of a result that did not run."""
        if message["role"] == "assistant":
            for block in message["content"]:
                if block["type"] == "tool_call" and name_of(path, block["id"]) not in self._calls:
                    yield self.announced(path, block["id"], block["name"], block.get("args"))
        elif message["role"] == "tool_result":
            yield from self.result(path, message, message.get("details"))

    def _output(self, call: str, output: str) -> Iterator[Any]:
        kept = self._calls.get(call)
        if kept is None:
            return
        kept.output = (kept.output + output)[-_OUTPUT:]
        content = [*kept.shown, text_content(kept.output)]
        yield s.ToolCallProgress(session_update="tool_call_update", tool_call_id=call, content=content)

    def result(self, path: Sequence[str], result: Mapping[str, Any], details: Any) -> Iterator[Any]:
        """Yield the end of a call, and the plan that it holds."""
        call = name_of(path, result["tool_call_id"])
        kept = self._calls.pop(call, None)
        if kept is None:
            return
        yield _ended(self._agent, call, result, details, kept.shown)
        if len(path) == 1 and (plan := plan_update(details)) is not None:
            yield plan

    def left(self, waiting: Sequence[str] = ()) -> Iterator[Any]:
        """Yield the end of calls that nobody ended, but for those that wait for a decision: their run is over."""
        for call in [call for call in self._calls if call not in waiting]:
            del self._calls[call]
            yield s.ToolCallProgress(session_update="tool_call_update", tool_call_id=call, status="failed")


def _ended(
    agent: AgentRunner, call: str, result: Mapping[str, Any], details: Any, shown: Content
) -> s.ToolCallProgress:
    """Return the end of a call: what it changed as a diff, else what it says."""
    text, failed = _text(result["content"]), bool(result.get("is_error"))
    facts = details if isinstance(details, Mapping) else {}
    made = changes(facts.get("diff"), agent.cwd) if not failed else []
    terminal = [one for one in shown if isinstance(one, s.TerminalToolCallContent)]
    content: Content = [*(made or terminal)] or ([text_content(text)] if text else [])
    return s.ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call,
        status="failed" if failed else "completed",
        content=content,
        raw_output=text,
    )


def plan_update(details: Any) -> s.AgentPlanUpdate | None:
    """Return the plan that the result of a call holds: a list of tasks, each with its state; ``None``: it holds none."""
    tasks = details.get("tasks") if isinstance(details, Mapping) else None
    if not isinstance(tasks, (list, tuple)) or not all(
        isinstance(one, Mapping) and one.get("state") in _PLAN for one in tasks
    ):
        return None
    entries = [
        s.PlanEntry(content=str(one.get("task", "")), priority="medium", status=_PLAN[one["state"]])  # type: ignore[arg-type]
        for one in tasks
    ]
    return s.AgentPlanUpdate(session_update="plan", entries=entries)


def message_updates(told: Telling, messages: Sequence[AgentMessage], waiting: Sequence[str]) -> Iterator[Any]:
    """Yield the updates that show a conversation from its beginning.

    Args:
        told: what goes on from there.
        waiting: the calls that wait for a decision.
    """
    for message in messages:
        if isinstance(message, UserMessage):
            if text := without_context(message.text):
                yield _chunk("user_message_chunk", text)
            for block in message.content:
                if isinstance(block, ImageBlock) and block.data:
                    image = s.ImageContentBlock(type="image", data=block.data, mime_type=block.mime_type)
                    yield s.UserMessageChunk(session_update="user_message_chunk", content=image)
        elif isinstance(message, AssistantMessage):
            yield from _answer(told, message)
        elif isinstance(message, ToolResultMessage):
            result = {"tool_call_id": message.tool_call_id, "is_error": message.is_error, "content": message.text}
            yield from told.result(("main",), result, message.details)
    yield from told.left(waiting)


def _answer(told: Telling, message: AssistantMessage) -> Iterator[Any]:
    for block in message.content:
        if isinstance(block, ThinkingBlock) and block.thinking:
            yield _chunk("agent_thought_chunk", block.thinking)
        elif isinstance(block, (TextBlock, RefusalBlock)) and block.text:
            yield _chunk("agent_message_chunk", block.text)
        elif isinstance(block, ToolCall):
            yield told.announced(("main",), block.id, block.name, block.args)


def _text(content: Any) -> str:
    """Return the text of blocks of a message as JSON."""
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def _chunk(kind: str, text: str) -> Any:
    kinds = {
        "user_message_chunk": s.UserMessageChunk,
        "agent_message_chunk": s.AgentMessageChunk,
        "agent_thought_chunk": s.AgentThoughtChunk,
    }
    return kinds[kind](session_update=kind, content=s.TextContentBlock(type="text", text=text))
