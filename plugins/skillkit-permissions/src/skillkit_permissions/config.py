"""The configuration section ``permissions``."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

from .memory import REMEMBER_DAYS
from .request import Mode
from .rules import parse_rule

__all__ = ["PermissionsConfig"]


def _readable(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        if problem := parse_rule(text, "deny").problem:
            raise ValueError(f"the rule {text} cannot be read: {problem}")
    return texts


@dataclass(frozen=True, slots=True)
class PermissionsConfig:
    """Which tool calls run, which ones ask, which ones are refused. The rules of all layers count together."""

    mode: Mode = setting("ask", "ask, accept-edits, read-only or bypass: what counts where no rule does")
    allow: tuple[str, ...] = setting((), "rules of calls that run, for example Bash(git status:*)", check=_readable)
    ask: tuple[str, ...] = setting((), "rules of calls that ask, in every mode", check=_readable)
    deny: tuple[str, ...] = setting((), "rules of calls that never run", check=_readable)
    roots: tuple[str, ...] = setting((), "folders beside the project that are open like it")
    remember_days: float = setting(REMEMBER_DAYS, "days after which a remembered answer is forgotten", gt=0)
