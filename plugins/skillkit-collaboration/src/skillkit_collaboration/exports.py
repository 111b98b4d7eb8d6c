"""A trace for people, for files, and for tools that draw spans."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from .models import CollaborationTrace

__all__ = ["as_json", "as_spans", "as_text"]


def as_json(trace: CollaborationTrace) -> dict[str, Any]:
    """Return a trace as JSON values."""
    return trace.model_dump(mode="json")


def as_text(trace: CollaborationTrace, *, lines_of_message: int | None = None) -> str:
    """Return a trace as a tree: the session, its turns, and the messages of each.

    Args:
        trace: the trace.
        lines_of_message: most lines of a message; ``None``: all.
    """
    cost = f" · ${trace.cost:.4f}" if trace.cost else ""
    head = (
        f"{trace.session_id} · {trace.outcome} · {trace.total_turns} turns · {trace.model_calls} model calls · "
        f"{trace.duration_ms / 1000:.1f} s · {trace.tokens:,} tokens{cost}"
    )
    lines = [head, f"  {trace.query.splitlines()[0] if trace.query.strip() else ''}".rstrip()]
    rows = _rows(trace)
    for place, (turn, title, body) in enumerate(rows):
        last = place == len(rows) - 1
        lines.append(f"{'└─' if last else '├─'} {turn or '·'} {title}")
        lines += [f"{'   ' if last else '│  '}  {line}".rstrip() for line in _shown(body, lines_of_message)]
    ended = next((one for one in reversed(trace.decisions) if one.what == "end"), None)
    if ended is not None:
        lines.append(f"ended: {trace.convergence_reason} (by {ended.who}, {ended.by}, from {ended.inputs[:12]})")
    return "\n".join(line for line in lines if line)


def _shown(text: str, most: int | None) -> list[str]:
    lines = text.strip().splitlines()
    if most is None or len(lines) <= most:
        return lines
    return [*lines[:most], f"... {len(lines) - most} more lines"]


def _rows(trace: CollaborationTrace) -> list[tuple[int, str, str]]:
    """Return the rows of a trace in their order: the turn, a title, and what stands below it."""
    chosen = {one.turn: one for one in trace.decisions if one.what == "speaker"}
    found: list[tuple[int, int, str, str]] = []
    for message, row in zip(trace.messages, trace.turns, strict=True):
        turn = int(row["turn"])
        who = _named(message.sender, trace.roles)
        title = f"{who} → {message.recipient} · {message.message_type} ({message.status})"
        decision = chosen.get(turn)
        if decision is not None and message.sender == decision.choice:
            who = f"{decision.who}, a model" if decision.by == "model" else decision.who
            title += f" — by {who}{f': {decision.reason}' if decision.reason else ''}"
        found.append((turn, 10_000, title, message.content))
    for refusal in trace.refusals:
        content = str(refusal.message.get("content") or "")
        title = f"{_named(refusal.sender, trace.roles)} · refused by {refusal.rule}: {refusal.text} → {refusal.outcome}"
        found.append((refusal.turn, refusal.attempt, title, content))
    return [(turn, title, body) for turn, _, title, body in sorted(found, key=lambda row: row[:2])]


def _named(name: str, roles: Mapping[str, str]) -> str:
    return f"{name} ({roles[name]})" if roles.get(name) else name


# --- spans ------------------------------------------------------------------------------------------------------------


def as_spans(trace: CollaborationTrace) -> list[dict[str, Any]]:
    """Return a trace as spans, in the JSON encoding of OpenTelemetry (OTLP): one of the session, one of each message and refusal.

    Ids follow from the trace, so that the same trace gives the same spans.
    """
    first = trace.turns[0]["began"] if trace.turns else ""
    base = sha256(f"{trace.session_id} {trace.query} {first}".encode(errors="surrogatepass"))
    trace_id, root = base.hexdigest()[:32], base.hexdigest()[32:48]
    times = [(float(row["began"]), float(row["ended"])) for row in trace.turns]
    times += [(refusal.began, refusal.ended) for refusal in trace.refusals]
    began, ended = (min(t[0] for t in times), max(t[1] for t in times)) if times else (0.0, 0.0)
    about = {
        "skillkit.collaboration.id": trace.session_id,
        "skillkit.collaboration.outcome": trace.outcome,
        "skillkit.collaboration.reason": trace.convergence_reason,
        "skillkit.collaboration.turns": trace.total_turns,
        "skillkit.collaboration.model_calls": trace.model_calls,
        "skillkit.collaboration.tokens": trace.tokens,
    }
    code = {"failed": 2}.get(trace.outcome, 1)
    found = [_span(trace_id, root, "", f"collaboration {trace.session_id}", began, ended, about, code)]
    for place, (message, row) in enumerate(zip(trace.messages, trace.turns, strict=True), 1):
        attributes = {
            "skillkit.collaboration.turn": int(row["turn"]),
            "skillkit.message.type": str(message.message_type),
            "skillkit.message.status": message.status,
            "skillkit.message.sender": message.sender,
            "skillkit.message.recipient": message.recipient,
            "skillkit.message.role": trace.roles.get(message.sender, ""),
            "skillkit.message.tokens": int(row.get("tokens") or 0),
            "skillkit.message.model_calls": int(row.get("calls") or 0),
        }
        span = sha256(f"{trace_id} {place}".encode()).hexdigest()[:16]
        name = f"{message.sender} {message.message_type}"
        found.append(_span(trace_id, span, root, name, float(row["began"]), float(row["ended"]), attributes, 1))
    for place, refusal in enumerate(trace.refusals, 1):
        attributes = {
            "skillkit.collaboration.turn": refusal.turn,
            "skillkit.message.type": str(refusal.message.get("message_type") or ""),
            "skillkit.message.sender": refusal.sender,
            "skillkit.message.role": trace.roles.get(refusal.sender, ""),
            "skillkit.refusal.rule": refusal.rule,
            "skillkit.refusal.outcome": refusal.outcome,
        }
        span = sha256(f"{trace_id} refused {place}".encode()).hexdigest()[:16]
        name = f"{refusal.sender} refused: {refusal.rule}"
        found.append(_span(trace_id, span, root, name, refusal.began, refusal.ended, attributes, 2))
    return found


def _span(
    trace_id: str, span: str, parent: str, name: str, began: float, ended: float, about: Mapping[str, Any], code: int
) -> dict[str, Any]:
    attributes = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}}
        for key, value in about.items()
    ]
    return {
        "traceId": trace_id,
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(int(began * 1e9)),
        "endTimeUnixNano": str(int(ended * 1e9)),
        "attributes": attributes,
        "status": {"code": code},
    }
