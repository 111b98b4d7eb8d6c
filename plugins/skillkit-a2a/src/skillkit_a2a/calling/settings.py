"""What counts of ``a2a.client``: what the user or the distribution says. A project names no agent, and allows no host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import PeerError

if TYPE_CHECKING:
    from skillkit_core import Host

    from .config import ClientConfig

__all__ = ["Target", "agents_of", "settings_of", "target_of"]


class Target(NamedTuple):
    """Whom to call.

    Attributes:
        name: what people here call the agent.
        url: its address, or that of its card.
        key: the name of the secret that it is called with; empty: none.
        skill: the id of the skill that is wanted; empty: the agent chooses.
        signed_by: the file of the public key by which its card has to be signed; empty: it need not be.
    """

    name: str
    url: str
    key: str = ""
    skill: str = ""
    signed_by: str = ""


def settings_of(host: Host) -> ClientConfig:
    """Return the settings.

    Raises:
        ConfigError: one of them is wrong.
    """
    from .config import ClientConfig

    given: dict[str, Any] = {}
    host.config.section("a2a")  # says what is wrong, and where
    for layer in host.config.layers:
        section = layer.data.get("a2a")
        client = section.get("client") if isinstance(section, Mapping) else None
        if layer.name != "project" and isinstance(client, Mapping):
            agents = {**given.get("agents", {}), **client.get("agents", {})}
            given.update({**client, "agents": agents})
    return ClientConfig.model_validate(given)


def agents_of(host: Host) -> Mapping[str, Any]:
    """Return the agents by name; cheap where none is set."""
    return settings_of(host).agents if "a2a" in host.config.data else {}


def target_of(host: Host, name: str) -> Target:
    """Return whom ``NAME`` or ``NAME/SKILL`` means.

    Raises:
        PeerError: ``unknown_agent``.
    """
    own, _, skill = name.strip().partition("/")
    agents = agents_of(host)
    found = agents.get(own.replace("_", "-").casefold())
    if found is None:
        known = ", ".join(agents) or "none yet"
        raise PeerError("unknown_agent", f"there is no agent {own!r} (a2a.client.agents has {known})")
    return Target(own, found.url, found.key or "", skill.strip(), found.signed_by or "")
