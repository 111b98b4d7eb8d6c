"""Guards and questions in runs inside runs: those of the run above hold (spec, section 7; section 9, edge case 49)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from core_team import DELEGATE, Team

from skillkit_core import ApprovalDecision, Approver, ToolCallEventResult, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel


@pytest.mark.spec("9.49", "13.12")
def test_guards_of_the_run_above_see_the_calls_of_a_nested_agent(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[Any] = []
        tool = kit.tool("delete", lambda args, ctx: ran.append(args) or "deleted")
        team = Team(kit, [DELEGATE, "done"], [Reply(calls=[Call("delete", {"path": "/"})]), "ok"], child_tools=[tool])

        @team.parent.events.on("before_tool_call", tools=["delete"])
        def no(event: Any) -> Any:
            return ToolCallEventResult(block=True, reason=f"not by {event.agent_path[-1][:3]}")

        await team.parent.chat("go")
        assert ran == []
        blocked = next(m for m in team.children[0].messages if m.role == "tool_result")
        assert blocked.outcome.value == "blocked" and "not by sub" in blocked.text

    go(main)


def test_a_guard_that_comes_and_goes_during_a_nested_run_counts_from_then_on(kit: Any, go: Any) -> None:
    async def main() -> None:
        seen: list[str] = []
        stop: list[Any] = []
        team = Team(
            kit,
            [DELEGATE, "done"],
            [Reply(calls=[Call("step", {"n": n})]) for n in range(3)] + ["ok"],
        )

        def step(args: Any, ctx: Any) -> str:
            if args["n"] == 0:
                stop.append(
                    team.parent.events.on("before_tool_call", lambda e: seen.append(str(e.args["n"])), tools=["step"])
                )
            elif args["n"] == 1:
                stop[0]()
            return "ok"

        team.child_tools = (kit.tool("step", step),)
        await team.parent.chat("go")
        assert seen == ["1"]

    go(main)


@pytest.mark.spec("9.49", "13.12")
def test_a_failing_guard_of_the_run_above_blocks_and_one_on_input_rejects(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, DELEGATE, "done"], ["never"])

        def reject(event: Any) -> Any:
            if event.agent_path != ("main",):
                raise ValueError("nothing goes down")

        team.parent.events.on("input", reject, phase="guard")
        await team.parent.chat("go")
        assert [kind for kind, _ in team.results()] == ["error", "error"]
        assert all("nothing goes down" in text for _, text in team.results())
        assert team.scripted.requests == []

    go(main)


def test_handlers_without_a_say_in_safety_are_not_inherited(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"], ["ok"])
        asked: list[tuple[str, ...]] = []
        team.parent.events.on("before_agent_start", lambda e: asked.append(e.agent_path))
        await team.parent.chat("go")
        assert asked == [("main",)]

    go(main)


def test_a_plugin_guards_a_nested_agent_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        calls: list[tuple[str, int]] = []

        class Plugin:
            @hookimpl
            def before_tool_call(self, event: Any) -> None:
                calls.append((event.tool_name, len(event.agent_path)))

        team = Team(
            kit,
            [DELEGATE, "done"],
            [Reply(calls=[Call("inner")]), "ok"],
            child_tools=[kit.tool("inner", "x")],
            plugins=[("watch", Plugin())],
        )
        await team.parent.chat("go")
        assert calls == [("delegate", 1), ("inner", 2)]

    go(main)


@pytest.mark.spec("13.12")
def test_guards_hold_also_with_a_host_of_its_own(kit: Any, go: Any) -> None:
    async def main() -> None:
        class Plugin:
            @hookimpl
            def before_tool_call(self, event: Any) -> Any:
                return ToolCallEventResult(block=True, reason="policy") if event.tool_name == "inner" else None

        inner = kit.tool("inner", "ran")

        async def delegate(args: Any, ctx: Any) -> str:
            child = kit.agent(Reply(calls=[Call("inner")]), "ok", tools=[inner], host=kit.host())
            await child.chat("go")
            return next(m for m in child.messages if m.role == "tool_result").outcome.value

        parent = kit.agent(DELEGATE, "done", tools=[kit.tool("delegate", delegate)], plugins=[("policy", Plugin())])
        await parent.chat("go")
        assert next(m for m in parent.messages if m.role == "tool_result").text == "blocked"

    go(main)


@pytest.mark.spec("13.12")
def test_an_agent_left_behind_by_a_tool_keeps_its_guards(kit: Any, go: Any) -> None:
    """A tool cannot get rid of the guards by waiting until its run is over."""

    async def main() -> None:
        over = asyncio.Event()
        late: list[asyncio.Task[Any]] = []

        async def linger() -> list[str]:
            await over.wait()
            child = kit.agent(Reply(calls=[Call("inner")]), "ok", tools=[kit.tool("inner", "x")], host=parent.host)
            child.set_adapter(ScriptedModel([Reply(calls=[Call("inner")]), "ok"]))
            await child.chat("go")
            return [m.outcome.value for m in child.messages if m.role == "tool_result"]

        async def leave(args: Any, ctx: Any) -> str:
            late.append(asyncio.create_task(linger()))
            return "left"

        parent = kit.agent(Reply(calls=[Call("leave")]), "done", tools=[kit.tool("leave", leave)])
        parent.events.on("before_tool_call", lambda e: ToolCallEventResult(block=True), tools=["inner"])
        response = await parent.chat("go")
        over.set()
        assert await late[0] == ["blocked"]
        assert response.usage.total == 30 and parent.session.usage.total == 60, (
            "the books go on while the session is open"
        )

    go(main)


class Says(Approver):
    def __init__(self, *decisions: str) -> None:
        self.decisions = list(decisions)
        self.asked: list[tuple[str, int]] = []

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append((request.tool_name, len(request.agent_path)))
        return ApprovalDecision(self.decisions.pop(0))  # type: ignore[arg-type]


def asking(kit: Any, above: Any, own: Any = None) -> Team:
    team = Team(
        kit,
        [DELEGATE, "done"],
        [Reply(calls=[Call("inner")]), "ok"],
        child_tools=[kit.tool("inner", "ran")],
        approver=above,
        child_config={"approver": own},
    )
    team.parent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="really?"), tools=["inner"])
    return team


@pytest.mark.parametrize(
    ("above", "own", "outcome"),
    [
        (["allow"], None, "ok"),
        (["deny"], None, "denied"),
        (["defer"], None, "denied"),
        (["allow"], ["allow"], "ok"),
        ([], ["deny"], "denied"),
        (["deny"], ["allow"], "denied"),
        (None, ["allow"], "denied"),
        (None, None, "denied"),
    ],
)
def test_who_is_asked(kit: Any, go: Any, above: Any, own: Any, outcome: str) -> None:
    async def main() -> None:
        asked = Says(*above) if above is not None else None
        team = asking(kit, asked, Says(*own) if own is not None else None)
        await team.parent.chat("go")
        result = next(m for m in team.children[0].messages if m.role == "tool_result")
        assert result.outcome.value == outcome, result.text
        if asked is not None:
            assert asked.asked == [("inner", 2)] * len(above) and asked.decisions == []

    go(main)
