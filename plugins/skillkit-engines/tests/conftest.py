"""A host with the family, skills on the disk, and a model that answers by script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import skillkit_commands.plugin
import skillkit_engines.plugin
import skillkit_skills.plugin
import skillkit_why.plugin
from engine_stage import WEATHER, Brings

from skillkit_core import AgentConfig, AgentRunner, Host, RetryPolicy
from skillkit_core.testing import ScriptedModel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of skills."""
    return tmp_path / "skills"


@pytest.fixture
def stage(make_host: Callable[..., Host], folder: Path) -> Callable[..., Any]:
    """Makes an agent over a host with the family: ``agent, model, host = stage("the answer", plugins=[...])``."""

    def make(
        *turns: Any,
        plugins: Any = None,
        tools: Any = (WEATHER,),
        settings: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> tuple[AgentRunner, ScriptedModel, Host]:
        brought = [("brings", Brings())] if plugins is None else plugins
        host = make_host(
            ("commands", skillkit_commands.plugin),
            ("skills", skillkit_skills.plugin),
            ("why", skillkit_why.plugin),
            ("engines", skillkit_engines.plugin),
            *brought,
            settings={"skills.dirs": [str(folder)], **(settings or {})},
        )
        given = AgentConfig(
            model="any", tools=tuple(tools), retry=RetryPolicy(attempts=1), options=options or {}, **config
        )
        agent = AgentRunner(given, host=host)
        model = ScriptedModel(turns)
        agent.set_adapter(model)
        return agent, model, host

    return make
