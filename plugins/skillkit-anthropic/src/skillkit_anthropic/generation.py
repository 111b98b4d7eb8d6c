"""What each generation of Claude refuses that the one before took, as the name of the model tells.

Sources: "What's new" and the migration guide of each model, https://platform.claude.com/docs/en/models (for example
/opus-5-5/whats-new-opus-5-5, /sonnet-5-5/migration-guide, /fable-5-1/migration-guide), and the types of the SDK.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["Generation", "generation_of"]

_NAME = re.compile(r"claude-(?:(?P<line>[a-z]+)-)?(?P<major>\d)(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
_ALWAYS = frozenset({"fable", "mythos"})


class Generation(NamedTuple):
    """A line of models and its version."""

    line: str
    version: tuple[int, int]

    @property
    def adaptive(self) -> bool:
        """It decides itself how much to think; an effort guides it. Before, thinking had a budget of tokens."""
        return self.version >= (4, 6)

    @property
    def hides_thinking(self) -> bool:
        """The text of its thinking comes only if it is asked for."""
        return self.version >= (4, 7)

    @property
    def samples(self) -> bool:
        """It takes ``temperature`` and ``top_p``."""
        return self.version < (4, 7)

    @property
    def samples_both(self) -> bool:
        """It takes ``temperature`` and ``top_p`` in one request."""
        return self.version < (4, 1)

    @property
    def takes_forced_tools(self) -> bool:
        """``tool_choice`` may be ``any`` or a tool."""
        return self.line == "haiku" or not self.binds_thinking

    @property
    def binds_thinking(self) -> bool:
        """Its thinking is tied to the messages before it: behind others, such as a summary, it fails the request."""
        return self.version >= ((5, 1) if self.line in _ALWAYS else (5, 5))

    @property
    def without_thinking(self) -> dict[str, Any]:
        """Fields that ask for no thinking, or for the least that the model can do."""
        if self.line in _ALWAYS or (self.line == "opus" and self.version >= (5, 5)):
            return {"output_config": {"effort": "low"}}
        if self.line == "sonnet" and self.version >= (5, 5):
            return {"thinking": {"type": "between_tools"}}
        if self.adaptive and self.version < (5, 0):
            return {}  # they think only if asked
        return {"thinking": {"type": "disabled"}}


def generation_of(model_id: str) -> Generation | None:
    """The generation of a Claude model; ``None`` for every other name."""
    found = _NAME.search(model_id)
    if found is None:
        return None
    return Generation(found["line"] or "", (int(found["major"]), int(found["minor"] or 0)))
