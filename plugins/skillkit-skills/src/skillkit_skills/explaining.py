"""Why a skill is chosen for a request, and which others are near: what ``skillkit run --explain`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .index import index_of
from .listed import explain, listing

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["Explains", "Explanation", "Near", "SearchExplains"]

NEAR = 8  # skills that are shown
LOOKED_AT = 40


@dataclass(frozen=True, slots=True)
class Near:
    """A skill, or an action of it, that a request comes near to.

    Attributes:
        name: the skill, or skill and action.
        score: a higher score is nearer, comparable within one explanation.
        why: what speaks for it or against it.
    """

    name: str
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one way to choose makes of a request.

    Attributes:
        by: the way: ``offline``, ``search``.
        chosen: what it chooses; ``None``: nothing, or it only ranks.
        why: sentences.
        near: best first.
    """

    by: str
    chosen: str | None = None
    why: Sequence[str] = ()
    near: Sequence[Near] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


class Explains(Protocol):
    """What a factory of ``register_explanations`` makes."""

    def explain(self, agent: AgentRunner, request: str) -> Explanation | None:
        """Return what is to be said of ``request``, which ``agent`` was asked; ``None``: nothing."""
        ...


class SearchExplains:
    """Ranks all skills by the full text search, and says of each why it may not be used."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def explain(self, agent: AgentRunner, request: str) -> Explanation | None:
        """Return the skills whose texts are near to ``request``, also those that no model is offered."""
        rows = [row for row in listing(self._host) if row.wins]
        found = index_of(self._host).search(request, tuple(row.skill for row in rows), LOOKED_AT)[:NEAR]
        by_skill = {id(row.skill): row for row in rows}
        verdicts = explain(self._host, [by_skill[id(one.skill)] for one in found], request)
        near = [
            Near(
                one.skill.name, round(one.score, 3), f"not offered: {'; '.join(verdict.model)}" if verdict.model else ""
            )
            for one, verdict in zip(found, verdicts, strict=True)
        ]
        return Explanation("search", None, ("by words of name, description and instructions",), near)
