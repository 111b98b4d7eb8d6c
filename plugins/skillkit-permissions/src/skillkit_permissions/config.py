"""The configuration section ``permissions``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from .memory import REMEMBER_DAYS
from .request import Mode
from .rules import parse_rule

__all__ = ["PermissionsConfig"]


class PermissionsConfig(BaseModel):
    """Which tool calls run, which ones ask, which ones are refused. The rules of all layers count together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = Field(
        default="ask", description="ask, accept-edits, read-only or bypass: what counts where no rule does"
    )
    allow: tuple[str, ...] = Field(default=(), description="rules of calls that run, for example Bash(git status:*)")
    ask: tuple[str, ...] = Field(default=(), description="rules of calls that ask, in every mode")
    deny: tuple[str, ...] = Field(default=(), description="rules of calls that never run")
    roots: tuple[str, ...] = Field(default=(), description="folders beside the project that are open like it")
    remember_days: float = Field(
        default=REMEMBER_DAYS, gt=0, description="days after which a remembered answer is forgotten"
    )

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _readable(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if problem := parse_rule(text, "deny").problem:
                raise ValueError(f"the rule {text} cannot be read: {problem}")
        return texts
