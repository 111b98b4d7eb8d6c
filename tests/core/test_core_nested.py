"""Runs inside runs: guards, budgets, abort, questions and books (spec, section 7; section 9, edge case 49)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Limits,
    ModelCost,
    ModelDefinition,
    RunAborted,
    StreamEvent,
    TokenUsage,
    ToolCallEventResult,
    ToolOutput,
    UsageError,
    hookimpl,
)
from skillkit_core.agent.session import Session
from skillkit_core.testing import Call, Hang, Reply, ScriptedModel

PRICED = ModelDefinition("model", "scripted", "scripted", cost=ModelCost(input=1_000_000.0, output=0.0))


class Team:
    """A parent whose tool ``delegate`` asks an agent of its own; both answer by script."""

    def __init__(
        self, kit: Any, parent: Any, child: Any, *, tools: Any = (), child_tools: Any = (), **options: Any
    ) -> None:
        self.kit = kit
        self.children: list[AgentRunner] = []
        self.answers: list[Any] = []
        self.scripted = ScriptedModel(child) if isinstance(child, (list, tuple)) else child
        self.child_config: dict[str, Any] = options.pop("child_config", {})
        self.child_tools = tuple(child_tools)
        self.ran: list[Any] = []

        async def delegate(args: Any, ctx: Any) -> Any:
            agent = self.child()
            try:
                response = await agent.chat(str(args.get("task", "do it")))
            finally:
                await agent.aclose()
            self.answers.append(response)
            return response.content

        self.parent = kit.agent(*parent, tools=(kit.tool("delegate", delegate), *tools), **options)

    def child(self) -> AgentRunner:
        agent = AgentRunner(AgentConfig(model=self.parent.config.model, tools=self.child_tools, **self.child_config))
        agent.set_adapter(self.scripted)
        self.children.append(agent)
        return agent

    def results(self) -> list[tuple[str, str]]:
        return [(m.outcome.value, m.text) for m in self.parent.messages if m.role == "tool_result"]

    def events(self, depth: int) -> list[Any]:
        return [event for event in self.parent.seen.events if len(event.agent_path) == depth]


DELEGATE = Reply(calls=[Call("delegate", {"task": "look"})])


@pytest.mark.spec("9.49")
def test_a_nested_agent_shares_host_path_and_observers_and_has_a_session_of_its_own(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"], ["found it"])
        response = await team.parent.chat("go")
        child = team.children[0]
        assert response.content == "done" and team.results() == [("ok", "found it")]
        assert child.host is team.parent.host and child.session_id != team.parent.session_id
        path = team.events(2)[0].agent_path
        assert path[0] == "main" and path[1].startswith("sub:") and len({e.agent_path for e in team.events(2)}) == 1
        kit.check_brackets(team.events(1))
        kit.check_brackets(team.events(2))
        assert [e.type for e in team.events(2)].count("agent_end") == 1

    go(main)


def test_two_nested_agents_at_once_are_told_apart(kit: Any, go: Any) -> None:
    async def main() -> None:
        both = Reply(calls=[Call("delegate", {"task": "a"}), Call("delegate", {"task": "b"})])
        team = Team(kit, [both, "done"], lambda: None)
        team.scripted = ScriptedModel([lambda r: f"answer to {r.messages[-1].text}"], repeat=True)
        await team.parent.chat("go")
        assert team.results() == [("ok", "answer to a"), ("ok", "answer to b")]
        paths = {e.agent_path for e in team.events(2)}
        assert len(paths) == 2
        for path in paths:
            kit.check_brackets([e for e in team.events(2) if e.agent_path == path])

    go(main)


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


def test_an_agent_made_elsewhere_is_nested_while_it_answers_and_free_again_afterwards(kit: Any, go: Any) -> None:
    async def main() -> None:
        helper = kit.agent(
            Reply(calls=[Call("inner")]), "helped", Reply(calls=[Call("inner")]), "free", tools=[kit.tool("inner", "x")]
        )

        async def delegate(args: Any, ctx: Any) -> str:
            return (await helper.chat("help")).content

        parent = kit.agent(DELEGATE, "done", tools=[kit.tool("delegate", delegate)])
        parent.events.on("before_tool_call", lambda e: ToolCallEventResult(block=True), tools=["inner"])
        await parent.chat("go")
        assert [m.outcome.value for m in helper.messages if m.role == "tool_result"] == ["blocked"]
        assert helper.agent_path == ("main",)
        await helper.chat("alone")
        assert [m.outcome.value for m in helper.messages if m.role == "tool_result"] == ["blocked", "ok"]
        assert [len(e.agent_path) for e in helper.seen.of("agent_start")] == [2, 1]

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
        assert parent.session.usage.total == response.usage.total  # its books were closed

    go(main)


# --- books and budgets ------------------------------------------------------------------------------------------------


def ledger(agent: AgentRunner) -> list[dict[str, Any]]:
    return [dict(e.data) for e in agent.session.entries if e.type == "usage"]


@pytest.mark.spec("9.49", "I17")
def test_usage_rolls_up_once_whatever_the_tool_reports(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def delegate(args: Any, ctx: Any) -> ToolOutput:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel([Reply("found", usage=TokenUsage(input=100, output=7))]))
            response = await child.chat("look")
            extra = TokenUsage(input=1000) if args["more"] else TokenUsage()
            return ToolOutput(response.content, usage=response.usage + extra)

        parent = kit.agent(
            Reply(calls=[Call("delegate", {"more": False})]),
            Reply(calls=[Call("delegate", {"more": True})]),
            "done",
            tools=[kit.tool("delegate", delegate)],
            model=PRICED,
        )
        response = await parent.chat("go")
        own = 3 * TokenUsage(input=10, output=5).total
        assert response.usage.total == own + 2 * 107 + 1000 == parent.session.usage.total
        purposes = [e["purpose"] for e in ledger(parent)]
        assert purposes.count("nested") == 2 and purposes.count("turn") == 3
        nested = next(e for e in ledger(parent) if e["purpose"] == "nested")
        assert nested["agent_path"][0] == "main" and nested["input"] == 100 and nested["session"]
        assert response.cost == pytest.approx(3 * 10 + 2 * 100 + 1000)

    go(main)


def test_the_budget_of_the_run_above_stops_a_nested_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        calls = [Reply(calls=[Call("inner")], usage=TokenUsage(input=100))] * 20
        team = Team(kit, [DELEGATE, "never"], calls, child_tools=[kit.tool("inner", "x")], limits=Limits(tokens=350))
        response = await team.parent.chat("go")
        assert response.outcome == "limit" and "350 tokens" in response.reason
        (answer,) = team.answers
        assert answer.outcome == "limit" and "the run that this one is a part of" in answer.reason
        assert len(team.scripted.requests) == 4  # 15 + 4 * 100 is over 350, and was seen before the fifth
        assert response.usage.total == 15 + 400

    go(main)


def test_a_cost_budget_counts_grandchildren(kit: Any, go: Any) -> None:
    async def main() -> None:
        spent: list[Any] = []

        def tool(level: int) -> Any:
            async def delegate(args: Any, ctx: Any) -> str:
                inner = (tool(level + 1),) if level < 2 else ()
                child = AgentRunner(AgentConfig(model=PRICED, tools=inner))
                first = [Reply(calls=[Call("delegate")], usage=TokenUsage(input=1))] if inner else []
                child.set_adapter(ScriptedModel([*first, *[Reply("x", usage=TokenUsage(input=1))]]))
                response = await child.chat("go")
                spent.append((len(child.agent_path), response.outcome, response.cost))
                return response.content

            return kit.tool("delegate", delegate)

        parent = kit.agent(
            Reply(calls=[Call("delegate")], usage=TokenUsage(input=1)),
            Reply("never"),
            tools=[tool(1)],
            model=PRICED,
            limits=Limits(cost=3.0),
        )
        response = await parent.chat("go")
        assert response.outcome == "limit" and response.cost == 3.0
        assert spent == [(3, "completed", 1.0), (2, "limit", 2.0)]

    go(main)


@pytest.mark.spec("9.49")
def test_a_budget_holds_for_what_a_tool_left_behind(kit: Any, go: Any) -> None:
    async def main() -> None:
        late: list[asyncio.Task[Any]] = []
        child = ScriptedModel([Reply(calls=[Call("inner")], usage=TokenUsage(input=15))], repeat=True)

        async def leave(args: Any, ctx: Any) -> str:
            agent = AgentRunner(AgentConfig(model=parent.config.model, tools=(kit.tool("inner", "x"),)))
            agent.set_adapter(child)
            late.append(asyncio.create_task(agent.chat("go")))
            return "left"

        parent = kit.agent(
            Reply(calls=[Call("leave")]), "done", tools=[kit.tool("leave", leave)], limits=Limits(tokens=300)
        )
        await parent.chat("go")
        response = await late[0]
        assert response.outcome == "limit" and len(child.requests) == 18  # 30 of its own and 18 times 15 are 300

    go(main)


def test_depth_is_limited_by_the_outermost_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        depths: list[int] = []
        errors: list[str] = []

        async def dig(args: Any, ctx: Any) -> str:
            depths.append(len(ctx.agent_path))
            child = AgentRunner(AgentConfig(model=parent.config.model, tools=(digger,), limits=Limits(depth=99)))
            child.set_adapter(ScriptedModel([Reply(calls=[Call("dig")]), "up"]))
            try:
                return (await child.chat("deeper")).content
            except AgentError as error:
                errors.append(str(error))
                raise

        digger = kit.tool("dig", dig)
        parent = kit.agent(Reply(calls=[Call("dig")]), "done", tools=[digger], limits=Limits(depth=2))
        await parent.chat("go")
        assert depths == [1, 2, 3]
        assert len(errors) == 1 and "nested more than 2 deep" in errors[0] and "main > sub:" in errors[0]

    go(main)


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("9.49")
def test_an_abort_of_the_run_above_ends_the_nested_one_and_keeps_what_was_said(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        team = Team(kit, [DELEGATE, "never"], [Hang("so far", started=started)])
        task = asyncio.create_task(team.parent.chat("go"))
        await started.wait()
        team.parent.abort("enough")
        with pytest.raises(RunAborted):
            await task
        child = team.children[0]
        assert [(m.role, m.text) for m in child.messages] == [("user", "look"), ("assistant", "so far")]
        assert team.results() == [("interrupted", "Interrupted: the run was aborted.")]
        ends = [(len(e.agent_path), e.outcome) for e in team.parent.seen.of("agent_end")]
        assert ends == [(2, "aborted"), (1, "aborted")]
        kit.check_brackets(team.events(1))
        kit.check_brackets(team.events(2))

    go(main)


def test_an_abort_reaches_a_nested_run_that_nobody_waits_for(kit: Any, go: Any) -> None:
    async def main() -> None:
        started, ended = asyncio.Event(), asyncio.Event()
        kept: list[Any] = []

        async def fire(args: Any, ctx: Any) -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel([Hang("x", started=started)]))
            child.events.on("agent_end", lambda e: ended.set())
            kept.append(asyncio.create_task(child.chat("go")))
            await started.wait()
            return "fired"

        parent = kit.agent(Reply(calls=[Call("fire")]), Hang(), tools=[kit.tool("fire", fire)])
        task = asyncio.create_task(parent.chat("go"))
        await started.wait()
        parent.abort()
        await ended.wait()
        for failed in (task, kept[0]):
            with pytest.raises(RunAborted):
                await failed

    go(main)


@pytest.mark.spec("9.49")
def test_a_nested_run_that_fails_is_one_error_result(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"], [])  # its script is empty: the request is refused
        response = await team.parent.chat("go")
        assert response.content == "done"
        ((kind, text),) = team.results()
        assert kind == "error" and "the script has no turn 1" in text

    go(main)


def test_a_nested_stream_ends_with_the_error_of_its_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        got: list[StreamEvent] = []

        async def delegate(args: Any, ctx: Any) -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel(["x"]))
            async for event in child.chat_stream_events("go"):
                got.append(event)
            return "ok"

        parent = kit.agent(
            Reply(calls=[Call("delegate")]), "done", tools=[kit.tool("delegate", delegate)], limits=Limits(depth=0)
        )
        await parent.chat("go")
        assert [e.type for e in got] == ["error"] and "nested more than 0 deep" in str(got[0].error)

    go(main)


def test_an_agent_on_another_loop_is_refused(kit: Any, go: Any) -> None:
    async def main() -> None:
        def work() -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel(["x"]))
            return asyncio.run(child.chat("go")).content

        async def delegate(args: Any, ctx: Any) -> str:
            with pytest.raises(UsageError, match="event loop"):
                await asyncio.to_thread(work)
            return "refused"

        parent = kit.agent(Reply(calls=[Call("delegate")]), "done", tools=[kit.tool("delegate", delegate)])
        await parent.chat("go")
        assert next(m for m in parent.messages if m.role == "tool_result").text == "refused"

    go(main)


# --- questions --------------------------------------------------------------------------------------------------------


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


# --- what is left -----------------------------------------------------------------------------------------------------


def test_a_tool_cannot_ask_the_agent_that_waits_for_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        said: list[str] = []

        async def ask(args: Any, ctx: Any) -> str:
            try:
                await parent.chat("me again")
            except AgentError as error:
                said.append(type(error).__name__)
            return "ok"

        parent = kit.agent(Reply(calls=[Call("ask")]), "done", tools=[kit.tool("ask", ask)])
        await parent.chat("go")
        assert said == ["ReentrancyError"]

    go(main)


@pytest.mark.spec("I19")
def test_a_nested_agent_leaves_nothing_behind(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"] * 2, ["x", "y"])
        await team.parent.chat("go")
        gone = weakref.ref(team.children.pop())
        await team.parent.chat("again")
        team.children.clear()
        team.scripted.requests.clear()
        gc.collect()
        assert gone() is None

    go(main)


def test_a_stored_nested_session_names_the_session_above(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        host = kit.host()
        host.session_stores.register("s", store)

        async def delegate(args: Any, ctx: Any) -> str:
            child = AgentRunner(AgentConfig(model=parent.config.model), session="new")
            child.set_adapter(ScriptedModel(["x"]))
            response = await child.chat("go")
            await child.aclose()
            found.append(response.session_id)
            return "ok"

        found: list[Any] = []
        parent = kit.agent(
            Reply(calls=[Call("delegate")]), "done", tools=[kit.tool("delegate", delegate)], host=host, session="new"
        )
        await parent.chat("go")
        again = await Session.open(store, found[0], lambda: 0.0, read_only=True)
        assert again.handle.header.parent_session == parent.session_id

    go(main)
