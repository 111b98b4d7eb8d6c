"""The slash commands of what every agent has: its model, its session, its context, its tools."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Survey, SurveyOption, SurveyQuestion, UsageError
from skillkit_core.cli.output import short_path

from .command import SlashCommand

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["BUILTIN"]

_CHOICES = 30


async def _choose(
    ui: UserInterface | None,
    title: str,
    text: str,
    options: Iterable[tuple[str, str, str]],
    hint: str,
    now: object = None,
) -> str | None:
    """Return the value that a person chose among ``(value, label, description)``, beginning at ``now``; ``None``: none.

    Raises:
        UsageError: there is nobody to ask, or nothing to choose.
    """
    choices = tuple(SurveyOption(label, description, value) for value, label, description in options)
    if not choices:
        raise UsageError(f"{title}: there is nothing to choose")
    if ui is None:
        raise UsageError(f"{title}: nobody can be asked", hint=hint)
    default = next((option.value for option in choices if option.value == now), None)
    question = SurveyQuestion("choice", text, "choice", choices, default)
    answers = await ui.ask(Survey(title, text, (question,)))
    return str(answers["choice"]) if answers is not None else None


async def model(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str | None:
    """Show or choose the model that answers from the next request on."""
    if not arguments:
        now = agent.target
        shown = f"{now.model.provider}/{now.model.id}" if now is not None else agent.config.model or "none chosen yet"
        known = [(name, name, "") for name in complete_model(agent, "")]
        if ui is None or not known:
            return f"Model: {shown}"
        chosen = await _choose(ui, "Model", f"Now: {shown}. Which one answers?", known, "type /model NAME", shown)
        if chosen is None:
            return None
        arguments = chosen
    provider, _, name = arguments.rpartition("/") if arguments in agent.host.models else ("", "", arguments)
    agent.set_model(name, provider or None)
    return f"Model: {arguments}, from the next request on."


def complete_model(agent: AgentRunner, arguments: str) -> list[str]:
    """Return the models of the catalog whose name holds what was typed; those of the provider in use come first."""
    now = agent.target.model.provider if agent.target is not None else ""
    names = [name for name in agent.host.models.list() if arguments.lower() in name.lower()]
    return sorted(names, key=lambda name: (not name.startswith(f"{now}/"), name))


async def compact(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Shorten the conversation now."""
    before = agent.estimate_tokens(agent.messages)
    if not await agent.compact():
        return "Nothing was shortened: it would free too little."
    return f"Shortened from about {before:,} to {agent.estimate_tokens(agent.messages):,} tokens."


async def tree(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str | None:
    """Go back to an earlier message; what followed it stays as a branch."""
    session = await agent.open()
    path = {entry.id for entry in session.path()}
    said = [e for e in session.entries if e.type == "message" and e.data["message"].get("role") == "user"]
    rows = []
    for entry in said[: -_CHOICES - 1 : -1]:
        text = " ".join(b.get("text", "") for b in entry.data["message"].get("content", ()) if isinstance(b, dict))
        where = "on this branch" if entry.id in path else "on another branch"
        rows.append((entry.id, _short(text), f"{entry.id}, {where}"))
    target = arguments or await _choose(ui, "Tree", "Go back to before which message?", rows, "type /tree ENTRY")
    if target is None:
        return None
    found = next((e for e in session.entries if e.id == target), None)
    if found is None:
        raise UsageError(f"the session has no entry {target!r}", hint="type /tree alone to choose one")
    before = found.parent_id if found in said else found.id
    await agent.move_to(before)
    return f"Now {'before' if found in said else 'at'} {target}. What followed is kept as a branch."


async def fork(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Go on in a copy of this session; the old one stays as it is."""
    old = (await agent.open()).id
    session = await (agent.fork(arguments) if arguments else agent.fork())
    return f"Now in {session.id}, a copy of {old}."


async def new(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Begin a new session; the old one is kept."""
    session = await agent.switch("new")
    return f"Now in a new session, {session.id}."


async def resume(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str | None:
    """Go on with another session."""
    store = agent.host.session_store()
    if arguments:
        target: str | None = await store.find(arguments)
    else:
        rows = [
            row
            for row in await store.list(limit=_CHOICES)
            if row["id"] != agent.session_id and row.get("messages") and not row.get("nested")
        ]
        here = str(agent.cwd)
        rows.sort(key=lambda row: row.get("cwd") != here)  # those of this folder first
        options = [(str(r["id"]), _short(str(r.get("title") or r["id"])), _facts(r, here)) for r in rows]
        target = await _choose(ui, "Resume", "Go on with which session?", options, "type /resume SESSION")
    if target is None:
        return None
    session = await agent.switch(target)
    return f"Now in {session.id} with {len(session.messages)} messages."


async def session(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Show the session: its id, where it is kept, what it used."""
    opened = await agent.open()
    used, lines = opened.usage, [f"Session {opened.id}"]
    if opened.location:
        lines.append(f"Kept in {short_path(opened.location)}")
    lines.append(f"{len(opened.messages)} messages, about {agent.estimate_tokens(opened.messages):,} tokens")
    spent = f"Used {used.total:,} tokens: {used.input:,} in, {used.output:,} out, {used.cache_read:,} from a cache"
    return "\n".join([*lines, spent + (f", ${opened.cost:.4f}" if opened.cost else "")])


async def tools(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """List the tools that the model may call."""
    await agent.open()
    return "\n".join(f"{t.name}: {_short(t.description, 90)}" for t in agent.tools) or "The model has no tools."


def _short(text: str, width: int = 60) -> str:
    """Return one line of at most ``width`` characters."""
    line = " ".join(text.split()) or "(nothing)"
    return line if len(line) <= width else line[: width - 1] + "…"


def _facts(row: Mapping[str, Any], here: str) -> str:
    """Return when a session of a listing was used, how long it is, and where it was, if elsewhere."""
    updated = row.get("updated")
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(updated))) if updated else ""
    where = f", in {short_path(str(row['cwd']))}" if row.get("cwd") not in (None, "", here) else ""
    return f"{day}, {row.get('messages', 0)} messages".lstrip(", ") + where


BUILTIN = (
    SlashCommand("model", "Show or choose the model.", model, "[MODEL]", complete_model, while_running=True),
    SlashCommand("compact", "Shorten the conversation now.", compact),
    SlashCommand("tree", "Go back to an earlier message.", tree, "[ENTRY]"),
    SlashCommand("fork", "Go on in a copy of this session.", fork, "[ENTRY]"),
    SlashCommand("new", "Begin a new session.", new),
    SlashCommand("resume", "Go on with another session.", resume, "[SESSION]"),
    SlashCommand("session", "Show the session and what it used.", session, while_running=True),
    SlashCommand("usage", "Show tokens and cost.", "skillkit_commands.usage:usage", while_running=True),
    SlashCommand("tools", "List the tools that the model may call.", tools, while_running=True),
)
