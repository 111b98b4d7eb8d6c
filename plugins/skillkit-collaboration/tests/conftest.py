"""The stage of the testkit with sessions of several skills, and a model that answers by who is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from collaboration_stage import Answers

from skillkit_core import AgentRunner


@pytest.fixture
def engine_plugins() -> list[str]:
    return ["sessions", "engine-automation", "collaboration"]


@pytest.fixture
def engine_name() -> str:
    return "automation"


@pytest.fixture
def together(engine_stage: Any) -> Callable[..., tuple[AgentRunner, Answers]]:
    """Makes an agent with one pattern, ``pair``, and its model: ``together({"critic": [...]}, participants=[...])``."""

    def make(
        said: Any, *, settings: Any = None, plugins: Any = (), tools: Any = (), session: Any = None, options: Any = None,
        limits: Any = None, **pattern: Any,
    ) -> tuple[AgentRunner, Answers]:  # fmt: skip
        given = {"collaboration.patterns": {"pair": pattern}, **(settings or {})}
        more = {"limits": limits} if limits is not None else {}
        agent, model = engine_stage(settings=given, plugins=plugins, tools=tools, session=session, **more)
        answers = said if isinstance(said, Answers) else Answers(said)
        model.turns[:] = [answers]
        model.repeat = True
        return agent, answers

    return make
