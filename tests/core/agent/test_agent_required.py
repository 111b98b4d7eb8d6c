"""``plugins.required``: without a guard that must be there an agent does nothing at all."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import Tool, hookimpl
from skillkit_core.errors import ConfigError
from skillkit_core.testing import Call, Reply


class Guard:
    """Blocks every call."""

    name = "guard"

    @hookimpl(phase="guard")
    def before_tool_call(self, event: Any) -> Any:
        from skillkit_core import ToolCallEventResult

        return ToolCallEventResult(block=True, reason="no")


class Torn(Guard):
    """A guard that cannot register what it needs."""

    @hookimpl
    def register_tools(self, register: Any) -> None:
        raise RuntimeError("half there")


def harness(kit: Any, *plugins: Any) -> tuple[Any, list[Any]]:
    ran: list[Any] = []

    async def wipe(args: Any, ctx: Any) -> str:
        ran.append(args)
        return "wiped"

    host = kit.host(*plugins)
    host.configure({"plugins.required": ["guard"]})
    tool = Tool("wipe", "Wipe the disk.", wipe, {"type": "object"})
    return kit.agent(Reply(calls=[Call("wipe", {})]), "done", tools=(tool,), host=host), ran


@pytest.mark.parametrize(
    ("plugins", "why"), [((), "'guard' does not run: it is not installed"), ((Torn(),), "half there")]
)
def test_an_agent_does_not_run_without_a_required_plugin(kit: Any, go: Any, plugins: Any, why: str) -> None:
    async def main() -> None:
        agent, ran = harness(kit, *plugins)
        async with agent:
            with pytest.raises(ConfigError, match=why) as refused:
                await agent.chat("go")
        assert "required plugin 'guard'" in str(refused.value)
        assert ran == []

    go(main())


def test_it_runs_with_it_and_not_when_it_was_removed_meanwhile(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent, ran = harness(kit, Guard())
        async with agent:
            assert (await agent.chat("go")).content == "done"
            agent.host.remove_plugin("guard")
            with pytest.raises(ConfigError, match="'guard' does not run"):
                await agent.chat("again")
        assert ran == []

    go(main())


class Forgetful(Guard):
    """A guard that also offers secrets, and fails to give one."""

    @hookimpl
    def resolve_secret(self, name: str) -> Any:
        raise RuntimeError("the vault is closed")


def test_a_question_that_it_could_not_answer_does_not_stop_every_later_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent, ran = harness(kit, Forgetful())
        async with agent:
            assert agent.host.secret("ANY") is None
            assert [p.stage for p in agent.host.problems] == ["resolve_secret"]
            assert (await agent.chat("go")).content == "done"
        assert ran == []

    go(main())
