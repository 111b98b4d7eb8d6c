"""What plugins and front ends see of an agent and change on it: state, tools, running, configure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillkit_core import Limits, ModelDefinition, UsageError, hookimpl
from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.testing import Call, Reply, ScriptedModel

CALL = Reply(calls=[Call("a")])


class Counts:
    """A plugin that counts the turns of a session."""

    @hookimpl
    def turn_end(self, event: Any, ctx: Any) -> None:
        kept = ctx.agent.state("counts")
        kept["turns"] = kept.get("turns", 0) + 1


@pytest.fixture
def stored(kit: Any, tmp_path: Path) -> Any:
    """An agent with the plugin, whose session is in a store."""
    host = kit.host(("counts", Counts()))
    host.session_stores.register("files", kit.FileStore(tmp_path))
    return kit.agent("one", "two", host=host, session="new")


@pytest.mark.parametrize("leave", ["switch", "fork", "reload"])
def test_the_state_of_a_plugin_is_dropped_with_the_session(stored: Any, go: Any, leave: str) -> None:
    async def main() -> None:
        await stored.chat("one")
        assert stored.state("counts") == {"turns": 1} and stored.state("other") == {}
        await {"switch": lambda: stored.switch("new"), "fork": stored.fork, "reload": stored.reload}[leave]()
        assert stored.state("counts") == {}
        await stored.chat("two")
        assert stored.state("counts") == {"turns": 1}

    go(main)


def test_moving_in_the_session_keeps_the_state_and_agents_have_their_own(stored: Any, kit: Any, go: Any) -> None:
    async def main() -> None:
        await stored.chat("one")
        await stored.move_to(None)
        assert stored.state("counts") == {"turns": 1}
        assert kit.agent(host=stored.host).state("counts") == {}

    go(main)


def test_an_agent_tells_whether_it_runs_and_what_it_offers(kit: Any, go: Any) -> None:
    async def main() -> None:
        seen: list[Any] = []
        look = kit.tool(
            "a", lambda args, ctx: seen.append((ctx.agent.running, [t.name for t in ctx.agent.tools])) or "ok"
        )
        agent = kit.agent(CALL, "done", tools=[look, kit.tool("b", "ok")], only_tools=frozenset({"a", "b"}))
        assert not agent.running and [tool.name for tool in agent.tools] == ["a", "b"]
        await agent.chat("go")
        assert seen == [(True, ["a", "b"])] and not agent.running

    go(main)


def test_configure_holds_from_the_next_request_on(kit: Any, go: Any) -> None:
    async def main() -> None:
        host = kit.host()
        host.adapters.register("other", ScriptedModel([CALL, "done"]))
        seen: list[Any] = []

        def change(args: Any, ctx: Any) -> str:
            seen.append(ctx.agent.running)
            ctx.agent.configure(
                model=ModelDefinition("large", "other", "scripted"),
                provider="other",
                only_tools={"a", "b"},
                tools=(tool, kit.tool("b", "ok"), kit.tool("c", "never offered")),
            )
            return "ok"

        tool = kit.tool("a", change)
        agent = kit.agent(CALL, tools=[tool], host=host)
        await agent.chat("go")
        assert [m.model for m in agent.messages if m.role == "assistant"] == ["model", "large", "large"]
        requests = [*agent.scripted.requests, *host.adapters.get("other").requests]
        assert [[t.name for t in r.tools] for r in requests] == [["a"], ["a", "b"], ["a", "b"]]
        assert seen == [True, True]

    go(main)


def test_configure_of_what_a_run_is_bound_to_holds_from_the_next_run_on(kit: Any, go: Any) -> None:
    async def main() -> None:
        def change(args: Any, ctx: Any) -> str:
            settings = ModelSettings(thinking="high")
            ctx.agent.configure(limits=Limits(turns=1), system_prompt="Be brief.", settings=settings)
            return "ok"

        agent = kit.agent(CALL, "done", CALL, tools=[kit.tool("a", change)], system_prompt="Be kind.")
        first, second = await agent.chat("go"), await agent.chat("again")
        assert (first.outcome, second.reason) == ("completed", "the limit of 1 turns is reached")
        sent = [(r.system, r.settings.thinking) for r in agent.scripted.requests]
        assert sent == [("Be kind.", None), ("Be kind.", None), ("Be brief.", "high")]

    go(main)


def test_configure_keeps_the_adapter_that_was_set_unless_it_says_who_answers(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("the configured one")
        agent.set_adapter(ScriptedModel(["the set one"], repeat=True))
        agent.configure(system_prompt="Be brief.")
        assert (await agent.chat("go")).content == "the set one"
        agent.configure(model=agent.config.model)
        assert (await agent.chat("go")).content == "the configured one"

    go(main)


def test_configure_checks_everything_first(kit: Any) -> None:
    agent = kit.agent(tools=[kit.tool("a", "ok")])
    before = agent.config
    with pytest.raises(UsageError, match="AgentConfig has no field 'modle'; did you mean 'model'"):
        agent.configure(system_prompt="new", modle="x")
    with pytest.raises(UsageError, match="limits is of type dict; it must be a Limits"):
        agent.configure(system_prompt="new", limits={})
    assert agent.config is before


def test_an_api_key_of_configure_is_a_secret(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("your key is sk-12345678")
        agent.configure(api_key="sk-12345678", model=agent.config.model)
        assert (await agent.chat("go")).content == "your key is ***"

    go(main)
