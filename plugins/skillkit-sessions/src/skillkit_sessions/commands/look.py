"""``skillkit sessions list|show|tree|search|path``: what does not change anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from skillkit_core.cli.output import echo, json_option, print_json, printable, style, terminal_width, warning
from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionStore

from ..branches import Branches, is_note, role_of
from ..children import Child, children_of
from ..describe import line_of, parts_of, relation, title_of
from ..drawing import Node, walk
from ..output import cut, print_table, print_text, time_of
from .common import entry_json, header_json, opened, session_argument, store_option, work
from .proposal import Proposal
from .resume import GOES_ON, STATES

__all__ = ["list_", "path", "search", "show", "tree"]

_WIDTH = 80
_MOST_NAMED = 5  # sessions that a search names one by one where it could not search them
_COLOURS = {"user": "green", "assistant": "cyan", "tool_result": "yellow"}


@click.command("list", help="List sessions, newest first.")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--all", "everything", is_flag=True, help="List all of them.")
@store_option
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int, everything: bool, store: str | None, as_json: bool) -> None:
    """``id, created, updated, cwd, title, messages, suspended, location, parent_session, nested``; broken ones: ``error``."""
    rows = work(ctx, store, lambda s: s.list(limit=None if everything else limit))
    if as_json:
        print_json(list(rows))
    elif not rows:
        print_text("no sessions yet")
    else:
        shown = [
            {
                **row,
                "updated": time_of(row["updated"]),
                "state": "suspended" if row.get("suspended") else "agent" if row.get("nested") else "",
                "title": row.get("error") or row["title"] or row["cwd"],
            }
            for row in rows
        ]
        state = ["state"] if any(row["state"] for row in shown) else []
        print_table(shown, ["id", "updated", "messages", *state, "title"], {"state": "yellow"})


@click.command(help="Show what was said in a session. SESSION is its id, or the start of it; default: the latest.")
@click.argument("session", required=False)
@click.option("--entry", metavar="ID", help="Show this entry only: its id, the start of it, or its label.")
@click.option("--all", "everything", is_flag=True, help="Every entry of every branch, with the ledger and other notes.")
@store_option
@json_option
@click.pass_context
def show(
    ctx: click.Context, session: str | None, entry: str | None, everything: bool, store: str | None, as_json: bool
) -> None:
    """JSON: ``{"session": header, "leaf": id, "state": state, "labels": {entry: text}, "entries": [...]}``.

    ``state`` is where the current branch ended; see :meth:`Branches.state`.
    """

    async def read(s: SessionStore) -> tuple[SessionHandle, Branches]:
        async with opened(s, session) as found:
            return found

    handle, branches = work(ctx, store, read)
    entries = branches.entries if everything else branches.path()
    if entry is not None:
        found = branches.find(entry)
        entries = [branches.by_id[found]] if found is not None else []
    if as_json:
        about = {"session": header_json(handle, branches), "leaf": branches.leaf, "state": branches.state()["state"]}
        about["labels"] = branches.labels
        print_json({**about, "entries": [entry_json(e) for e in entries]})
        return
    if entry is None:
        _print_header(handle, branches)
    for one in entries:
        if everything or entry is not None or not is_note(one):
            _print_entry(one, branches)
    if entry is None:
        _print_end(branches, Proposal.of(ctx, store, handle.header.id, branches))


def _print_end(branches: Branches, proposal: Proposal) -> None:
    """Say that the session can go on by itself, if it can."""
    state = branches.state()["state"]
    if state in GOES_ON:
        print_text("")
        echo(style(f"{state}: {STATES[state]}", fg="yellow"))
        print_text(f"go on with: {proposal.go_on()}")


def _print_header(handle: SessionHandle, branches: Branches) -> None:
    header = handle.header
    about = [f"session {header.id}", time_of(header.created), header.cwd or "-"]
    tips = sum(not branches.children.get(e.id) for follow in branches.children.values() for e in follow)
    about.append(f"{len(branches.entries)} entries" + (f", {tips} branches" if tips > 1 else ""))
    print_text(", ".join(str(word) for word in about))
    if branches.title or header.title:
        print_text(branches.title or header.title or "")
    if header.parent_session:
        print_text(f"{relation(header)} {header.parent_session}")


def _print_entry(entry: SessionEntry, branches: Branches) -> None:
    label = branches.labels.get(entry.id)
    head = f"[{entry.id} {title_of(entry)}]" + (f" ({label})" if label else "")
    print_text("")
    echo(style(printable(head), fg=_COLOURS.get(role_of(entry)), bold=True))
    for part in parts_of(entry):
        if part.kind == "call":
            print_text(f"→ {part.name} {part.text}")
        elif part.kind == "thinking":
            echo(style(printable(part.text), dim=True))
        elif part.kind in ("media", "result"):
            print_text(f"{part.name} {part.text}".strip())
        elif part.text:
            print_text(part.text)


@click.command(help="Draw the branches of a session and the agents that worked in it. Default: the latest session.")
@click.argument("session", required=False)
@store_option
@json_option
@click.pass_context
def tree(ctx: click.Context, session: str | None, store: str | None, as_json: bool) -> None:
    """JSON: ``{"session": header, "leaf": id, "entries": [...], "agents": [...]}`` in the order of the drawing.

    An entry there is ``id, parent_id, type, role, ts, text, label, depth, on_path, children``, an agent
    ``agent, path, session, title, kept, requests, tokens, cost``.
    """

    async def read(s: SessionStore) -> tuple[SessionHandle, Branches, list[Child]]:
        async with opened(s, session) as (handle, branches):
            return handle, branches, await children_of(s, branches.entries)

    handle, branches, agents = work(ctx, store, read)
    if as_json:
        nodes = [_node_json(node, branches) for node in walk(branches)]
        about = {"session": header_json(handle, branches), "leaf": branches.leaf, "entries": nodes}
        print_json({**about, "agents": [agent.to_dict() for agent in agents]})
        return
    _print_header(handle, branches)
    width = terminal_width() or _WIDTH
    for line in _drawn(branches, width):
        echo(line)
    if branches.leaf is None:
        echo("● the next entry is a first one")
    if agents:
        echo("agents")
    for agent in agents:
        depth = sum(other.path == agent.path[: len(other.path)] for other in agents if other is not agent)
        count = "1 request" if agent.requests == 1 else f"{agent.requests} requests"
        used = f"{count}, {agent.tokens:,} tokens" + (f", ${agent.cost:.4f}" if agent.cost else "")
        place = agent.session if agent.kept else "not kept"
        head = f"{'   ' * depth}└─ {printable(agent.path[-1])}  {place}  {used}"
        echo(f"{head}  {cut(printable(agent.title or ''), max(12, width - len(head) - 2))}".rstrip())


def _node_json(node: Node, branches: Branches) -> dict[str, Any]:
    entry = node.entry
    return {
        "id": entry.id,
        "parent_id": branches.above(entry.parent_id),
        "type": entry.type,
        "role": role_of(entry),
        "ts": entry.ts,
        "text": line_of(entry),
        "label": branches.labels.get(entry.id),
        "depth": node.depth,
        "on_path": node.on_path,
        "children": list(node.children),
    }


def _drawn(branches: Branches, width: int) -> Iterator[str]:
    """Lines of at most ``width`` characters: ● leads to the leaf, ○ does not."""
    longest = max((len(entry.id) for entry in branches.entries), default=0)
    shown = branches.leaf
    while shown is not None and is_note(branches.by_id[shown]):
        shown = branches.above(branches.by_id[shown].parent_id)
    for node in walk(branches):
        entry = node.entry
        if is_note(entry):
            continue
        here = entry.id == shown
        label = branches.labels.get(entry.id)
        tail = (f" ({cut(printable(label), 24)})" if label else "") + (" ← here" if here else "")
        mark = "●" if node.on_path else "○"
        head = f"{node.lines}{mark} {entry.id:<{longest}} {title_of(entry)} "
        room = width - len(head) - len(tail)
        text = cut(printable(line_of(entry)), room) if room > 4 else ""
        coloured = f"{style(title_of(entry), fg=_COLOURS.get(role_of(entry)))} "
        left = f"{node.lines}{style(mark, bold=here)} {entry.id:<{longest}} {coloured}"
        yield (left + text + style(tail, bold=True, fg="magenta" if label else None)).rstrip()


@click.command(help="Print where a session is kept. SESSION is its id, or the start of it.")
@session_argument
@store_option
@json_option
@click.pass_context
def path(ctx: click.Context, session: str, store: str | None, as_json: bool) -> None:
    """JSON: ``{"id": ..., "location": ...}``."""

    async def read(s: SessionStore) -> SessionHandle:
        async with opened(s, session) as (handle, _):
            return handle

    handle = work(ctx, store, read)
    if as_json:
        print_json({"id": handle.header.id, "location": handle.location})
    else:
        print_text(handle.location or "the store keeps no files")


@click.command(
    help="Find entries that contain QUERY. The newest session comes first, or the best where the store ranks."
)
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@store_option
@json_option
@click.pass_context
def search(ctx: click.Context, query: str, limit: int, store: str | None, as_json: bool) -> None:
    """``session_id, entry_id, ts, excerpt``, at the end ``error`` for sessions that were not searched.

    The exit code is 1 when nothing fits.
    """

    async def collect(s: SessionStore) -> list[Mapping[str, Any]]:
        return [row async for row in s.search(query, limit=limit)]

    rows = work(ctx, store, collect)
    hits = [row for row in rows if not row.get("error")]
    left_out = [row for row in rows if row.get("error")]
    if as_json:
        print_json(rows)
    elif hits:
        print_table(
            [{**hit, "time": time_of(hit["ts"])} for hit in hits], ["session_id", "entry_id", "time", "excerpt"]
        )
    else:
        echo(f"nothing contains {printable(query)!r}", err=True)
    if not as_json:
        for row in left_out[:_MOST_NAMED]:
            warning(f"session {row['session_id']} was not searched, or not all of it: {row['error']}")
        if len(left_out) > _MOST_NAMED:
            warning(f"{len(left_out)} sessions were not searched, or not all of them; '--json' names each")
    if not hits:
        ctx.exit(1)
