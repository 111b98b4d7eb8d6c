"""An agent of this host that may call agents elsewhere, which listen on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from a2a_raw_peer import RawPeer

from skillkit_core import AgentRunner
from skillkit_core.testing import ScriptedModel


@pytest.fixture
def engine_plugins() -> list[str]:
    return ["sessions", "a2a"]


@pytest.fixture
def peer() -> Iterator[RawPeer]:
    """An agent elsewhere, running."""
    with RawPeer() as running:
        yield running
    running.check()


def client_settings(base: str, **more: Any) -> dict[str, Any]:
    """The settings with which a host may call the agent ``far`` at an address of loopback."""
    agent = {"url": base, "description": "Knows far things", **more.pop("agent", {})}
    return {"allow": [base.removeprefix("http://")], "agents": {"far": agent}, **more}


@pytest.fixture
def calling(engine_stage: Any) -> Callable[..., tuple[AgentRunner, ScriptedModel]]:
    """Makes an agent that knows the agent ``far``: ``agent, model = calling(base, turns...)``."""

    def make(
        base: str, *turns: Any, client: Mapping[str, Any] | None = None, settings: Any = None, **given: Any
    ) -> tuple[AgentRunner, ScriptedModel]:
        section = {"a2a.client": client_settings(base, **(client or {})), **(settings or {})}
        return engine_stage(*turns, settings=section, **given)  # type: ignore[no-any-return]

    return make
