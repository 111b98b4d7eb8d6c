"""From the options to the session of an agent: which one is opened, with which model, folders of skills and opt-in tools."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from skillkit_core.cli.output import echo, escaped, short_path, stdout, warning
from skillkit_core.cli.sessions import latest_session
from skillkit_core.errors import UsageError
from skillkit_core.host.skills import TYPE, kept_folders, unused_folders

from .options import Choices, config_for, configure, prepare

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, AssistantMessage, Host, Session
    from skillkit_core.contracts.adapter import LLMAdapter

__all__ = [
    "NOT_KEPT", "TITLE", "as_before", "check_workspace", "get_ready", "host_in", "keep_folders", "keeps_sessions",
    "last_answer", "offer_what_asks", "opened", "say_missing", "session_for", "settle",
]  # fmt: skip

TITLE = 80
"""Characters of a request that name its session."""
NOT_KEPT = "--approvals defer needs a session that is kept"
_ASKS = ("bash", "web_fetch", "web_search")
_GUARD = "permissions"


@asynccontextmanager
async def opened(
    host: Host, options: Choices, endpoint: Callable[[str], str] | None = None
) -> AsyncIterator[tuple[AgentRunner, bool]]:
    """Make the agent of a conversation, with its session open where it goes on; the agent and the host end with the context.

    Args:
        endpoint: the address under which this process takes clients of a session that is kept.

    Yields: the agent, and whether its session outlives this process.

    Raises:
        UsageError: there is no such session, or a decision that is put off could never be taken.
    """
    from skillkit_core import AgentRunner

    kept = keeps_sessions(host, options)
    session = await session_for(host, options) if kept or options.session or options.resume else None
    asked = options.approvals or "ask"
    if asked == "defer" and not kept:
        raise UsageError(NOT_KEPT, hint="leave --no-session out, and install a plugin that keeps sessions")
    if asked == "ask":
        offer_what_asks(host)
    agent = AgentRunner(config_for(host, options), host=host, session=session, endpoint=endpoint if kept else None)
    try:
        if session not in ("new", None):
            going_on = await agent.open()
            say_missing(host, going_on)
            if before := as_before(host, options, last_answer(going_on)):
                agent.configure(**before)
        host.freeze()
        yield agent, kept
    finally:
        await agent.aclose()
        await host.aclose()


def offer_what_asks(host: Host) -> None:
    """Offer the opt-in tools about which a guard asks before each call, because a person answers here."""
    guard, allowed = host.plugins.get(_GUARD), host.config.get("tools.allow", ())
    if guard is not None and "before_tool_call" in guard.hooks and not set(_ASKS) <= set(allowed):
        host.configure({"tools.allow": list(dict.fromkeys([*allowed, *_ASKS]))})


def settle(host: Host, *, asks: bool, **options: Any) -> None:
    """Tell a host the ``options`` of :func:`configure`, and check it. ``asks``: a person answers here."""
    configure(host, **options)
    prepare(host)
    if asks:
        offer_what_asks(host)


def host_in(host: Host, settled: Callable[[Host], None], folder: Path) -> Host:
    """Return a host for another folder: the same distribution, the same choice of plugins, settled in the same way."""
    from skillkit_core import Host

    plan = host.plan
    made = Host(plan.wanted, selection=plan.selection, environ=host.environ, cwd=folder)
    settled(made)
    return made


def keeps_sessions(host: Host, options: Choices) -> bool:
    """Return whether the session outlives this process."""
    return not options.no_session and bool(host.session_stores.list())


async def session_for(host: Host, options: Choices, *, asks: bool = True) -> str | None:
    """Return what to hand to the agent as its session.

    Args:
        asks: a person at a terminal may be asked whether the latest session of another folder goes on here.

    Raises:
        UsageError: there is no such session.
    """
    if options.no_session:
        return None
    if options.session:
        return await host.session_store().find(options.session)
    if options.resume:
        found = await latest_session(host.session_store(), host.cwd)
        return found or await _of_another_folder(host, asks and sys.stdin.isatty() and stdout().isatty())
    return "new"


async def _of_another_folder(host: Host, asks: bool) -> str:
    """Return the latest session of all if the person at the terminal takes it."""
    from skillkit_core import Session

    from .terminal import answer_to

    found = await latest_session(host.session_store())
    if found is None:
        raise UsageError("there is no session to continue")
    seen = await Session.open(host.session_store(), found, time.time, read_only=True)
    await seen.close()
    titles = [str(e.data["title"]) for e in seen.entries if e.type == "session_info" and e.data.get("title")]
    place = escaped(short_path(seen.handle.header.cwd or "a folder that is not known"))
    if asks:
        echo(f"This folder has no session. The latest one is of {place}: {escaped([found, *titles][-1])}", err=True)
        if (await answer_to("Go on with it here? [y]es, [N]o: ")).casefold() in ("y", "yes"):
            return found
    hint = f"--session {found} goes on with the latest one, of {place}"
    raise UsageError("this folder has no session to continue", hint=hint)


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


def check_workspace(made_in: str | None, workspace: Path) -> None:
    """Refuse to allow calls elsewhere: what they would do depends on the folder as much as on their arguments.

    Args:
        made_in: the folder in which the calls were made; ``None``: it is not known.

    Raises:
        UsageError: the calls were made in another folder.
    """
    if made_in is not None and Path(made_in).resolve() != workspace.resolve():
        raise UsageError(
            f"the calls that wait were made in {made_in}, and would run in {workspace}",
            hint=f"cd {shlex.quote(made_in)}",
        )
