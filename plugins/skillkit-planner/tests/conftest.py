"""A host with the planner, skills on the disk, and a model that answers by what it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from planner_stage import FAMILY

from skillkit_core import AgentConfig, AgentRunner, Host, RetryPolicy
from skillkit_core.testing import ScriptedModel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of skills."""
    return tmp_path / "skills"


@pytest.fixture
def skill(folder: Path) -> Callable[..., None]:
    """Writes a skill: ``skill("weather", tools=["look"])``."""

    def write(name: str, *, body: str = "", description: str = "", **fields: Any) -> None:
        place = folder / name
        place.mkdir(parents=True)
        about = {"engine": "automation", **fields}
        head = {"name": name, "description": description or f"Does {name}.", "metadata": {"skillkit": about}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\n{body or f'You do {name}.'}\n")

    return write


@pytest.fixture
def stage(make_host: Callable[..., Host], folder: Path) -> Callable[..., Any]:
    """Makes an agent and its model: ``agent, model = stage(Answers(...))``."""

    def make(
        answers: Any,
        *,
        tools: Any = (),
        plugins: Sequence[Any] = (),
        settings: Mapping[str, Any] | None = None,
        session: Any = "new",
        without: Sequence[str] = (),
        clock: Any = None,
        **config: Any,
    ) -> tuple[AgentRunner, ScriptedModel]:
        family = [one for one in FAMILY if one[0] not in without]
        host = make_host(*family, *plugins, settings={"skills.dirs": [str(folder)], **(settings or {})})
        given = AgentConfig(tools=tuple(tools), retry=RetryPolicy(attempts=1), **{"model": "any", **config})
        agent, model = (
            AgentRunner(given, host=host, session=session, clock=clock),
            ScriptedModel([answers], repeat=True),
        )
        agent.set_adapter(model)
        return agent, model

    return make
