"""What a task of research did, for people: the section of ``skillkit why``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_engines import TASK

from .work import END

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["rows_of", "sections"]


def sections(agent: AgentRunner) -> Sequence[Any]:
    """Return the section Research, where the last task of the branch was one."""
    session = agent.open_session
    tasks = session.notes(TASK) if session is not None else ()
    if session is None or not tasks or tasks[-1].data.get("engine") != "research":
        return ()
    ends = [note.data for note in session.notes(END) if note.data.get("task") == tasks[-1].data.get("id")]
    if not ends:
        return ()
    from skillkit_why import Section

    return (Section("Research", rows_of(ends[-1])),)


def rows_of(end: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of a task: a word, and what there is to say."""
    used = end["used"]
    cost = f", ${used['cost']:.4f}" if used.get("cost") else ""
    took = (
        f"{_counted(used['requests'], 'request')}, {_counted(used['calls'], 'call')}, {used['tokens']:,} tokens{cost}"
    )
    rounds = _counted(end["rounds"], "round")
    rows = [
        ("mode", f"{end['mode']}, {rounds}"),
        ("sources", f"{end['sources']} found, {end['cited']} cited"),
        ("used", took + ("; stopped by the budget" if end["stopped"] else "")),
    ]
    rows += (("open", gap) for gap in end["gaps"])
    rows += (("left out", f'"{one["text"]}" {one["why"]}') for one in end["dropped"])
    rows += (("not had", notice) for notice in end["notices"])
    return rows


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
