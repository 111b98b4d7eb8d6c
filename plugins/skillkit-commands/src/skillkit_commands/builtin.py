"""The slash commands of what every agent has: its model, its session, its context, its tools."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core import Session, Survey, SurveyOption, SurveyQuestion, UsageError
from skillkit_core.cli.output import short_path

from .command import SlashCommand

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["BUILTIN"]

_CHOICES = 30
_LOOKED_AT = 200  # sessions at first: a listing of all takes longer


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
    store, here = agent.host.session_store(), str(agent.cwd)
    target = await store.find(arguments) if arguments else await _session_of(agent, ui, here)
    if target is None or (ui is not None and not await _taken(agent, ui, target, here)):
        return None
    session = await agent.switch(target)
    return f"Now in {session.id} with {len(session.messages)} messages."


async def _session_of(agent: AgentRunner, ui: UserInterface | None, here: str) -> str | None:
    """Return the session that a person chooses: one of this folder, or of the others, which stand apart."""
    near: list[Mapping[str, Any]] = []
    far: list[Mapping[str, Any]] = []
    for limit in (_LOOKED_AT, None):
        rows = await agent.host.session_store().list(limit=limit)
        rows = [r for r in rows if r["id"] != agent.session_id and r.get("messages") and not r.get("nested")]
        near, far = ([r for r in rows if (r.get("cwd") == here) is mine] for mine in (True, False))
        if near:
            break
    elsewhere = [("", "of other folders ...", f"{len(far)} sessions")] if far else []
    ask = partial(_choose, ui, "Resume", hint="type /resume SESSION")
    options = [(str(r["id"]), _short(str(r.get("title") or r["id"])), _facts(r)) for r in near[:_CHOICES]]
    chosen = await ask("Go on with which session of this folder?", [*options, *elsewhere]) if near else ""
    if chosen == "":
        options = [(str(r["id"]), _short(str(r.get("title") or r["id"])), _place(r)) for r in far[:_CHOICES]]
        chosen = await ask("Go on with which session of another folder?", options)
    return chosen


async def _taken(agent: AgentRunner, ui: UserInterface, target: str, here: str) -> bool:
    """Ask whether a session of another folder goes on in this one."""
    seen = await Session.open(agent.host.session_store(), target, time.time, read_only=True)
    await seen.close()
    if (cwd := seen.handle.header.cwd) == here:
        return True
    text = f"The session is of {short_path(cwd or 'a folder that is not known')}. Go on with it in {short_path(here)}?"
    answers = await ui.ask(Survey("Resume", text, (SurveyQuestion("here", text, "confirm"),)))
    return answers is not None and bool(answers["here"])


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


def _facts(row: Mapping[str, Any]) -> str:
    """Return when a session of a listing was used, and how long it is."""
    updated = row.get("updated")
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(updated))) if updated else ""
    return f"{day}, {row.get('messages', 0)} messages".lstrip(", ")


def _place(row: Mapping[str, Any]) -> str:
    """Return the facts of a session of a listing after the folder that it was in."""
    return f"in {short_path(str(row.get('cwd') or 'a folder that is not known'))}, {_facts(row)}"


BUILTIN = (
    SlashCommand("model", "Show or choose the model.", model, "[MODEL]", complete_model, while_running=True),
    SlashCommand("compact", "Shorten the conversation now.", compact),
    SlashCommand("tree", "Go back to an earlier message.", tree, "[ENTRY]"),
    SlashCommand("fork", "Go on in a copy of this session.", fork, "[ENTRY]"),
    SlashCommand("new", "Begin a new session.", new),
    SlashCommand("resume", "Go on with another session.", resume, "[SESSION]"),
    SlashCommand("session", "Show the session and what it used.", session, while_running=True),
    SlashCommand("usage", "Show tokens and cost.", "skillkit_commands.usage:usage", while_running=True),
    SlashCommand("trust", "Show what of this folder does not count, and let it.", "skillkit_commands.trusting:trust"),
    SlashCommand("tools", "List the tools that the model may call.", tools, while_running=True),
)
