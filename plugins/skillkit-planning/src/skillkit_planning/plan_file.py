"""The plan: one file of the workspace, kept in the session by its digest, so that a branch finds its own again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UsageError

from .state import ACTIVITY, DEFAULTS, Settings

if TYPE_CHECKING:
    from skillkit_core import Host, Session

__all__ = ["MAX_PLAN", "current_plan", "keep_plan", "kept_text", "plan_path", "plan_to_execute", "settings_of"]

MAX_PLAN = 256 * 1024  # bytes
NOTE = "planning.plan"


def settings_of(host: Host) -> Settings:
    """Return the section ``planning``."""
    section = host.config.section("planning", DEFAULTS)
    return Settings(section.file, section.network, bool(_users(host, "commands")))


def _users(host: Host, key: str) -> Any:
    """Return a setting as the user, the application or the distribution says: no project changes it."""
    for layer in reversed(host.config.layers):
        given = layer.data.get("planning")
        if layer.name != "project" and isinstance(given, Mapping) and key in given:
            return str(given[key]).lower() in ("true", "1", "yes", "on")
    return None


def policy_of(host: Host, cwd: Path, *, writes: bool) -> dict[str, Any]:
    """Return the data of the sandbox policy of a plan: everything is readable, the plan is writable, the network is off.

    A sandbox lets the plan be written in place, so its folder is made here. A link on the way to the plan gets no file.

    Args:
        writes: the plan is writable; ``False`` for an agent that another one asked.
    """
    path = plan_path(host, cwd)
    files = [str(path)] if writes and os.path.realpath(path) == str(path) else []
    try:
        if files:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        files = []  # then nobody can write the plan, and reading goes on
    return {"write": [], "write_files": files, "network": "on" if settings_of(host).network else "off"}


def plan_path(host: Host, cwd: Path) -> Path:
    """Return where the plan is: below the real path of the workspace, and no link counts on the way."""
    return Path(os.path.realpath(cwd)) / settings_of(host).file


def read_plan(host: Host, cwd: Path) -> str | None:
    """Return the text of the plan file; ``None`` without one.

    Raises:
        UsageError: the file is a link, too large or no text.
    """
    path = plan_path(host, cwd)
    if not os.path.lexists(path):
        return None
    if os.path.realpath(path) != str(path):
        raise UsageError(f"the plan {path} is a link", hint="remove it, or choose another file with planning.file")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PLAN + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the plan {path} cannot be read: {error}") from None
    if len(data) > MAX_PLAN:
        raise UsageError(f"the plan {path} is larger than {MAX_PLAN // 1024} KiB", hint="shorten it")
    return text.strip() or None


async def keep_plan(session: Session, host: Host, cwd: Path) -> str | None:
    """Keep the plan in the session if it is new there; return its text."""
    text = current_plan(session, host, cwd)
    if text is None:
        return None
    digest = _digest(text)
    notes = session.notes(NOTE)
    if not notes or notes[-1].data.get("digest") != digest:
        await session.note(NOTE, plan_note(session, host, text, session.id))
    return text


def plan_note(session: Session, host: Host, text: str, made_in: str) -> dict[str, Any]:
    """Return what names a plan in a note; the text of a session that is kept lies in the plugin's folder, with who made it."""
    digest = _digest(text)
    data: dict[str, Any] = {"digest": digest, "bytes": len(text.encode())}
    if session.location is None:
        return {**data, "text": text}
    path = _kept_path(host, digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for whole, said in ((path.with_suffix(".session"), made_in), (path, text)):
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_text(said, "utf-8")
            fresh.replace(whole)
    return data


def kept_text(host: Host, data: Mapping[str, Any]) -> str | None:
    """Return the plan that a note names; ``None``: its file is gone."""
    if isinstance(data.get("text"), str):
        return str(data["text"])
    path = _kept_path(host, str(data.get("digest")))
    return path.read_text("utf-8") if path.is_file() else None


def current_plan(session: Session, host: Host, cwd: Path) -> str | None:
    """Return the plan of the current branch; ``None`` without one.

    The file counts, because a person may have edited it, unless it holds the plan of another branch or of another session.

    Raises:
        UsageError: the file cannot be read.
    """
    text, notes = read_plan(host, cwd), session.notes(NOTE)
    if not notes:
        return text
    mine = notes[-1].data
    if text is None:
        return kept_text(host, mine)
    digest = _digest(text)
    others = _noted(session, digest) is not None or _maker(host, digest) not in (None, session.id)
    if digest != mine.get("digest") and others:
        return kept_text(host, mine) or text
    return text


async def plan_to_execute(session: Session, host: Host, cwd: Path) -> tuple[str, str]:
    """Return the plan that a session carries out, and a line that says which it is, from when, and who made it.

    Raises:
        UsageError: there is no plan, or the file holds that of another session.
    """
    file, text = settings_of(host).file, current_plan(session, host, cwd)
    if text is None:
        hint = "make one: /plan TEXT, or skillkit plan TEXT"
        raise UsageError(f"there is no plan in session {session.id}, and none in {file}", hint=hint)
    digest, notes = _digest(text), session.notes(NOTE)
    noted = _noted(session, digest)
    maker = noted or _maker(host, digest)
    if noted is None and maker not in (None, session.id) and maker in await host.session_store().ids():
        hint = f"skillkit plan --exec --from {maker} carries it out"
        raise UsageError(f"the plan in {file} is of session {maker}, not of {session.id}", hint=hint)
    if maker is not None:
        who = f"made in session {maker}"
    else:
        who = f"changed since session {session.id} made it" if notes else "which no session made"
    if text == read_plan(host, cwd):
        return text, f"Plan: {file} of {_minute(plan_path(host, cwd).stat().st_mtime)}, {who}."
    return text, f"Plan: the one of {_minute(notes[-1].ts)}, {who}; {file} holds another one, or none."


def _noted(session: Session, digest: str) -> str | None:
    """Return the session that made a plan, if this one did on any branch, or carries it out."""
    noted = (e.data for e in session.entries if e.data.get("custom_type") in (NOTE, ACTIVITY))
    return next((str(data.get("planned_in", session.id)) for data in noted if data.get("digest") == digest), None)


def _maker(host: Host, digest: str) -> str | None:
    """Return the first session that kept a plan."""
    path = _kept_path(host, digest).with_suffix(".session")
    return path.read_text("utf-8") if path.is_file() else None


def _minute(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _kept_path(host: Host, digest: str) -> Path:
    return host.data_dir / "planning" / f"{''.join(c for c in digest if c.isalnum())}.md"
