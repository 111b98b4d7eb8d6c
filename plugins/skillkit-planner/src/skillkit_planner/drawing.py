"""A plan as a drawing: for the terminal, as SVG, and as JSON, with states, times, tokens and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from skillkit_core.cli.output import shorten
from skillkit_core.frozen import thaw

from .notes import PlanView, StepView
from .telling import MARKS, WORDS

__all__ = ["as_json", "as_svg", "as_text", "became", "headline", "trace_of"]

WIDTH = 100


def headline(view: PlanView) -> str:
    """Return a plan on one line: its name, status, steps, time, tokens and cost."""
    done = sum(step.state == "completed" for step in view.steps.values())
    facts = [f"plan {view.plan.id}", view.status, f"{done} of {len(view.steps)} steps done", *_facts(view)]
    return " · ".join(filter(None, facts))


def _facts(about: PlanView | StepView) -> Iterator[str]:
    if about.ms:
        yield f"{about.ms / 1000:.1f} s"
    if about.tokens:
        yield f"{about.tokens:,} tokens"
    if about.cost:
        yield f"${about.cost:.4f}"


def as_text(view: PlanView, width: int = WIDTH) -> str:
    """Return the graph of a plan in lines: each step below the last of the steps that it waits for."""
    lines = [headline(view)]
    below: dict[int | None, list[int]] = {}
    for number, step in sorted(view.steps.items()):
        before = [one for one in step.step.depends_on if one in view.steps]
        below.setdefault(max(before, default=None), []).append(number)
    lines += _branch(view, below, None, "", width)
    return "\n".join(lines)


def _branch(
    view: PlanView, below: Mapping[int | None, Sequence[int]], above: int | None, indent: str, width: int
) -> Iterator[str]:
    numbers = below.get(above, ())
    for place, number in enumerate(numbers):
        last = place == len(numbers) - 1
        head = indent + ("" if above is None else "└─ " if last else "├─ ")
        yield head + shorten(_step_line(view, view.steps[number]), max(20, width - len(head)))
        inner = indent + ("" if above is None else "   " if last else "│  ")
        yield from _branch(view, below, number, inner, width)


def became(view: PlanView, step: StepView) -> list[str]:
    """Return what became of a step, in words: its state, time, tokens, cost, and why it is not done."""
    told = [WORDS.get(step.state, step.state), *_facts(step)]
    if step.attempt > 1:
        told.append(f"attempt {step.attempt}")
    if step.step.step_id in view.replaced:
        told.append("replaced")
    if step.reason and step.state != "completed":
        told.append(step.reason)
    return told


def _step_line(view: PlanView, step: StepView) -> str:
    after = f" (after {', '.join(map(str, step.step.depends_on))})" if len(step.step.depends_on) > 1 else ""
    words = " ".join(step.step.sub_query.split())
    return (
        f"{MARKS[step.state]} {step.step.step_id} {step.step.target}{after}: {' · '.join(became(view, step))} — {words}"
    )


def as_json(view: PlanView) -> dict[str, Any]:
    """Return a plan as JSON: what was planned, what became of each step, and its trace."""
    return {
        "id": view.plan.id,
        "query": view.query,
        "by": view.by,
        "reasoning": view.plan.reasoning,
        "status": view.status,
        "ms": view.ms,
        "calls": view.calls,
        "tokens": view.tokens,
        "cost": round(view.cost, 6),
        "replaced": list(view.replaced),
        "steps": [_step_json(step) for _, step in sorted(view.steps.items())],
        "trace": trace_of(view),
    }


def _step_json(step: StepView) -> dict[str, Any]:
    return {
        **step.step.to_dict(),
        "target": step.step.target,
        "state": step.state,
        "attempt": step.attempt,
        "reason": step.reason,
        "ms": step.ms,
        "began": step.began,
        "ended": step.ended,
        "calls": step.calls,
        "tokens": step.tokens,
        "cost": round(step.cost, 6),
        "session": step.session,
        "result": dict(thaw(step.result)),
    }


def trace_of(view: PlanView) -> list[dict[str, Any]]:
    """Return the records of the steps, in the order of the steps and their attempts.

    With the same answers of models two traces of one plan are equal but for ``ms``.
    """
    found = []
    for record in view.records:
        kept = {name: thaw(value) for name, value in record.items() if name not in ("plan", "session")}
        found.append({"step": kept.pop("step_id"), **kept})
    return sorted(found, key=lambda row: row["step"])


# --- SVG --------------------------------------------------------------------------------------------------------------

_BOX, _GAP, _HIGH, _ROW = 240, 60, 62, 86
_COLOURS = {
    "completed": "#2e7d32", "failed": "#c62828", "skipped": "#8d6e63", "cancelled": "#6d4c41", "waiting": "#f9a825",
    "running": "#1565c0", "retrying": "#1565c0",
}  # fmt: skip


def as_svg(view: PlanView) -> str:
    """Return the graph of a plan as an SVG document: a column for each distance from the first steps."""
    columns: dict[int, list[int]] = {}
    for number in sorted(view.steps):
        columns.setdefault(_depth(view, number), []).append(number)
    places = {n: (20 + x * (_BOX + _GAP), 50 + y * _ROW) for x, row in columns.items() for y, n in enumerate(row)}
    width = 40 + len(columns) * (_BOX + _GAP) - _GAP
    height = 60 + max(map(len, columns.values()), default=0) * _ROW
    edges = (
        _edge(places[one], places[n]) for n, step in view.steps.items() for one in step.step.depends_on if one in places
    )
    boxes = (_box(view.steps[number], *places[number]) for number in sorted(places))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="13">',
            '<defs><marker id="arrow" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="20" y="28" fill="#222">{escape(headline(view))}</text>',
            *edges,
            *boxes,
            "</svg>",
        ]
    )


def _depth(view: PlanView, number: int) -> int:
    before = [one for one in view.steps[number].step.depends_on if one in view.steps]
    return 1 + max(_depth(view, one) for one in before) if before else 0


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1, x2, y2 = start[0] + _BOX, start[1] + _HIGH // 2, end[0] - 2, end[1] + _HIGH // 2
    middle = (x1 + x2) // 2
    return f'<path d="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}" fill="none" stroke="#777" marker-end="url(#arrow)"/>'


def _box(step: StepView, x: int, y: int) -> str:
    colour = _COLOURS.get(step.state, "#9e9e9e")
    facts = " · ".join([WORDS.get(step.state, step.state), *_facts(step)])
    words = " ".join(step.step.sub_query.split())
    rows = (
        (20, "#222", "600", f"{MARKS[step.state]} {step.step.step_id} {step.step.target}"),
        (37, colour, "400", facts),
        (53, "#555", "400", words),
    )
    texts = "".join(
        f'<text x="{x + 12}" y="{y + dy}" fill="{fill}" font-weight="{weight}">{escape(shorten(text, 34))}</text>'
        for dy, fill, weight, text in rows
    )
    title = f"<title>{escape(words)}{escape(chr(10) + step.reason) if step.reason else ''}</title>"
    return (
        f'<g>{title}<rect x="{x}" y="{y}" width="{_BOX}" height="{_HIGH}" rx="8" fill="#fafafa" stroke="{colour}" '
        f'stroke-width="2"/>{texts}</g>'
    )
