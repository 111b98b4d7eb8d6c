"""The settings ``a2a.client``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ..lists import Words

__all__ = ["AgentConfig", "ClientConfig"]

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=40)]


class AgentConfig(BaseModel):
    """An agent elsewhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1, description="The address of the agent, or of its card (.json).")
    description: str = Field(
        "", max_length=1_000, description="What it does: for models, and for the choice of a skill."
    )
    key: str | None = Field(
        None,
        min_length=1,
        description="Name of the secret (a variable or an entry of the keyring) that it is called with.",
    )
    signed_by: str | None = Field(
        None, min_length=1, description="File with the public key (PEM) by which its card has to be signed."
    )
    skills: Words = Field((), description="Ids of skills of its card that are skills here, too: a2a:NAME/ID.")


class ClientConfig(BaseModel):
    """Which agents elsewhere are called, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: Mapping[Name, AgentConfig] = Field(default_factory=dict, description="Agents by name.")
    allow: Words = Field(
        (), description="Hosts (or host:port) that may be called although they are private or local, or without TLS."
    )
    depth: int = Field(5, ge=1, le=20, description="How often a task may be handed on from host to host.")
    timeout: float = Field(5.0, gt=0, le=60, description="Seconds for the card of an agent, and to connect.")
    silence: float = Field(60.0, gt=0, le=3_600, description="Seconds without a word after which an agent is given up.")
    wait: float = Field(
        600.0, gt=0, le=86_400, description="Seconds after which a task that works on is left to itself."
    )
    max_bytes: int = Field(2**20, ge=1_000, description="Bytes of a card, an answer, or all artifacts of a task.")
