"""A model that answers by who is asked, messages as participants write them, and a session run to its end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from skillkit_collaboration import Record, records_of

_WHO = re.compile(r"You are ([\w-]+)(?:, the|[ ]in a session)")


def message(kind: str, content: str = "", **more: Any) -> str:
    """A message as a model writes it."""
    return json.dumps({"message_type": kind, "content": content or f"{kind} text", **more})


P, C, R = message("proposal"), message("critique"), message("revision")
A, J = message("approval"), message("rejection")


class Answers:
    """A model: what each participant says, one turn after the other; the last turn again for all that follow.

    ``"speaker"``, ``"confidence"``, ``"form"``, ``"info"`` and ``"synthesis"`` are the questions of the one who leads.

    Attributes:
        asked: who was asked, in order.
        requests: the requests, in order.
    """

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = {name: list(turns) if isinstance(turns, list) else [turns] for name, turns in said.items()}
        self.asked: list[str] = []
        self.requests: list[Any] = []

    def __call__(self, request: Any) -> Any:
        texts = [m.text for m in request.messages if m.role == "user"]
        name = _led(texts[-1]) or next(found[1] for text in reversed(texts) if (found := _WHO.search(text)))
        self.asked.append(name)
        self.requests.append(request)
        turns = self._said[name]
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        return turn(request) if callable(turn) else turn

    def texts(self, name: str) -> list[str]:
        """What a participant was told, a text for each request."""
        pairs = zip(self.asked, self.requests, strict=True)
        return ["\n".join(m.text for m in request.messages) for who, request in pairs if who == name]


def _led(text: str) -> str:
    if "Who speaks next?" in text:
        return "speaker"
    if "How good is the newest text" in text:
        return "confidence"
    if "has asked you the newest question" in text:
        return "info"
    if "did not say what its message is" in text:
        return "form"
    return "synthesis" if "Write the result of the session" in text else ""


def chat(agent: Any, words: str = "/pair Write about glaciers.") -> tuple[Any, Record]:
    """Run a request to its end; return the response and the last collaboration."""

    async def main() -> Any:
        async with agent:
            response = await agent.chat(words)
            return response, records_of(agent.host, agent.session)[-1]

    return asyncio.run(main())


def types(record: Record) -> list[str]:
    """The thread as words: ``research proposal``."""
    return [f"{one.sender} {one.message_type}" for one in record.messages]
