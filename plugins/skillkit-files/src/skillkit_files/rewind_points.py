"""The places of a session that a person may go back to, and what a move of the conversation leaves in the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillkit_core import Survey, SurveyOption, SurveyQuestion, UsageError

from .change_notes import NOTE

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Session, UserInterface
    from skillkit_core.events.types import SessionTreeEvent

__all__ = ["Point", "choose", "find", "offer", "points"]

HERE = "."


class Point(NamedTuple):
    """A message of a person.

    Attributes:
        id: its entry.
        text: what was said, one short line.
        files: how many files were changed between it and the next one.
    """

    id: str
    text: str
    files: int


def points(session: Session) -> list[Point]:
    """Return the messages of the person on the current branch, the newest first."""
    found: list[Point] = []
    changed: set[str] = set()
    for entry in reversed(session.path()):
        if entry.type == "custom" and entry.data.get("custom_type") == NOTE:
            changed.update(str(fact["path"]) for fact in entry.data["files"])
        message = entry.data.get("message") if entry.type == "message" else None
        if message is None or message.get("role") != "user":
            continue
        said = " ".join(b.get("text", "") for b in message.get("content", ()) if b.get("type") == "text").split()
        text = " ".join(said) or "(nothing)"
        found.append(Point(entry.id, text if len(text) <= 60 else f"{text[:59]}…", len(changed)))
        changed = set()
    return found


def find(session: Session, name: str) -> tuple[str | None, str]:
    """Return the entry to go on from, and words for it: before a message of a person, at any other entry, ``.`` for here."""
    if name == HERE:
        return session.leaf_id, "here"
    session.require(name)
    entry = next(e for e in session.entries if e.id == name)
    message = entry.data.get("message") if entry.type == "message" else None
    if message is not None and message.get("role") == "user":
        return entry.parent_id, f"before {name}"
    return entry.id, name


async def choose(found: Sequence[Point], ui: UserInterface | None, *, ask_what: bool) -> tuple[str, str] | None:
    """Let a person choose a message, and what goes back (``both``, ``files``, ``conversation``); ``None``: neither.

    Raises:
        UsageError: there is nobody to ask, or nothing to choose.
    """
    if ui is None or not found:
        raise UsageError("nobody can be asked" if found else "nothing was said yet", hint="write /rewind ENTRY")
    options = tuple(
        SurveyOption(p.text, f"{p.id}, {p.files} {'file' if p.files == 1 else 'files'} changed", p.id) for p in found
    )
    questions = [SurveyQuestion("entry", "Go back to before which message?", "choice", options)]
    if ask_what:
        both = (SurveyOption("both"), SurveyOption("files"), SurveyOption("conversation"))
        questions.append(SurveyQuestion("what", "What goes back?", "choice", both, "both"))
    answers = await ui.ask(Survey("Rewind", "", tuple(questions)))
    return None if answers is None else (str(answers["entry"]), str(answers["what"]) if ask_what else "")


async def offer(event: SessionTreeEvent, ctx: HandlerContext) -> None:
    """Say which files are not as they were at the entry that the conversation goes on from. Nothing is changed."""
    from .folder import Folder
    from .rewind import plan

    agent = ctx.agent
    if agent is None or agent.ui is None or agent.state("files").get("rewinding"):
        return
    wanted, _ = plan(agent.session, Folder(agent.cwd).root, agent.session.leaf_id)
    if wanted:
        count = f"{len(wanted)} {'file is' if len(wanted) == 1 else 'files are'}"
        await agent.ui.notify(f"{count} not as at this place of the conversation; /rewind . --files restores them.")
