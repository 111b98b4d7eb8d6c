"""The card: what this host offers to others, made of the skills in its registry."""

from __future__ import annotations

import time
from collections.abc import Iterable
from email.utils import formatdate
from hashlib import sha256
from typing import TYPE_CHECKING

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from skillkit_core import __version__

from .parts import INPUT_MODES, OUTPUT_MODES

if TYPE_CHECKING:
    from skillkit_core.skills import Skill

    from .keys import Caller
    from .served import Served
    from .settings import ServeSettings

__all__ = ["JSONRPC", "REST", "Cards"]

JSONRPC, REST = "/a2a/jsonrpc", "/a2a/rest"
API_KEY = "X-API-Key"


class Cards:
    """The cards of a host.

    Args:
        settings: the settings.
        served: the skills.
        url: the address for others.
        open_: callers need no key.
        grpc: ``host:port`` of the gRPC server; ``None``: there is none.
    """

    def __init__(
        self, settings: ServeSettings, served: Served, url: str, *, open_: bool, grpc: str | None = None
    ) -> None:
        self._settings, self._served = settings, served
        self._base = _base(settings, url, open_=open_, grpc=grpc)
        self._seen: tuple[bytes, float] = (b"", time.time())

    def public(self) -> AgentCard:
        """Return the card that everybody reads."""
        self._served.refresh()
        public, skills = self._settings.public, self._served.skills()
        return self._with(skill for name, skill in skills.items() if public is None or name in public)

    def extended(self, caller: Caller) -> AgentCard:
        """Return the card with every skill that a caller may use."""
        self._served.refresh()
        return self._with(self._served.allowed(caller).values())

    def changed(self) -> str:
        """Return when the card that everybody reads changed, as HTTP writes dates."""
        digest = sha256(self.public().SerializeToString(deterministic=True)).digest()
        if digest != self._seen[0]:
            self._seen = digest, time.time() if self._seen[0] else self._seen[1]
        return formatdate(self._seen[1], usegmt=True)

    def _with(self, skills: Iterable[Skill]) -> AgentCard:
        card = AgentCard()
        card.CopyFrom(self._base)
        card.skills.extend(_described(skill) for skill in skills)
        return card


def _described(skill: Skill) -> AgentSkill:
    """Return a skill as the card shows it."""
    tags = [*skill.domains, *skill.keywords, *skill.tags] or [skill.name]
    return AgentSkill(
        id=skill.name,
        name=skill.display_name or skill.name,
        description=skill.description,
        tags=list(dict.fromkeys(tags)),
        examples=list(skill.examples),
    )


def _base(settings: ServeSettings, url: str, *, open_: bool, grpc: str | None) -> AgentCard:
    """Return the card without skills."""
    interfaces = [
        AgentInterface(url=f"{url}{JSONRPC}", protocol_binding="JSONRPC", protocol_version="1.0"),
        AgentInterface(url=f"{url}{REST}", protocol_binding="HTTP+JSON", protocol_version="1.0"),
    ]
    if settings.compat_0_3:
        interfaces += [
            AgentInterface(url=i.url, protocol_binding=i.protocol_binding, protocol_version="0.3") for i in interfaces
        ]
    if grpc is not None:
        interfaces.append(AgentInterface(url=grpc, protocol_binding="GRPC", protocol_version="1.0"))
    card = AgentCard(
        name=settings.name,
        description=settings.description,
        version=__version__,
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(
            streaming=settings.streaming,
            push_notifications=settings.push.enabled,
            extended_agent_card=settings.extended,
        ),
        default_input_modes=INPUT_MODES,
        default_output_modes=OUTPUT_MODES,
    )
    if not open_:
        bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))
        header = SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="header", name=API_KEY))
        for name, scheme in (("bearer", bearer), ("apiKey", header)):
            card.security_schemes[name].CopyFrom(scheme)
            requirement = SecurityRequirement()
            requirement.schemes[name].CopyFrom(StringList(list=[]))
            card.security_requirements.append(requirement)
    return card
