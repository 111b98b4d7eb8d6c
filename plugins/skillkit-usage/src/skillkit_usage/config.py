"""The section ``usage`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from zoneinfo import ZoneInfo

from skillkit_core.config import setting

__all__ = ["Budget", "Budgets", "UsageConfig"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be used in one scope; what is not given is not limited."""

    cost: float | None = setting(None, "US dollars", ge=0, allow_inf_nan=False)
    tokens: int | None = setting(None, "tokens of all kinds, those of the longest answer included", ge=0)
    requests: int | None = setting(None, "requests to models, failed ones included", ge=0)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of the four scopes: a run or session with what its nested runs use, and all sessions of a day or month."""

    run: Budget = field(default_factory=Budget)
    session: Budget = field(default_factory=Budget)
    day: Budget = field(default_factory=Budget)
    month: Budget = field(default_factory=Budget)

    def of(self, scope: str) -> Budget | None:
        """Return the budget of a kind of scope, ``None`` where it limits nothing."""
        found: Budget = getattr(self, scope)
        return None if found == Budget() else found


def _known(name: str | None) -> str | None:
    try:
        if name is not None:
            ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError(f"is a time zone that this machine knows, such as Europe/Berlin, not {name!r}") from None
    return name


@dataclass(frozen=True, slots=True)
class UsageConfig:
    """How much may be used, and in which time zone days begin."""

    budgets: Budgets = field(default_factory=Budgets)
    unpriced: Literal["stop", "allow"] = setting(
        "stop", "what happens under a budget in dollars when a price is not known"
    )
    longest_answer: int = setting(8_192, "tokens of the longest answer of a model for which nobody knows them", ge=1)
    timezone: str | None = setting(
        None,
        "time zone in which days and months begin, for example Europe/Berlin; default: the machine's",
        check=_known,
    )
