"""What the scripted server received: every request as it came, and its conversation read alike on all wires."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from skillkit_core.frozen import EMPTY

from .decoder import Item, OfferedTool, RequestDecoder

__all__ = ["Item", "OfferedTool", "ReceivedRequest"]


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """One request.

    Attributes:
        number: counted from 1 over all requests that the server received.
        method: of HTTP.
        path: of the URL.
        headers: names in lower case.
        raw: the body's bytes.
        body: the parsed JSON object; empty when there is none.
        decoder: reads the body; ``None`` for ``GET /v1/models`` and unknown paths.
        disconnected: set when the client closed the connection before the answer was finished.
        answered: set when the answer was written to its end, as scripted.
    """

    number: int = 1
    method: str = "POST"
    path: str = ""
    headers: Mapping[str, str] = EMPTY
    raw: bytes = b""
    body: Mapping[str, Any] = EMPTY
    decoder: RequestDecoder | None = None
    disconnected: threading.Event = field(default_factory=threading.Event, repr=False)
    answered: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def api(self) -> str:
        """The wire's name (``openai-chat``); empty where no wire was spoken."""
        return self.decoder.api if self.decoder else ""

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.decoder.model(self.body) if self.decoder else ""

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""
        return self.decoder is not None and self.decoder.streams(self.body)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The conversation in order: system, user and assistant texts, tool calls and tool results."""
        return tuple(self.decoder.items(self.body)) if self.decoder else ()

    @cached_property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools that the client runs, in the order in which they were offered."""
        return tuple(self.decoder.tools(self.body)) if self.decoder else ()

    def _texts(self, kind: Literal["system", "user", "assistant"]) -> list[str]:
        return [i.text for i in self.items if i.kind == kind]

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(self._texts("system"))

    @property
    def user_text(self) -> str:
        """What the user said last."""
        texts = self._texts("user")
        return texts[-1] if texts else ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the offered tools."""
        return tuple(t.name for t in self.tools)

    @property
    def tool_results(self) -> tuple[Item, ...]:
        """The results of the tool calls made since the user last said something."""
        last = max((n for n, i in enumerate(self.items) if i.kind == "user"), default=-1)
        return tuple(i for i in self.items[last + 1 :] if i.kind == "result")
