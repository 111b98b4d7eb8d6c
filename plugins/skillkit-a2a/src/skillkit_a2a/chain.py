"""Which agents have handed a task on: the metadata of a message say how often, and by whom, so that a ring comes to an end.

Each host adds one to the hops and its own id to the chain before it asks another host. A host that finds itself in the chain is
in a ring; one that is asked after too many hops is too deep. Both refuse with :class:`~skillkit_a2a.errors.PeerError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from .errors import PeerError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["CHAIN", "ERROR", "HOPS", "Chain", "admit", "chain_of", "come_by", "own_id"]

HOPS, CHAIN = "skillkit.hops", "skillkit.chain"  # of the metadata of a message
ERROR = "skillkit.error"  # of the metadata of a refusal: the code of the error
_MOST = 64  # ids that are read; no sound depth is near it


class Chain(NamedTuple):
    """The way of a task.

    Attributes:
        hops: how often it was handed on from host to host.
        ids: the hosts that did, the first one first.
    """

    hops: int = 0
    ids: tuple[str, ...] = ()

    def onward(self, own: str, most: int) -> dict[str, Any]:
        """Return the metadata of a message that hands the task on once more.

        Raises:
            PeerError: ``depth``.
        """
        if self.hops + 1 > most:
            raise _too_deep(self.hops + 1, most)
        return {HOPS: self.hops + 1, CHAIN: [*self.ids, own]}


def chain_of(metadata: Mapping[str, Any]) -> Chain:
    """Return the way of a message by its metadata; what cannot be read is no way."""
    given = metadata.get(CHAIN)
    ids = tuple(str(one)[:200] for one in given[:_MOST]) if isinstance(given, (list, tuple)) else ()
    hops = metadata.get(HOPS)
    return Chain(max(len(ids), int(hops) if isinstance(hops, (int, float)) and 0 <= hops < 1e6 else 0), ids)


def admit(metadata: Mapping[str, Any], own: str, most: int) -> Chain:
    """Return the way of a message that this host is asked by.

    Args:
        metadata: of the message.
        own: the id of this host.
        most: hops that are allowed.

    Raises:
        PeerError: ``ring`` or ``depth``.
    """
    chain = chain_of(metadata)
    if own in chain.ids:
        ago = len(chain.ids) - chain.ids.index(own)
        raise PeerError("ring", f"agents hand this task on in a ring: it was here before, {ago} hosts ago")
    if chain.hops > most:
        raise _too_deep(chain.hops, most)
    return chain


def _too_deep(hops: int, most: int) -> PeerError:
    hint = "do it here, or raise a2a.client.depth"
    return PeerError("depth", f"this task would be handed on {hops} times; a2a.client.depth is {most}", hint=hint)


def come_by(agent: AgentRunner) -> Chain:
    """Return the way by which the request of an agent came to this host; an empty one where a person here asked.

    The session of the outermost agent tells, where a compaction takes nothing away. A message that steers is no request.
    """
    outermost = list(agent.ancestors())[-1]
    for entry in reversed(outermost.session.path()):
        said = entry.data.get("message") if entry.type == "message" else None
        if isinstance(said, Mapping) and said.get("role") == "user" and said.get("source") != "steer":
            origin = said.get("origin") or {}
            return chain_of(origin.get("meta") or {}) if origin.get("kind") == "a2a" else Chain()
    return Chain()


def own_id(host: Host) -> str:
    """Return the id of this host among others: random, made once, in the data folder."""
    file = host.data_dir / "a2a" / "id"
    with suppress(FileNotFoundError):
        if found := file.read_text(encoding="ascii").strip():
            return found
    file.parent.mkdir(parents=True, exist_ok=True)
    made = uuid4().hex
    try:
        with file.open("x", encoding="ascii") as opened:
            opened.write(f"{made}\n")
    except FileExistsError:  # another process was faster
        return file.read_text(encoding="ascii").strip() or made
    return made
