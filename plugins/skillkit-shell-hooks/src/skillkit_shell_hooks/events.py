"""The events of other hosts: what each matches on, whether it guards, what can be blocked, and why some do not happen here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

__all__ = ["ABOUT", "EVENTS", "About", "topic"]


class About(NamedTuple):
    """What is known of an event.

    Attributes:
        matches: field of the input that a matcher is held against; empty: the event has no matcher.
        guard: a hook that fails denies what it guards.
        blocks: exit status 2, or ``decision: block``, stops what is about to happen.
        text: plain text on stdout is context for the model.
        tells: who reads stderr of a hook that ends with 2, where nothing can be blocked.
        absent: why the event does not happen here; empty: it does.
    """

    matches: str = ""
    guard: bool = False
    blocks: bool = False
    text: bool = False
    tells: Literal["user", "model"] = "user"
    absent: str = ""


_NO_WORKTREES = "no agent makes a worktree here"
_NO_TEAM = "there are no teams of agents here"

ABOUT: Mapping[str, About] = {
    "SessionStart": About("source", text=True),
    "Setup": About("trigger", absent="nothing here sets up a project"),
    "UserPromptSubmit": About(guard=True, blocks=True, text=True),
    "UserPromptExpansion": About("command_name", guard=True, blocks=True, text=True),
    "PreToolUse": About("tool_name", guard=True, blocks=True),
    "PermissionRequest": About("tool_name"),
    "PermissionDenied": About("tool_name"),
    "PostToolUse": About("tool_name", tells="model"),
    "PostToolUseFailure": About("tool_name", tells="model"),
    "PostToolBatch": About(blocks=True),
    "Notification": About("notification_type"),
    "MessageDisplay": About(absent="front ends show an answer while it arrives"),
    "SubagentStart": About("agent_type"),
    "SubagentStop": About("agent_type", blocks=True),
    "TaskCreated": About(blocks=True, absent="tasks of a plan are no events here"),
    "TaskCompleted": About(blocks=True, absent="tasks of a plan are no events here"),
    "Stop": About(blocks=True),
    "StopFailure": About("error"),
    "TeammateIdle": About(blocks=True, absent=_NO_TEAM),
    "InstructionsLoaded": About("load_reason", absent="context files are read without an event"),
    "ConfigChange": About("source", blocks=True, absent="a host reads its settings once"),
    "CwdChanged": About(absent="an agent keeps its folder"),
    "DirectoryAdded": About(absent="an agent keeps its folder"),
    "FileChanged": About("file_path", absent="nothing here watches files"),
    "WorktreeCreate": About(blocks=True, absent=_NO_WORKTREES),
    "WorktreeRemove": About(absent=_NO_WORKTREES),
    "PreCompact": About("trigger", blocks=True),
    "PostCompact": About("trigger"),
    "Elicitation": About("mcp_server_name", blocks=True, absent="a person answers questions of servers"),
    "ElicitationResult": About("mcp_server_name", blocks=True, absent="a person answers questions of servers"),
    "SessionEnd": About("reason"),
}  # fmt: skip
"""Every event that the documents of other hosts name."""

EVENTS: Mapping[str, str] = {name: about.absent for name, about in ABOUT.items()}
"""Every event by name: empty where it happens here, else one line that says why it does not."""


def topic(event: str) -> str:
    """Return the topic that is armed where there are hooks of an event."""
    return f"shell-hooks.{event}"
