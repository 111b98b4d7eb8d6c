"""What the wires share in reading: the items of a conversation, the tools that are offered, and what every provider refuses."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

__all__ = ["Item", "OfferedTool", "RequestDecoder", "calls_problem", "text_of"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the request offers."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing in a conversation: a text, a tool call (``name``, ``call_id``) or the result of one."""

    kind: Literal["system", "user", "assistant", "call", "result"]
    text: str = ""
    name: str = ""
    call_id: str = ""
    is_error: bool = False


class RequestDecoder(ABC):
    """Reads the requests of one protocol, so that the same checks serve every protocol.

    Attributes:
        api: the protocol's name.
    """

    api: ClassVar[str]

    @abstractmethod
    def items(self, body: Mapping[str, Any]) -> Iterable[Item]:
        """The conversation of a request, in order."""

    @abstractmethod
    def tools(self, body: Mapping[str, Any]) -> Iterable[OfferedTool]:
        """The tools of a request that the client runs, in order."""

    def model(self, body: Mapping[str, Any]) -> str:
        """The model that a request names."""
        return str(body.get("model", ""))

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether a request asks for a stream."""
        return body.get("stream") is True

    def problem(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
        """Why the provider would refuse the request, or ``None``."""
        return calls_problem(self.items(body))


def text_of(content: Any, *types: str) -> str:
    """The text in ``content``: a string, or a list of parts of the given types."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(str(p.get("text", "")) for p in content if isinstance(p, Mapping) and p.get("type") in types)


def calls_problem(items: Iterable[Item]) -> str | None:
    """The rules all wires share: a call has a name, and exactly one result, before anybody says anything else."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for item in items:
        if item.kind == "call":
            if not _NAME.match(item.name):
                return f"the name {item.name!r} of tool call {item.call_id!r} must match [a-zA-Z0-9_-]{{1,64}}"
            if item.call_id in seen:
                return f"duplicate tool call id {item.call_id!r}"
            seen.add(item.call_id)
            open_calls.append(item.call_id)
        elif item.kind == "result":
            if item.call_id not in open_calls:
                return f"tool result for {item.call_id!r}, which no open tool call has"
            open_calls.remove(item.call_id)
        elif item.kind == "user" and open_calls:
            return f"tool call {open_calls[0]!r} has no result"
    return f"tool call {open_calls[0]!r} has no result" if open_calls else None
