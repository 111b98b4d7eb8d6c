"""``/rewind``, and the offer to restore files when the conversation moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_commands import SlashCommand

from skillkit_core import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["REWIND"]

_CHOICES = 30


async def run(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str | None:
    """Go back to before a message: the conversation, the files, or both."""
    from .rewind import rewind
    from .rewind_points import choose, find, points

    words = arguments.split()
    only = {word for word in words if word.startswith("--")}
    names = [word for word in words if not word.startswith("--")]
    if only - {"--files", "--conversation"} or len(only) > 1 or len(names) > 1:
        raise UsageError("write /rewind [ENTRY] [--files|--conversation]")
    session = await agent.open()
    what = "files" if "--files" in only else "conversation" if "--conversation" in only else "both"
    if names:
        target, label = find(session, names[0])
    else:
        chosen = await choose(points(session)[:_CHOICES], ui, ask_what=not only)
        if chosen is None:
            return None
        (target, label), what = find(session, chosen[0]), chosen[1] or what
    report = await rewind(agent, target, files=what != "conversation", conversation=what != "files", to=label)
    return "\n".join(report.lines)


REWIND = SlashCommand(
    "rewind", "Go back to before a message: conversation, files, or both.", run, "[ENTRY] [--files|--conversation]"
)
