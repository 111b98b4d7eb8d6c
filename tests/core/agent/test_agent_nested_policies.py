"""What a nested run takes over from the runs above it: executor, offered tools, workspace, model (spec, section 9.49)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from core_team import DELEGATE, Team

from skillkit_core import AgentConfig, AgentRunner, ToolExecutor, ToolOutput
from skillkit_core.testing import Call, Reply, ScriptedModel

BOTH = Reply(calls=[Call("bash", {"command": "id"}), Call("inner")])


class Elsewhere(ToolExecutor):
    """Runs no tool; says where it would have run."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def execute(self, tool: Any, args: Any, ctx: Any) -> ToolOutput:
        return ToolOutput(f"{tool.name} in {self.name}")


class Asked:
    """A parent whose tool ``delegate`` asks an agent that was made before the run."""

    def __init__(self, kit: Any, child: dict[str, Any], **options: Any) -> None:
        tools = options.pop("child_tools")
        self.child = kit.agent(BOTH, "ok", BOTH, "ok", tools=tools, **child)

        async def delegate(args: Any, ctx: Any) -> str:
            return (await self.child.chat("go")).content

        own = (kit.tool("delegate", delegate), *options.pop("tools", ()))
        self.parent = kit.agent(DELEGATE, "done", tools=own, **options)


async def said_below(kit: Any, born: bool, child: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    """The results of a nested agent that calls ``bash`` and ``inner``."""
    tools = (kit.tool("bash", "ran bash"), kit.tool("inner", lambda args, ctx: f"ran inner in {ctx.cwd.name}"))
    if born:
        team = Team(kit, [DELEGATE, "done"], [BOTH, "ok"], child_config=child, child_tools=tools, **options)
        await team.parent.chat("go")
        below = team.children[0]
    else:
        asked = Asked(kit, child, child_tools=tools, **options)
        await asked.parent.chat("go")
        below = asked.child
    return [(m.outcome.value, m.text) for m in below.messages if m.role == "tool_result"]


@pytest.mark.parametrize("born", [True, False])
def test_a_tool_that_the_run_above_may_not_offer_is_unknown_below(kit: Any, go: Any, born: bool) -> None:
    async def main() -> None:
        above = {"only_tools": frozenset({"delegate", "inner"})}
        results = await said_below(kit, born, {}, tools=[kit.tool("bash", "ran bash")], **above)
        assert [outcome for outcome, _ in results] == ["error", "ok"]
        assert results[0][1].startswith("There is no tool 'bash'.")

    go(main)


@pytest.mark.parametrize("born", [True, False])
def test_what_is_offered_below_is_what_every_configuration_on_the_way_up_allows(kit: Any, go: Any, born: bool) -> None:
    async def main() -> None:
        both, inner = frozenset({"delegate", "bash", "inner"}), frozenset({"inner", "more"})
        results = await said_below(kit, born, {"only_tools": inner}, only_tools=both)
        assert [outcome for outcome, _ in results] == ["error", "ok"]

    go(main)


def test_an_agent_that_was_only_asked_offers_all_its_tools_again_afterwards(kit: Any, go: Any) -> None:
    async def main() -> None:
        tools = (kit.tool("bash", "ran bash"), kit.tool("inner", "ran inner"))
        asked = Asked(kit, {}, child_tools=tools, only_tools=frozenset({"delegate"}))
        await asked.parent.chat("go")
        await asked.child.chat("again")
        outcomes = [m.outcome.value for m in asked.child.messages if m.role == "tool_result"]
        assert outcomes == ["error", "error", "ok", "ok"]

    go(main)


@pytest.mark.parametrize("born", [True, False])
@pytest.mark.parametrize(("own", "where"), [(None, "above"), ("own", "own")])
def test_tools_run_in_the_executor_of_the_agent_or_of_the_nearest_run_above(
    kit: Any, go: Any, born: bool, own: str | None, where: str
) -> None:
    async def main() -> None:
        child = {} if own is None else {"executor": Elsewhere(own)}
        results = await said_below(kit, born, child, executor=Here("above"))
        assert [text for _, text in results] == [f"bash in {where}", f"inner in {where}"]

    go(main)


def test_a_grandchild_runs_its_tools_in_the_executor_of_the_outermost_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        said: list[str] = []

        async def ask(args: Any, ctx: Any) -> str:
            agent = AgentRunner(AgentConfig(tools=(kit.tool("inner", "ran here"),)))
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("inner")]), "ok"]))
            await agent.chat("go")
            said.extend(m.text for m in agent.messages if m.role == "tool_result")
            return "asked"

        team = Team(
            kit,
            [DELEGATE, "done"],
            [Reply(calls=[Call("ask")]), "ok"],
            child_tools=[kit.tool("ask", ask)],
            executor=Here("above"),
        )
        await team.parent.chat("go")
        assert said == ["inner in above"]

    go(main)


@pytest.mark.parametrize("born", [True, False])
@pytest.mark.parametrize("own", [None, "own"])
def test_the_workspace_is_the_agents_own_or_that_of_the_run_above(
    kit: Any, go: Any, tmp_path: Path, born: bool, own: str | None
) -> None:
    async def main() -> None:
        child = {} if own is None else {"cwd": tmp_path / own}
        results = await said_below(kit, born, child, cwd=tmp_path / "above")
        assert results[1] == ("ok", f"ran inner in {own or 'above'}")

    go(main)


class Here(Elsewhere):
    """Runs ``delegate`` in this process, and everything else elsewhere."""

    async def execute(self, tool: Any, args: Any, ctx: Any) -> ToolOutput:
        if tool.name not in ("delegate", "ask"):
            return await super().execute(tool, args, ctx)
        return ToolOutput(await tool.execute(args, ctx))
