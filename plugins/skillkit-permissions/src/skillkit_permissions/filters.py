"""What searching leaves out: ``grep`` and ``glob`` find no file that a rule keeps from being read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .files import decide_file
from .policy import mode_of, place_of, policy_of, rules_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["readable"]


def readable(agent: AgentRunner, tool: str) -> Callable[[str], bool] | None:
    """Return a function that says whether a file, an absolute path, may be found by a tool of this agent; ``None``: all may."""
    policy = policy_of(agent.host)
    rules = rules_of(agent, policy)
    if not any(rule.spec is not None and rule.names("Read") for rule in rules.deny):
        return None
    place, mode = place_of(agent.host, agent.cwd), mode_of(agent, policy)

    def allows(path: str) -> bool:
        decision = decide_file(rules, path, place, mode, writes=False)
        return decision.outcome != "deny"

    return allows
