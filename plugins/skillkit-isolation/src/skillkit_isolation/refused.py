"""What an isolated plugin goes without, and why, for the line in which its user reads of it."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["refusals"]

_ABOVE = "it would hold what it wraps, which is in the process of the host"
_CHOICE = "it answers with an object, which must be in the process of the host"
_COMMANDS = "skills run commands outside of its process, without being asked where their source is trusted"
_OTHERS = "it would be asked with objects of another plugin, which are in the process of the host"
_WHY = {
    "plugin_problem": "it knows of no plugin but itself",
    "plugin_registered": "it knows of no plugin but itself",
    "project_content": "the host asks for it while it reads the folder, before any process is there",
    "refresh_secret": "a source of credentials is what works isolated",
    "register_commands": "a command runs in the process of the command line",
    "register_executors": "an executor runs tools of other plugins, whose code is in the process of the host",
    "register_hookspecs": "its own hooks would be called with objects of the host",
    "register_session_stores": "open sessions and their locks would end with its process",
    "register_skill_loaders": _COMMANDS,
    "register_skill_sources": _COMMANDS,
    "register_token_estimators": "it is asked for every text, and each question would go to another process",
    "resolve_adapter": _CHOICE,
    "resolve_approver": _CHOICE,
    "resolve_executor": _CHOICE,
    "resolve_model": "a model that it registers is what works isolated",
    "resolve_runtime": _CHOICE,
    "resolve_secret": "a source of credentials is what works isolated",
    "select_compactor": _CHOICE,
    "wrap_model_call": _ABOVE,
    "wrap_tool_call": _ABOVE,
}


def refusals(hooks: Iterable[str]) -> dict[str, str]:
    """Return for each of a plugin's hooks that are not called the line that says so, and why."""
    return {hook: f"{hook} does not work isolated: {_WHY.get(hook, _OTHERS)}" for hook in hooks}
