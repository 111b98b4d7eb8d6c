"""Facts of the environment, which a model is told in messages: what was sent before stays as it was.

They stand before the first request of a session, in a message that compaction keeps. Before later requests stands what has
changed since.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.frozen import freeze
from skillkit_core.messages import CustomMessage, blocks_of
from skillkit_core.settings.documents import open_regular
from skillkit_core.settings.trust import Trust

from .workspace import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["FACTS", "facts_of", "new_facts"]

FACTS = "context.facts"  # the type of the messages
_LABELS = {"cwd": "Working directory", "date": "Date", "platform": "Platform", "git": "Git"}
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase", "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert", "BISECT_LOG": "a bisection",
}  # fmt: skip
_BRANCH = re.compile(r"ref: refs/heads/([^\s\x00-\x1f~^:?*\[\\]{1,200})\Z")
_MOST = 4_096  # bytes of a file of git


def new_facts(agent: AgentRunner) -> CustomMessage | None:
    """Return a message with the facts that the model has not been told, or not as they are now."""
    told = _told(agent)
    facts = facts_of(agent)
    new = {name: text for name, text in facts.items() if told.get(name) != text}
    if not new:
        return None
    # a wire may put the request right behind it
    tag = "environment-changed" if told else "environment"
    lines = (f"{_LABELS[name]}: {text}\n" for name, text in new.items())
    text = f"<{tag}>\n{''.join(lines)}</{tag}>\n"
    return CustomMessage(
        custom_type=FACTS,
        content=blocks_of(text),
        in_context=True,
        display=False,
        details=freeze({"facts": new}),
        pinned=not told,
    )


def facts_of(agent: AgentRunner) -> dict[str, str]:
    """Return the facts that the configuration names, as they are now."""
    found: dict[str, str | None] = {}
    for name in settings_of(agent.host).facts:
        if name == "cwd":
            found[name] = str(agent.cwd)
        elif name == "date":
            now = time.localtime(agent.clock.time())
            found[name] = f"{time.strftime('%Y-%m-%d', now)} ({_DAYS[now.tm_wday]})"
        elif name == "platform":
            found[name] = _SYSTEMS.get(sys.platform, sys.platform)
        else:
            found[name] = _git(agent.cwd) if _trusted(agent) else None
    return {name: text for name, text in found.items() if text}


def _told(agent: AgentRunner) -> dict[str, str]:
    """Return the facts as messages of the context tell them; each message is looked at once."""
    state, session = agent.state("context"), agent.session
    if state.get("generation") != session.generation:
        state.update(generation=session.generation, seen=0, told={})
    told: dict[str, str] = state["told"]
    for message in session.context[state["seen"] :]:
        if isinstance(message, CustomMessage) and message.custom_type == FACTS and message.details:
            told.update(message.details["facts"])
    state["seen"] = len(session.context)
    return told


def _trusted(agent: AgentRunner) -> bool:
    """Return whether the working directory is trusted: the name of a branch is a text that came with the folder."""
    if agent.cwd == agent.host.cwd:
        return agent.host.withheld is not None
    return Trust(agent.host.data_dir).changed(agent.cwd) is not None


def _git(cwd: Path) -> str | None:
    """Return the branch of the repository, and what is under way in it. No program runs: a repository can name programs."""
    place = next((here / ".git" for here in (cwd, *cwd.parents) if os.path.lexists(here / ".git")), None)
    if place is None:
        return None
    if place.is_file():  # of a worktree or a submodule
        place = place.parent / _line(place).removeprefix("gitdir:").strip()
    head = _line(place / "HEAD")
    if branch := _BRANCH.match(head):
        state = f"branch {branch[1]}" if branch[1] != ".invalid" else "a repository"
    elif re.fullmatch(r"[0-9a-f]{40,64}", head):
        state = f"no branch, commit {head[:12]}"
    else:
        return None
    under_way = dict.fromkeys(what for name, what in _UNDER_WAY.items() if os.path.lexists(place / name))
    return ", ".join([state, *(f"{what} is under way" for what in under_way)])


def _line(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.read(_MOST).decode("utf-8", "replace").strip()
    except OSError:
        return ""
