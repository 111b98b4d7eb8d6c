"""Limits and retries of the configuration hold for every agent of a host, and a cap is never lost."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentError, AgentRunner, Host, Limits, ModelCost, ModelDefinition, RetryPolicy
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel, VirtualClock

DEAR = ModelDefinition("m", "scripted", "scripted", cost=ModelCost(1_000.0, 2_000.0))  # 10 in, 5 out: 2 cents


def host_of(kit: Any, environ: Any = None, **settings: Any) -> Host:
    environ = {"HOME": str(kit.cwd), **(environ or {})}
    return Host(
        discover=False, cwd=kit.cwd, environ=environ, settings={k.replace("__", "."): v for k, v in settings.items()}
    )


def agent_of(host: Host, *script: Any, **config: Any) -> AgentRunner:
    agent = AgentRunner(AgentConfig(model=DEAR, **config), host=host, clock=VirtualClock())
    agent.set_adapter(ScriptedModel(list(script), repeat=True))
    return agent


@pytest.mark.parametrize("where", ["settings", "variable", "file", "distribution"])
@pytest.mark.parametrize("own", [None, Limits(), Limits(turns=50), Limits(cost=1.0)])
def test_a_configured_cost_cap_holds_for_every_agent(kit: Any, go: Any, tmp_path: Any, where: str, own: Any) -> None:
    environ, settings, distribution = {"HOME": str(tmp_path), "SKILLKIT_HOME": str(tmp_path)}, {}, None
    if where == "settings":
        settings = {"limits.cost": 0.05}
    elif where == "variable":
        environ["SKILLKIT_LIMITS__COST"] = "0.05"
    elif where == "file":
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "config.yaml").write_text("limits: {cost: 0.05}\n")
    else:
        file = tmp_path / "distribution.yaml"
        file.write_text("schema_version: 1\nname: house\nplugins: []\ndefaults:\n  limits: {cost: 0.05}\n")
        distribution = str(file)

    async def main() -> None:
        host = Host(distribution, discover=False, cwd=tmp_path, environ=environ, settings=settings)
        agent = agent_of(host, Reply(calls=[Call("a")]), tools=(kit.tool("a", "ok"),), limits=own)
        response = await agent.chat("go")
        assert response.outcome == "limit" and response.cost == pytest.approx(0.06)
        await agent.aclose()

    go(main)


def limits_of(agent: AgentRunner) -> Limits:
    return agent.host.config.limits(agent.config.limits)


@pytest.mark.parametrize(
    ("configured", "own", "expected"),
    [
        ({}, None, Limits()),
        ({}, Limits(turns=None, cost=2.0), Limits(turns=None, cost=2.0)),
        ({"limits__turns": 5}, None, Limits(turns=5)),
        ({"limits__turns": 500}, None, Limits(turns=500)),
        ({"limits__turns": 5, "limits__depth": 2}, Limits(turns=3, depth=6), Limits(turns=3, depth=2)),
        ({"limits__turns": 5}, Limits(turns=None), Limits(turns=5)),
        ({"limits__tokens": 100}, Limits(tokens=0, tool_calls=1), Limits(tokens=0, tool_calls=1)),
        ({"limits__cost": 3}, Limits(cost=1.5, requests=7), Limits(cost=1.5, requests=7)),
    ],
)
def test_of_a_bound_that_both_set_the_lower_one_counts(kit: Any, configured: Any, own: Any, expected: Limits) -> None:
    agent = AgentRunner(AgentConfig(limits=own), host=host_of(kit, **configured))
    assert limits_of(agent) == expected
    assert limits_of(agent) is limits_of(agent), "it is worked out once"


def test_a_bound_that_a_file_takes_away_is_no_cap(kit: Any, tmp_path: Any) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("limits: {turns: null}\n")
    host = Host(discover=False, cwd=tmp_path, environ={"SKILLKIT_HOME": str(tmp_path)})
    assert limits_of(AgentRunner(host=host)) == Limits(turns=None)
    assert limits_of(AgentRunner(AgentConfig(limits=Limits(turns=3)), host=host)).turns == 3


def test_settings_that_come_later_count(kit: Any) -> None:
    host = host_of(kit)
    agent = AgentRunner(host=host)
    assert limits_of(agent) == Limits()
    host.configure({"limits.turns": 7})
    assert limits_of(agent).turns == 7


@pytest.mark.parametrize(
    ("own", "attempts"), [(None, 2), (RetryPolicy(attempts=3), 3), (RetryPolicy(), 4)], ids=["none", "three", "default"]
)
def test_a_configured_policy_of_retries_counts_where_the_agent_has_none(
    kit: Any, go: Any, own: RetryPolicy | None, attempts: int
) -> None:
    async def main() -> None:
        agent = agent_of(host_of(kit, retry__attempts=2), Fail(), retry=own)
        tried: list[Any] = []
        agent.events.on("retry_start", tried.append)
        with pytest.raises(AgentError, match="scripted"):
            await agent.chat("go")
        assert 1 + len(tried) == agent.host.config.retry(agent.config.retry).attempts == attempts
        await agent.aclose()

    go(main)


def test_the_event_tells_the_limits_that_hold(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = agent_of(host_of(kit, limits__turns=9), "done")
        told: list[Any] = []
        agent.events.on("agent_start", told.append)
        await agent.chat("go")
        assert told[0].limits["turns"] == 9
        await agent.aclose()

    go(main)
