"""From the options to the session of an agent: which one is opened, with which model, folders of skills and opt-in tools."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from skillkit_core.cli.output import warning
from skillkit_core.cli.sessions import latest_session
from skillkit_core.errors import UsageError
from skillkit_core.host.skills import TYPE, kept_folders, unused_folders

from .options import Choices

if TYPE_CHECKING:
    from skillkit_core import AssistantMessage, Host, Session
    from skillkit_core.contracts.adapter import LLMAdapter

__all__ = [
    "TITLE", "as_before", "get_ready", "keep_folders", "keeps_sessions", "last_answer", "offer_what_asks", "say_missing",
    "session_for",
]  # fmt: skip

TITLE = 80
"""Characters of a request that name its session."""
_ASKS = ("bash", "web_fetch", "web_search")
_GUARD = "permissions"


def offer_what_asks(host: Host) -> None:
    """Offer the opt-in tools about which a guard asks before each call: here a person answers."""
    guard = host.plugins.get(_GUARD)
    if guard is not None and "before_tool_call" in guard.hooks:
        host.configure({"tools.allow": [*host.config.get("tools.allow", ()), *_ASKS]})


def keeps_sessions(host: Host, options: Choices) -> bool:
    """Return whether the session outlives this process."""
    return not options.no_session and bool(host.session_stores.list())


async def session_for(host: Host, options: Choices) -> str | None:
    """Return what to hand to the agent as its session."""
    if options.no_session:
        return None
    if options.session:
        return await host.session_store().find(options.session)
    if options.resume:
        found = await latest_session(host.session_store())
        if found is None:
            raise UsageError("there is no session to continue")
        return found
    return "new"


def last_answer(session: Session) -> AssistantMessage | None:
    """Return the last answer on the branch of a session."""
    from skillkit_core import AssistantMessage

    return next((m for m in reversed(session.messages) if isinstance(m, AssistantMessage)), None)


def as_before(host: Host, options: Choices, last: AssistantMessage | None) -> dict[str, Any]:
    """Return the fields of an agent's configuration that choose the model of the last answer, unless one was named."""
    if last is None or options.model or options.provider or options.base_url or last.provider not in host.adapters:
        return {}
    item = host.adapters.provider(last.provider)
    api = last.api if item is not None and last.api in item.apis else None
    return {"provider": last.provider, "model": last.model or None, "api": options.api or api}


def get_ready(adapter: LLMAdapter) -> None:
    """Let an adapter import in a thread what its first request needs, while the person types that request."""

    def work() -> None:
        with suppress(Exception):  # the request says what is wrong
            adapter.prepare()

    Thread(target=work, name="get ready").start()  # no daemon: Python crashes when it ends in the middle of an import


async def keep_folders(session: Session, folders: Iterable[Path]) -> None:
    """Write into the session which folders of skills it was given with ``--skills-dir``, unless it says so."""
    kept = kept_folders(session.entries)
    if new := [text for folder in folders if (text := str(folder.resolve())) not in kept]:
        await session.append("custom", {"custom_type": TYPE, "dirs": new})


def say_missing(host: Host, session: Session) -> None:
    """Say on stderr which of those folders are not used now, and what to do: their skills are silently not there."""
    for folder in unused_folders(host, session.entries):
        there = Path(folder).is_dir()
        hint = f"add --skills-dir {shlex.quote(folder)}" if there else "the folder is gone"
        warning(f"session {session.id} was given the skills in {folder}, which are not used now; {hint}")
