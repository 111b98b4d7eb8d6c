"""A host with the engine, skills on the disk, and a model that answers by script; ``/NAME words`` calls a skill."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import skillkit_engine_conversational.plugin
import skillkit_engines.plugin
import skillkit_skills.plugin

from skillkit_core import AgentConfig, AgentRunner, Host, RetryPolicy
from skillkit_core.testing import ScriptedModel


@pytest.fixture
def skill(tmp_path: Path) -> Callable[..., None]:
    """Writes a skill of the engine: ``skill("weather", tools=["weather_now"])``."""

    def write(name: str, *, body: str = "", **fields: Any) -> None:
        place = tmp_path / "skills" / name
        place.mkdir(parents=True)
        about = {**fields}
        head = {"name": name, "description": f"Does {name}.", "metadata": {"skillkit": about}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\n{body}\n")

    return write


@pytest.fixture
def stage(make_host: Callable[..., Host], tmp_path: Path) -> Callable[..., Any]:
    """Makes an agent and its model: ``agent, model = stage("the answer", tools=[...])``."""

    def make(
        *turns: Any, tools: Any = (), plugins: Any = (), settings: Mapping[str, Any] | None = None, **config: Any
    ) -> tuple[AgentRunner, ScriptedModel]:
        host = make_host(
            ("skills", skillkit_skills.plugin),
            ("engines", skillkit_engines.plugin),
            ("engine-conversational", skillkit_engine_conversational.plugin),
            *plugins,
            settings={"skills.dirs": [str(tmp_path / "skills")], **(settings or {})},
        )
        given = AgentConfig(model="any", tools=tuple(tools), retry=RetryPolicy(attempts=1), **config)
        agent, model = AgentRunner(given, host=host), ScriptedModel(turns)
        agent.set_adapter(model)
        return agent, model

    return make
