"""How a model is to work, told where nobody wrote a system prompt. A setting, an agent or a prompt file says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .settings import DEFAULTS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["work_text"]

_WORK = """\
You help a person at their computer, with the tools you are given, in the folder they work in.
- Look before you act: search and read what matters instead of guessing, and read a file before you change it.
- Change what was asked for and nothing else, in the style that is there.
- After a change, check it: run the tests or the program where you can. Say what you ran and what came of it.
- When something failed, was refused or was not checked, say so. A refusal is an answer: look for no way around it.
- Ask only what you cannot find out and what decides what you do.
- Be short: the result first, without preamble. Name places in files as path:line."""


def work_text(agent: AgentRunner) -> str | None:
    """Return the text for an agent that can read files and has no system prompt of its own."""
    host = agent.host
    if agent.config.system_prompt or host.config.get("system_prompt") or agent.offered("read") is None:
        return None
    return _WORK if host.config.section("context", DEFAULTS).work else None
