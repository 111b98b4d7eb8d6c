"""Routes that a person names: ``/NAME words``, and ``/route NAME`` for the inputs to come."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["PIN", "called_skill", "named_plan", "pin_of"]

PIN = "engines.pin"  # type of the note
_CALLED = re.compile(r'<skill_content name="([^"]+)">')
_ARGUMENTS = re.compile(r"\n\n?ARGUMENTS: (.*?)(?=\n\nSKILL_DIR: |\n<skill_resources>|\n</skill_content>)", re.S)


def called_skill(prompt: str) -> tuple[str, str]:
    """Return the name of the skill that a person called, and the words behind it; an empty name: nobody did.

    By now the call is the text of the skill (``skillkit-skills`` rewrites the input).
    """
    found = _CALLED.match(prompt)
    if found is None:
        return "", prompt
    words = _ARGUMENTS.search(prompt)
    return unescape(found[1]), words[1].strip() if words else prompt


def named_plan(agent: AgentRunner) -> str:
    """Return the saved plan that a person has named: for the next input (``/plans run``), or for all (``run --plan``)."""
    return str(agent.state("engines").get("plan") or agent.config.options.get("plan") or "")


def pin_of(agent: AgentRunner) -> str:
    """Return the skill that takes all inputs of the branch; empty: none."""
    session = agent.open_session
    notes = session.notes(PIN) if session is not None else ()
    return str(notes[-1].data.get("skill") or "") if notes else ""
