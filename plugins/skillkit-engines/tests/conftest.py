"""The stage of the testkit, with the engine ``tooling`` of the tests and ``why``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_tooling import WEATHER, Brings

from skillkit_core import AgentRunner, Host
from skillkit_core.testing import ScriptedModel


@pytest.fixture
def engine_plugins() -> list[str]:
    return ["commands", "why"]


@pytest.fixture
def folder(engine_stage: Any) -> Path:
    """The folder of skills."""
    return engine_stage.skills


@pytest.fixture
def stage(engine_stage: Any) -> Callable[..., Any]:
    """Makes an agent over a host with the engine: ``agent, model, host = stage("the answer", plugins=[...])``."""

    def make(
        *turns: Any, plugins: Any = None, tools: Any = (WEATHER,), **config: Any
    ) -> tuple[AgentRunner, ScriptedModel, Host]:
        brought = [("brings", Brings())] if plugins is None else plugins
        agent, model = engine_stage(*turns, plugins=brought, tools=tools, **config)
        return agent, model, agent.host

    return make
