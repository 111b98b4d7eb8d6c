"""The text that stands for what was left out: a summary, the request under way, and the files that were touched.

Request and files are taken from the messages, so that no model can lose them. They stand in tags at the end of the text, where
the next compaction finds them again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillkit_core.messages import (
    AgentMessage,
    AssistantMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

from .history import History, clip, is_pinned, is_summary, starts_turn

__all__ = ["Note", "said", "without_tags"]

ASKED = "Earlier turns were left out to save room. What the user said in them, oldest first:"
LINE = 160  # characters of what the user said

REQUEST, CHANGED, READ = "request-under-way", "changed-files", "read-files"
_TAGS = re.compile(rf"\n*<({REQUEST}|{CHANGED}|{READ})>\n(.*?)\n</\1>", re.DOTALL)

_WORDS = re.compile(r"[A-Z]?[a-z]+")
_CHANGES = {"append", "apply", "copy", "create", "delete", "edit", "insert", "move", "patch", "remove", "rename", "replace",
            "update", "write"}  # fmt: skip
_READS = {"cat", "open", "read", "view"}
_PATHS = ("path", "file_path", "filepath", "file", "filename", "file_name", "notebook_path")


def said(messages: Sequence[AgentMessage], old: str) -> list[str]:
    """Return the lines of an earlier body, and one of each message of the user that is not pinned."""
    texts = [" ".join(m.text.split()) for m in messages if isinstance(m, UserMessage) and not is_pinned(m)]
    return [*(old or ASKED).splitlines(), *(f"- {' '.join(clip(text, LINE).split())}" for text in texts)]


def without_tags(text: str) -> str:
    """Return ``text`` without the parts that only this module writes."""
    return _TAGS.sub("", text).strip()


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of the messages that were left out.

    Attributes:
        body: a summary.
        request: what the user asked in the turn that the cut splits.
        changed: the files that were changed, the newest last.
        read: the files that were read and not changed, the newest last.
    """

    body: str = ""
    request: str = ""
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    @classmethod
    def of(cls, history: History, cut: int) -> Note:
        """Return the note of all messages before ``cut``, with the body of the note among them."""
        before = history.messages[:cut]
        old = next((cls._parsed(m) for m in reversed(before) if is_summary(m)), cls())
        wrote, saw = _touched(before)
        changed = _merged(old.changed, wrote)
        read = tuple([path for path in _merged(old.read, saw) if path not in changed])
        request = (_asked(before) or old.request) if history.splits(cut) else ""
        return cls(old.body, request, changed, read)

    @classmethod
    def _parsed(cls, message: AgentMessage) -> Note:
        # the core writes a line of its own, and an empty one, before each summary
        text = message.text.partition("\n\n")[2]
        parts = dict(_TAGS.findall(text))
        return cls(
            without_tags(text),
            parts.get(REQUEST, ""),
            tuple(parts.get(CHANGED, "").splitlines()),
            tuple(parts.get(READ, "").splitlines()),
        )

    def text(self, body: str | Sequence[str], history: History, most: int) -> str:
        """Return the note with another body, in at most ``most`` tokens.

        Request and files take at most half of them. Of the files, those that were touched last are kept; of a body in lines, the
        first and the newest.
        """
        parts = []
        if self.request:
            parts.append(_tagged(REQUEST, history.clipped(self.request, most // 4)))
        for tag, paths in ((CHANGED, self.changed), (READ, self.read)):
            newest = _newest(paths, history, most // 8)
            if newest:
                parts.append(_tagged(tag, "\n".join(newest)))
        rest = most - history.measure("\n\n".join(parts)) if parts else most
        if not isinstance(body, str):
            # an older line may say what a newer one takes back
            body = "\n".join([body[0], *_newest(body[1:], history, rest - history.measure(body[0]))])
        return "\n\n".join([history.clipped(body, rest), *parts])

    @property
    def details(self) -> Mapping[str, object]:
        """The files, for programs."""
        return {"changed_files": list(self.changed), "read_files": list(self.read)}


def _tagged(name: str, text: str) -> str:
    return f"<{name}>\n{text}\n</{name}>"


def _newest(lines: Sequence[str], history: History, most: int) -> list[str]:
    """Return the last lines that fit."""
    out: list[str] = []
    left = most
    for line in reversed(lines):
        left -= history.measure(line)
        if left < 0:
            break
        out.append(line)
    return out[::-1]


def _merged(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Return all paths once, each where it was touched last, of the last thousand."""
    touched = set(new)
    return (*(path for path in old if path not in touched), *new)[-1000:]


def _asked(messages: Sequence[AgentMessage]) -> str:
    """Return what the user said in the last turn of ``messages``, unless it is pinned and stays anyway."""
    said: list[str] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage) and not is_pinned(message):
            said.insert(0, message.text)
        if starts_turn(message):
            break
    return "\n".join(said)


def _touched(messages: Sequence[AgentMessage]) -> tuple[list[str], list[str]]:
    """Return the files that successful tool calls changed, and those that they read."""
    calls: dict[str, ToolCall] = {}
    changed: dict[str, None] = {}
    read: dict[str, None] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.update({call.id: call for call in message.tool_calls})
        elif isinstance(message, ToolResultMessage) and not message.is_error:
            call = calls.get(message.tool_call_id)
            words = {word.lower() for word in _WORDS.findall(message.tool_name)}
            into = changed if words & _CHANGES else read if words & _READS else None
            if into is None or call is None:
                continue
            for path in _paths(call, message):
                into.pop(path, None)
                into[path] = None
    return list(changed), list(read)


def _paths(call: ToolCall, result: ToolResultMessage) -> list[str]:
    """Return the paths that a result's details name (``files``: objects with ``path``), else the path among the arguments."""
    files = result.details.get("files") if isinstance(result.details, Mapping) else None
    found: list[object] = []
    if isinstance(files, Sequence) and not isinstance(files, str):
        found = [file.get("path") for file in files if isinstance(file, Mapping)]
    args = call.args or {}
    found = found or [args[name] for name in _PATHS if name in args][:1]
    return [path for path in found if isinstance(path, str) and path and "\n" not in path]
