"""How an answer gets onto the connection: in which writes, held back where, cut where."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .turns import Cut, Fail, Framing, Gate
from .wires.base import Answer, Wire, WireEvent

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["Plan", "plan", "write_cut"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A streamed body: what is written before the gate, and what after it."""

    before: list[WireEvent]
    after: list[WireEvent]
    gate: Gate | None
    framing: Framing
    headers: dict[str, str]
    content_type: str

    async def write(self, request: web.Request) -> web.StreamResponse:
        """Write the whole answer."""
        if self.gate is not None and self.gate.after_deltas is None:
            await self.gate.passed()
        response = _response(self.headers, self.content_type)
        await response.prepare(request)
        for data in frames(self.before, self.framing):
            await response.write(data)
        if self.gate is not None and self.gate.after_deltas is not None:
            await self.gate.passed()
        for data in frames(self.after, self.framing):
            await response.write(data)
        await response.write_eof()
        return response


def plan(wire: Wire, answer: Answer, failing: Fail | None = None) -> Plan:
    """How ``answer`` is streamed; with ``failing`` it ends in that error after so many pieces of content."""
    reply = answer.reply
    events = list(wire.events(answer))
    if failing is not None:
        events = [*events[: after_deltas(events, failing.after_deltas)], *wire.error_events(failing, answer)]
    gate = reply.gate
    split = after_deltas(events, gate.after_deltas) if gate is not None and gate.after_deltas is not None else 0
    return Plan(events[:split], events[split:], gate, reply.framing, dict(reply.headers), wire.content_type)


def after_deltas(events: list[WireEvent], count: int) -> int:
    """How many events there are up to and with the ``count``-th piece of content (the last, if there are fewer)."""
    found = [n for n, event in enumerate(events, 1) if event.delta][:count]
    return found[-1] if found else 0


def frames(events: list[WireEvent], framing: Framing) -> list[bytes]:
    """The writes that ``events`` are sent in."""
    if framing == "event":
        return [event.data for event in events]
    body = b"".join(event.data for event in events)
    size = len(body) if framing == "whole" else int(framing)
    return [body[i : i + size] for i in range(0, len(body), max(1, size))]


async def write_cut(request: web.Request, cut: Cut, wire: Wire, answer: Answer, stream: bool) -> web.StreamResponse:
    """Send as much as ``cut`` says, then close the connection; what was sent arrives, the end never does."""
    events = list(wire.events(answer)) if stream else []
    body = b"".join(e.data for e in events) if stream else json.dumps(wire.whole(answer)).encode()
    if cut.after_bytes is not None:
        part = body[: cut.after_bytes]
    elif stream:
        part = b"".join(e.data for e in events[: after_deltas(events, cut.after_deltas or 0)])
    else:
        part = body[: len(body) // 2]
    response = _response(dict(answer.reply.headers), wire.content_type)
    if not stream:
        response.content_type = "application/json"
        response.content_length = len(part) if cut.clean else len(body)
    if cut.after_bytes is not None or cut.after_deltas is not None:
        await response.prepare(request)
        if part:
            await response.write(part)
    if cut.clean and response.prepared:
        await response.write_eof()
    elif request.transport is not None:
        request.transport.close()  # flushes what is written, unlike abort()
    return response


def _response(headers: dict[str, str], content_type: str) -> web.StreamResponse:
    from aiohttp import web

    ids = {"request-id": "req_scripted", "x-request-id": "req_scripted"}
    response = web.StreamResponse(headers={**ids, "cache-control": "no-cache", **headers})
    response.content_type = content_type
    return response
