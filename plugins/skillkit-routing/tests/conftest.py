"""A host with the router and an engine, skills on the disk, and a model that answers by script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import skillkit_engine_automation.plugin
import skillkit_engines.plugin
import skillkit_routing.plugin
import skillkit_skills.plugin
import skillkit_why.plugin

from skillkit_core import AgentConfig, AgentRunner, Host, RetryPolicy
from skillkit_core.testing import ScriptedModel


@pytest.fixture
def skill(tmp_path: Path) -> Callable[..., None]:
    """Writes a skill of an engine: ``skill("weather", "Forecasts for any place.", domains=["weather"])``."""

    def write(name: str, description: str = "", **fields: Any) -> None:
        place = tmp_path / "skills" / name
        place.mkdir(parents=True)
        about = {"engine": "automation", **fields}
        head = {"name": name, "description": description or f"Does {name}.", "metadata": {"skillkit": about}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nBody of {name}.\n")

    return write


@pytest.fixture
def hosts(make_host: Callable[..., Host], tmp_path: Path) -> Callable[..., Host]:
    """Makes a host with the router."""

    def make(*, plugins: Sequence[Any] = (), settings: Mapping[str, Any] | None = None) -> Host:
        return make_host(
            ("skills", skillkit_skills.plugin),
            ("why", skillkit_why.plugin),
            ("engines", skillkit_engines.plugin),
            ("engine-automation", skillkit_engine_automation.plugin),
            ("routing", skillkit_routing.plugin),
            *plugins,
            settings={"skills.dirs": [str(tmp_path / "skills")], **(settings or {})},
        )

    return make


@pytest.fixture
def stage(hosts: Callable[..., Host]) -> Callable[..., Any]:
    """Makes an agent and its model: ``agent, model = stage("the answer")``."""

    def make(
        *turns: Any, plugins: Sequence[Any] = (), settings: Mapping[str, Any] | None = None, **config: Any
    ) -> tuple[AgentRunner, ScriptedModel]:
        given = AgentConfig(model="any", retry=RetryPolicy(attempts=1), **config)
        agent = AgentRunner(given, host=hosts(plugins=plugins, settings=settings))
        model = ScriptedModel(turns)
        agent.set_adapter(model)
        return agent, model

    return make
