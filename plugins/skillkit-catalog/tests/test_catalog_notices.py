"""What is said of a model that nobody knows."""

from __future__ import annotations

from typing import Any

import pytest
import skillkit_catalog.plugin

from skillkit_core import AgentConfig, AgentRunner, ModelDefinition
from skillkit_core.testing import ScriptedModel


async def test_a_program_that_makes_a_host_for_each_agent_is_warned_once(
    make_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        model = ModelDefinition("never-heard-of", "scripted", "scripted")
        agent = AgentRunner(AgentConfig(model=model), host=make_host(("catalog", skillkit_catalog.plugin)))
        agent.set_adapter(ScriptedModel(["hello"]))
        async with agent:
            await agent.chat("hi")
        assert any("never-heard-of" in problem.message for problem in agent.host.problems)
    assert sum("never-heard-of" in record.message for record in caplog.records) == 1
