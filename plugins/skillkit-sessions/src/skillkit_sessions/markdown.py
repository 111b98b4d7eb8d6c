"""A branch of a session as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader

from .branches import Branches
from .describe import Part, parts_of, relation, title_of
from .output import time_of

__all__ = ["to_markdown"]


def to_markdown(header: SessionHeader, branches: Branches, path: list[SessionEntry]) -> str:
    """The entries of ``path`` as a document: a heading for each, calls and results in fences that nothing can end early."""
    out = [f"# {_inline(branches.title or header.title or header.id)}", ""]
    out.append(f"Session `{header.id}`, {time_of(header.created)}" + (f", `{header.cwd}`" if header.cwd else ""))
    if header.parent_session:
        out += ["", f"{relation(header).capitalize()} `{header.parent_session}`"]
    for entry in path:
        label = branches.labels.get(entry.id)
        named = f" ({_inline(label)})" if label else ""
        out += ["", f"## {title_of(entry).capitalize()}{named}", "", f"<!-- {entry.id} {time_of(entry.ts)} -->"]
        for part in parts_of(entry):
            out += ["", *_part(part, fenced=title_of(entry) == "result")]
    return "\n".join(out) + "\n"


def _part(part: Part, *, fenced: bool) -> Iterator[str]:
    if part.kind == "call":
        yield f"**{_inline(part.name)}**"
        yield ""
        yield from _fence(part.text, "json")
    elif part.kind == "result":
        yield f"**{_inline(part.name)}**" + (" failed" if part.text else "")
    elif part.kind == "thinking":
        yield from ("> " + line for line in part.text.splitlines())
    elif part.kind == "media":
        yield f"[{part.name}]" + (f" {_inline(part.text)}" if part.text else "")
    elif part.kind == "data" or fenced:
        yield from _fence(part.text, "")
    else:
        yield part.text


def _fence(text: str, language: str) -> Iterator[str]:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    yield f"{ticks}{language}"
    yield text
    yield ticks


def _inline(text: str) -> str:
    """``text`` where a line must stay one line and must not format anything."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
