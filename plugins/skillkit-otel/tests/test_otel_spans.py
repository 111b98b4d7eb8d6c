"""The spans of runs: their tree, names, attributes and ends, as a collector on loopback gets them."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import context, trace

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    Approver,
    ErrorKind,
    Factory,
    LimitReached,
    ModelDefinition,
    ModelRequestResult,
    Origin,
    Provider,
    RunAborted,
    TokenUsage,
    Tool,
    ToolCallEventResult,
    UserMessage,
    hookimpl,
)  # fmt: skip
from skillkit_core.messages import blocks_of
from skillkit_core.testing import Call, Fail, Hang, Reply, ScriptedModel
from skillkit_core.tools import ToolError

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def tool(name: str, body: Any, **about: Any) -> Tool:
    return Tool(name, f"Does {name}.", body, TEXT, **about)


async def echo(args: Any, ctx: Any) -> str:
    return f"echo {args.get('text', '')}"


@pytest.mark.smoke
def test_a_run_is_a_span_with_its_model_calls_and_tool_calls_below(on: Any, say: Any) -> None:
    usage = TokenUsage(input=10, output=5, cache_read=20, cache_write=3, reasoning=2)
    turns = Reply("I look. ", calls=[Call("echo", {"text": "hi"}, id="c1")], usage=usage), "done"
    assert say("go", *turns, tools=[tool("echo", echo)]) == "done"

    assert on.tree() == ["invoke_agent main", "  chat any", "  chat any", "  execute_tool echo"]
    run, first, call, second = on.spans
    assert {s.trace for s in on.spans} == {run.trace} and {s.at.get("gen_ai.conversation.id") for s in (run, first)}
    assert [s.kind for s in on.spans] == ["INTERNAL", "CLIENT", "INTERNAL", "CLIENT"]
    assert {s.status for s in on.spans} == {0} and not any("error.type" in s.at for s in on.spans)
    assert run.at["gen_ai.agent.name"] == "main" and run.at["skillkit.outcome"] == "completed"
    about = {"operation.name": "chat", "provider.name": "scripted", "request.model": "any", "usage.input_tokens": 33}
    about |= {"usage.output_tokens": 7, "usage.cache_read.input_tokens": 20, "usage.cache_creation.input_tokens": 3}
    about |= {"usage.reasoning.output_tokens": 2, "response.finish_reasons": ["tool_call"], "request.stream": True}
    assert {f"gen_ai.{key}": value for key, value in about.items()}.items() <= first.at.items()
    assert second.at["gen_ai.response.finish_reasons"] == ["stop"]
    assert 0 <= first.at["gen_ai.response.time_to_first_chunk"] < 60
    assert (call.at["gen_ai.tool.call.id"], call.at["gen_ai.tool.type"]) == ("c1", "function")
    assert run.scope == ("skillkit_otel", "0.2.0", "https://opentelemetry.io/schemas/1.44.0")
    assert run.resource["service.name"] == "skillkit"
    assert all(s.times[0] >= run.times[0] and s.times[1] <= run.times[1] for s in on.spans)


def test_nested_runs_are_below_the_tool_calls_that_made_them_also_two_at_once(on: Any, say: Any) -> None:
    both = asyncio.Barrier(2)
    inside = []

    async def nest(args: Any, ctx: Any) -> str:
        await both.wait()
        inside.append(trace.get_current_span().get_span_context().span_id)
        async with AgentRunner(AgentConfig(model="any"), name="helper") as agent:
            agent.set_adapter(ScriptedModel([args["text"]]))
            return (await agent.chat("help")).content

    calls = Reply(calls=[Call("nest", {"text": "a"}, id="a"), Call("nest", {"text": "b"}, id="b")])
    say("go", calls, "done", tools=[tool("nest", nest)])
    nested = ["  execute_tool nest", "    invoke_agent helper", "      chat any"]
    assert on.tree() == ["invoke_agent main", "  chat any", "  chat any", *nested, *nested]
    assert {f"{i:016x}" for i in inside} == {s.id for s in on.spans if s.name == "execute_tool nest"}
    assert len({s.trace for s in on.spans}) == 1
    assert len({s.at["gen_ai.conversation.id"] for s in on.spans if s.name.startswith("invoke_agent")}) == 3


def test_a_model_call_covers_its_retries_and_fails_only_with_the_last_one(on: Any, say: Any) -> None:
    slow = Fail(ErrorKind.rate_limit, "slow down", status=429)
    assert say("go", slow, slow, "at last") == "at last"
    call = on.one("chat any")
    assert call.status == 0 and "error.type" not in call.at
    assert call.events == tuple(("skillkit.retry", {"skillkit.attempt": n, "error.type": "rate_limit"}) for n in (2, 3))


def test_a_provider_that_fails_fails_the_call_and_the_run(on: Any, say: Any) -> None:
    with pytest.raises(AgentError):
        say("go", Fail(ErrorKind.invalid_request, "bad words: canary", status=400))
    assert on.tree() == ["invoke_agent main", "  chat any"]
    assert [(s.status, s.at["error.type"]) for s in on.spans] == [(2, "invalid_request")] * 2
    assert on.spans[1].times[1] <= on.spans[0].times[1]
    assert b"canary" not in on.raw
    unit, points = on.metrics["gen_ai.client.operation.duration"]
    assert unit == "s" and {p[0]["error.type"] for p in points} == {"invalid_request"}


def test_a_fallback_is_a_model_call_of_its_own(on: Any, traced: Any) -> None:
    async def main() -> None:
        busy = Fail(ErrorKind.overloaded, "busy", status=529)
        second = SimpleNamespace(name="second", register_adapters=register_adapters)
        async with traced(busy, busy, busy, plugins=[second], fallbacks=("second/big",)) as agent:
            assert (await agent.chat("go")).content == "from the second"

    @hookimpl
    def register_adapters(register: Any) -> None:
        register(Provider("second", {"scripted": lambda host, **_: Named(["from the second"])}))

    asyncio.run(main())
    assert on.tree() == ["invoke_agent main", "  chat any", "  chat big"]
    failed, worked = on.one("chat any"), on.one("chat big")
    assert (failed.status, failed.at["error.type"], len(failed.events)) == (2, "overloaded", 2)
    assert (worked.status, worked.at["gen_ai.provider.name"]) == (0, "second")
    assert on.one("invoke_agent main").status == 0


class Named(ScriptedModel):
    provider = "second"


def test_an_abort_ends_what_is_open_as_aborted(on: Any, traced: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()

        async def hang(args: Any, ctx: Any) -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        async with traced(Reply(calls=[Call("hang")]), tools=[tool("hang", hang)], abort_grace=0.1) as agent:
            running = asyncio.ensure_future(agent.chat("go"))
            await started.wait()
            agent.abort("enough")
            with pytest.raises(RunAborted):
                await running
            agent.set_adapter(ScriptedModel([Hang("half an ans", again := asyncio.Event())]))
            running = asyncio.ensure_future(agent.chat("again"))
            await again.wait()
            agent.abort("enough")
            with pytest.raises(RunAborted):
                await running

    asyncio.run(main())
    one = ["invoke_agent main", "  chat any"]
    assert sorted(on.tree()) == sorted([*one, "  execute_tool hang", *one])
    failed = [(s.name, s.at["error.type"]) for s in on.spans if s.status == 2]
    run = ("invoke_agent main", "aborted")
    assert failed == [run, ("execute_tool hang", "interrupted"), run, ("chat any", "aborted")]
    assert on.spans[-1].at["skillkit.usage.estimated"] is True
    assert b"half an ans" not in on.raw and b"enough" not in on.raw


def test_a_tool_call_that_fails_is_denied_or_unknown_says_how_it_ended(on: Any, say: Any) -> None:
    async def fail(args: Any, ctx: Any) -> str:
        raise ToolError("canary is not there")

    @hookimpl(tools=("deploy",))
    def before_tool_call(event: Any) -> ToolCallEventResult:
        return ToolCallEventResult(block=True, reason="not on Fridays")

    guard = SimpleNamespace(name="friday", before_tool_call=before_tool_call)
    calls = [Call("fail"), Call("deploy"), Call("no such\ntool canary")]
    say("go", Reply(calls=calls), "done", plugins=[guard], tools=[tool("fail", fail), tool("deploy", echo)])
    seen = {s.name: (s.status, s.at.get("error.type")) for s in on.spans if s.name.startswith("execute_tool")}
    told = {"execute_tool fail": (2, "error"), "execute_tool deploy": (2, "blocked")}
    assert seen == {**told, "execute_tool unknown": (2, "error")}
    guards = on.one("execute_tool deploy").events
    assert guards == (("skillkit.guard", {"skillkit.plugin": "friday", "skillkit.answer": "block"}),)
    assert b"canary" not in on.raw and on.one("invoke_agent main").status == 0


def test_a_request_that_a_guard_forbids_is_no_model_call(on: Any, say: Any) -> None:
    @hookimpl(phase="guard")
    def before_model_request(event: Any) -> ModelRequestResult:
        return ModelRequestResult(stop=True, reason="no money")

    say("go", "never", plugins=[SimpleNamespace(name="budget", before_model_request=before_model_request)])
    assert on.tree() == ["invoke_agent main"]
    run = on.spans[0]
    assert (run.status, run.at["skillkit.outcome"]) == (0, "limit")


def test_what_comes_after_a_forbidden_request_is_not_below_it(on: Any, say: Any) -> None:
    @hookimpl(phase="guard")
    def before_model_request(event: Any) -> ModelRequestResult:
        return ModelRequestResult(stop=event.purpose == "t.sum", reason="no summaries")

    async def try_it(args: Any, ctx: Any) -> str:
        with pytest.raises(LimitReached):
            await ctx.complete([UserMessage(content=blocks_of("shorter"))], purpose="t.sum")
        async with AgentRunner(AgentConfig(model="any"), name="helper") as agent:
            agent.set_adapter(ScriptedModel(["helped"]))
            return (await agent.chat("help")).content

    guard = SimpleNamespace(name="budget", before_model_request=before_model_request)
    say("go", Reply(calls=[Call("try")]), "done", plugins=[guard], tools=[tool("try", try_it)])
    nested = ["  execute_tool try", "    invoke_agent helper", "      chat any"]
    assert on.tree() == ["invoke_agent main", "  chat any", "  chat any", *nested]


def test_a_request_of_a_plugin_is_below_what_asked_and_says_what_for(on: Any, say: Any) -> None:
    async def summarise(args: Any, ctx: Any) -> str:
        answer = await ctx.complete([UserMessage(content=blocks_of("shorter"))], purpose="t.sum")
        return str(answer.text)

    say("go", Reply(calls=[Call("sum")]), "short", "done", tools=[tool("sum", summarise)])
    assert on.tree() == ["invoke_agent main", "  chat any", "  chat any", "  execute_tool sum", "    chat any"]
    assert [s.at["skillkit.purpose"] for s in on.spans if s.name == "chat any"] == ["turn", "t.sum", "turn"]


def test_a_compaction_by_a_model_is_a_model_call_of_its_run(on: Any, traced: Any) -> None:
    from skillkit_testkit.engines import installed

    async def main() -> None:
        small = ModelDefinition("small", "scripted", "scripted", context_window=4000)
        turns = ["long " * 600, "long " * 600, "long " * 600, "a summary", "end", "end"]
        settings = {"compactor": "summary"}
        async with traced(*turns, model=small, plugins=[installed("compactors")], settings=settings) as agent:
            for text in "abcd":
                await agent.chat(text)
            assert await agent.compact() in (True, False)

    asyncio.run(main())
    found = [s for s in on.spans if s.at.get("skillkit.purpose") == "compaction"]
    assert found, on.tree()
    parents = {s.id: s for s in on.spans}
    assert {parents[s.parent].name for s in found} == {"invoke_agent main"}
    assert any(name == "skillkit.compaction" for s in on.spans for name, _ in s.events)


class Desk(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


def test_a_run_that_waits_is_no_error_and_the_one_that_goes_on_links_to_it(on: Any, traced: Any) -> None:
    @hookimpl(tools=("deploy",))
    def before_tool_call(event: Any) -> ToolCallEventResult:
        return ToolCallEventResult(ask="deploy?", ask_key="deploy")

    guard = SimpleNamespace(name="asks", before_tool_call=before_tool_call)

    async def main() -> None:
        turns = Reply(calls=[Call("deploy", id="d")]), "deployed"
        async with traced(*turns, plugins=[guard], tools=[tool("deploy", echo)], approver=Desk()) as agent:
            assert (await agent.chat("go")).outcome == "suspended"
            assert (await agent.resume({"d": "allow"})).content == "deployed"

    asyncio.run(main())
    first, second = [s for s in on.spans if s.name == "invoke_agent main"]
    assert (first.status, first.at["skillkit.outcome"]) == (0, "suspended")
    assert second.links == (first.id,) and not first.links
    assert on.one("execute_tool deploy").parent == second.id


def test_steps_of_an_engine_are_below_its_task_and_hold_their_calls(
    on: Any, engine_stage: Any, engine_skill: Any
) -> None:
    engine_skill("weather", tools=["look"])

    async def main() -> None:
        turns = Reply(calls=[Call("look", {"text": "Oslo"})]), "Warm."
        agent, _ = engine_stage(*turns, tools=[tool("look", echo, annotations={"mutates": "none"})], plugins=["otel"])
        async with agent:
            assert (await agent.chat("/weather Oslo")).content == "Warm."
        await agent.host.aclose()

    asyncio.run(main())
    lines = on.tree()
    assert lines[:2] == ["invoke_agent main", "  invoke_workflow weather"]
    inside = ["    step execute_with_tools", "      chat any", "      chat any", "      execute_tool look"]
    assert "\n".join(inside) in "\n".join(lines)
    assert len({s.trace for s in on.spans}) == 1
    task = on.one("invoke_workflow weather")
    assert (task.at["gen_ai.skill.name"], task.at["skillkit.engine"]) == ("weather", "automation")


class Team:
    """An engine that asks two critics at once, each in a step, and then a participant: an agent of its own."""

    name = "team"
    fields = frozenset[str]()

    def problems(self, skill: Any, host: Any) -> Any:
        return ()

    def tools(self, task: Any) -> Any:
        return ()

    def prompt(self, task: Any) -> str:
        return ""

    async def run(self, task: Any, run: Any) -> Any:
        from skillkit_engines import TaskResult, node

        both = asyncio.Barrier(2)

        async def critic(name: str) -> None:
            async with node(task, "criticise"):
                await both.wait()
                await run.ask([UserMessage(content=blocks_of(name))], purpose="team.critic", role=name)
                await both.wait()

        async with node(task, "discuss"):
            await asyncio.gather(critic("optimist"), critic("pessimist"))
            async with AgentRunner(AgentConfig(model="any", bare=True), name="judge") as judge:
                judge.set_adapter(ScriptedModel(["the verdict"]))
                return TaskResult("completed", (await judge.chat("judge it")).content)


def test_steps_at_once_and_participants_are_below_the_step_that_asks_them(
    on: Any, engine_stage: Any, engine_skill: Any
) -> None:
    @hookimpl
    def register_engines(register: Any) -> None:
        register(Factory("team", lambda host: Team()))

    engine_skill("review", engine="team")

    async def main() -> None:
        plugin = ("team", SimpleNamespace(register_engines=register_engines))
        agent, _ = engine_stage("fine", "bad", tools=[], plugins=["otel", plugin])
        async with agent:
            assert (await agent.chat("/review it")).content == "the verdict"
        await agent.host.aclose()

    asyncio.run(main())
    critic = ["      step criticise", "        chat any"]
    judge = ["      invoke_agent judge", "        chat any"]
    above = ["invoke_agent main", "  invoke_workflow review", "    step discuss"]
    assert on.tree() == [*above, *judge, *critic, *critic]
    roles = [s.at.get("skillkit.role") for s in on.spans if s.name == "chat any"]
    assert sorted(filter(None, roles)) == ["optimist", "pessimist"]


@pytest.mark.parametrize("named", ["application", "environment", "origin", "nothing"])
def test_a_run_continues_the_trace_in_which_it_is_asked(on: Any, traced: Any, monkeypatch: Any, named: str) -> None:
    above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    token = None
    if named == "environment":
        monkeypatch.setenv("TRACEPARENT", above)
    elif named == "application":
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        own = trace.SpanContext(int(above.split("-")[1], 16), int(above.split("-")[2], 16), True, flags)
        token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(own)))
    origin = Origin("a2a", "shop", meta={"traceparent": above}) if named == "origin" else None

    async def main() -> None:
        async with traced("done") as agent:
            await agent.chat("go", origin=origin)

    try:
        asyncio.run(main())
    finally:
        if token is not None:
            context.detach(token)
    run = on.one("invoke_agent main")
    if named == "nothing":
        assert run.parent == "" and run.trace != above.split("-")[1]
    else:
        assert [run.trace, run.parent] == above.split("-")[1:3]


def test_the_runs_of_a_conversation_are_traces_of_their_own(on: Any, traced: Any) -> None:
    async def main() -> None:
        async with traced("one", "two") as agent:
            await agent.chat("a")
            await agent.chat("b")

    asyncio.run(main())
    runs = [s for s in on.spans if s.name == "invoke_agent main"]
    assert len({s.trace for s in runs}) == 2 and {s.parent for s in runs} == {""}
    assert len({s.at["gen_ai.conversation.id"] for s in runs}) == 1


def test_content_is_in_no_span_unless_it_is_on_and_then_without_secrets(on: Any, say: Any) -> None:
    secret = "sk-live-0123456789abcdef"
    turns = Reply("I look. ", calls=[Call("echo", {"text": "Bergen"})]), "It rains."
    options: dict[str, Any] = {"tools": [tool("echo", echo)], "system_prompt": "Be brief.", "api_key": secret}
    say(f"the weather with {secret}", *turns, **options)
    for word in ("weather", "Bergen", "It rains", "Be brief", secret):
        assert word.encode() not in on.raw
    on.asked.clear()

    say(f"the weather with {secret}", *turns, **options, settings={"otel.content": "span"})
    assert secret.encode() not in on.raw
    first = next(s for s in on.spans if s.name == "chat any")
    asked = json.loads(first.at["gen_ai.input.messages"])
    assert asked[-1] == {"role": "user", "parts": [{"type": "text", "content": "the weather with ***"}]}
    (answer,) = json.loads(first.at["gen_ai.output.messages"])
    called = {"type": "tool_call", "id": answer["parts"][1]["id"], "name": "echo", "arguments": {"text": "Bergen"}}
    assert answer == {
        "role": "assistant", "parts": [{"type": "text", "content": "I look. "}, called], "finish_reason": "tool_call",
    }  # fmt: skip
    assert "Be brief." in first.at["gen_ai.system_instructions"]
    assert json.loads(first.at["gen_ai.tool.definitions"])[0]["name"] == "echo"
    call = on.one("execute_tool echo")
    assert json.loads(call.at["gen_ai.tool.call.arguments"]) == {"text": "Bergen"}
    assert call.at["gen_ai.tool.call.result"] == "echo Bergen"


@pytest.mark.parametrize("latest", [False, True])
def test_metrics_have_the_names_and_units_of_the_convention(on: Any, say: Any, latest: bool) -> None:
    settings = {"otel.semconv": "latest"} if latest else {}
    say("go", Reply("one", usage=TokenUsage(input=10, cache_write=2, output=5)), settings=settings)
    about = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted", "gen_ai.request.model": "any"}
    if not latest:
        unit, points = on.metrics["gen_ai.client.token.usage"]
        assert unit == "{token}"
        counted = {(p[0].pop("gen_ai.token.type"), p[1], p[2]) for p in points}
        assert counted == {("input", 12, 1), ("output", 5, 1)} and all(p[0] == about for p in points)
        assert {p[0]["gen_ai.operation.name"] for p in on.metrics["gen_ai.client.operation.duration"][1]} == {
            "chat", "invoke_agent",
        }  # fmt: skip
        return
    assert on.spans[0].scope[2] == "https://opentelemetry.io/schemas/gen-ai/1.42.0"
    assert on.one("chat any").at["gen_ai.usage.cache_write.input_tokens"] == 2
    used = {name.removeprefix("gen_ai.client.inference.usage."): p for name, p in on.metrics.items()}
    assert {n: p[1][0][1] for n, p in used.items() if "token" in n} == {
        "input_tokens": 12, "output_tokens": 5, "cache_write.input_tokens": 2,
    }  # fmt: skip
    assert on.metrics["gen_ai.client.inference.duration"][1][0][0] == about
    assert "gen_ai.invoke_agent.duration" in on.metrics


def test_sampling_keeps_the_share_of_the_traces_that_is_asked_for(on: Any, say: Any) -> None:
    say("go", "done", settings={"otel.sample": 0})
    assert on.spans == [] and on.metrics
