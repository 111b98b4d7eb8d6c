"""``skillkit usage`` and the budgets, with real runs against a model server on loopback that counts its requests."""

import asyncio
from pathlib import Path

import pytest
from skillkit_sessions import plugin as sessions_plugin
from skillkit_testkit import Call, Fail, Reply
from skillkit_usage import plugin as usage_plugin

from skillkit_core import AgentConfig, AgentRunner, Host, ModelCost, ModelDefinition, TokenUsage, Tool
from skillkit_core.testing import Call as ScriptedCall, Reply as ScriptedReply, ScriptedModel

NESTING = Path(__file__).parent / "support" / "nesting_plugin.py"
PRICES = """
retry: {attempts: 2, base_delay: 0}
catalog:
  models:
    - {id: a, provider: openai, cost: {input: 10, output: 100}, max_output_tokens: 1000, context_window: 100000}
    - {id: b, provider: openai, cost: {input: 1000, output: 10000}, max_output_tokens: 100, context_window: 100000}
    - {id: free, provider: openai, cost: {input: 0, output: 0}, context_window: 100000}
"""


@pytest.fixture
def run(skillkit_cli, skillkit_home, llm_server, install_plugin, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-tests")
    install_plugin("nesting", NESTING)
    skillkit_home.write_config(PRICES)

    def go(model, *words):
        wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", model)
        return skillkit_cli("-P", "nesting", "run", *wire, "--json", *words)

    return go


def used(input, output):
    return TokenUsage(input=input, output=output)


def test_the_sum_of_the_reports_is_that_of_the_requests_with_fallbacks_and_nested_runs(run, skillkit_cli, llm_server):
    # model a is overloaded twice, b answers the rest; one nested run has a session of its own, the other one has none
    llm_server.script(
        Fail(529), Fail(529),
        Reply(tool_calls=[Call("research", {"session": "new"})], usage=used(100, 20)), Reply(text="one", usage=used(30, 3)),
        Reply(tool_calls=[Call("research")], usage=used(200, 10)), Reply(text="two", usage=used(40, 4)),
        Reply(text="done", usage=used(300, 5)),
    )  # fmt: skip
    run("a,b", "go").ok()
    llm_server.script(Reply(text="free", usage=used(7, 1)))
    run("free", "go").ok()
    llm_server.script(Reply(text="unknown", usage=used(50, 6)))
    run("nobody-knows-it", "go").ok()
    assert len(llm_server.requests) == 9
    cost = (100 + 30 + 200 + 40 + 300) * 1000e-6 + (20 + 3 + 10 + 4 + 5) * 10000e-6
    reports = {by: skillkit_cli("usage", "--by", by, "--json").ok().json for by in ("session", "model", "tool")}
    for by, found in reports.items():
        assert found["total"] == {
            "requests": 9, "input": 727, "output": 49, "cache_read": 0, "cache_write": 0, "reasoning": 0, "tokens": 776,
            "cost": pytest.approx(cost), "unpriced": 1, "estimated": 0,
        }, by  # fmt: skip
        assert sum(row["requests"] for row in found["rows"]) == 9
    models = {row["model"]: row for row in reports["model"]["rows"]}
    assert {name: row["requests"] for name, row in models.items()} == {
        "openai/a": 2, "openai/b": 5, "openai/free": 1, "openai/nobody-knows-it": 1,
    }  # fmt: skip
    assert (models["openai/free"]["cost"], models["openai/nobody-knows-it"]["cost"]) == (0, None)
    tools = {row["tool"]: row for row in reports["tool"]["rows"]}
    assert (tools["research"]["requests"], tools["research"]["input"]) == (2, 70)
    sessions = reports["session"]["rows"]
    assert len(sessions) == 5
    outer = next(row for row in sessions if row["with_nested"]["requests"] == 7)
    assert outer["requests"] == 5, "what is below counts in the session above as well, beside its own"
    one = skillkit_cli("usage", "--session", outer["session"][:14], "--json").ok().json
    assert one["total"]["requests"] == 7
    text = skillkit_cli("usage", "--by", "model").ok().stdout
    assert "not known" in text and "1 request has no known price" in text
    assert (
        skillkit_cli("usage", "--by", "model", "--csv").ok().stdout.splitlines()[0].startswith("model,requests,input")
    )
    assert skillkit_cli("usage", "--since", "1999-01", "--until", "1999-02-03").ok().stdout == "Nothing was used.\n"
    assert "write 2026-03-31" in skillkit_cli("usage", "--since", "never").stderr


def test_a_months_budget_stops_the_request_that_would_exceed_it_and_no_other(
    run, skillkit_cli, skillkit_home, llm_server
):
    # b: at most 100 tokens of answer cost 1 dollar, and the prompt of a few hundred tokens less than one
    llm_server.always(Reply(text="yes", usage=used(500, 50)))  # 1 dollar
    skillkit_home.write_config(f"{PRICES}\nusage: {{budgets: {{month: {{cost: 1000}}, day: {{requests: 4}}}}}}\n")
    run("b", "go").ok()
    skillkit_home.write_config(f"{PRICES}\nusage: {{budgets: {{month: {{cost: 1.99}}, day: {{requests: 4}}}}}}\n")
    stopped = run("b", "go")
    assert (stopped.exit_code, stopped.json["outcome"], len(llm_server.requests)) == (1, "limit", 1)
    assert (
        "the budget of the month is $1.99: $1.00 used, and this request may take $" in stopped.stderr + stopped.stdout
    )
    assert "raise usage.budgets.month.cost" in stopped.stderr + stopped.stdout
    run("free", "go").ok()
    unknown = run("nobody-knows-it", "go")
    assert unknown.json["outcome"] == "limit" and "openai/nobody-knows-it is not known" in unknown.stdout
    skillkit_home.write_config(f"{PRICES}\nusage: {{budgets: {{month: {{cost: 20}}, day: {{requests: 3}}}}}}\n")
    run("b", "go").ok()
    last = run("free", "go")
    assert (last.json["outcome"], len(llm_server.requests)) == ("limit", 3)
    assert "the budget of the day is 3 requests: 3 requests used" in last.stdout
    rows = skillkit_cli("usage", "budgets", "--json").ok().json["budgets"]
    assert [(row["scope"], row["unit"], row["spent"], row["left"]) for row in rows] == [
        ("day", "requests", 3, 0), ("month", "cost", 2, 18),
    ]  # fmt: skip
    assert "$18.00" in skillkit_cli("usage", "budgets").ok().stdout
    bad = skillkit_cli("usage", env={"SKILLKIT_USAGE__TIMEZONE": "Nowhere/Land"})
    assert bad.exit_code == 2 and "time zone" in bad.stderr


MODEL = ModelDefinition("m", "scripted", cost=ModelCost(1000, 1000), max_output_tokens=100)


def agent_with(budgets, *turns, tools=()):
    host = Host(plugins=[("usage", usage_plugin)], discover=False)
    host.configure({"usage": {"budgets": budgets}})
    agent = AgentRunner(AgentConfig(model=MODEL, tools=tools), host=host)
    agent.set_adapter(ScriptedModel(turns))
    return agent


def test_a_run_and_a_session_hold_what_nested_runs_use_and_what_is_under_way(skillkit_home):
    answers = []

    async def below(args, ctx):
        async with AgentRunner(AgentConfig(model=MODEL, only_tools=frozenset())) as agent:
            agent.set_adapter(ScriptedModel(["found"]))
            answers.append(await agent.chat("Look."))
            return answers[-1].content

    async def main():
        tool = Tool("below", "Look below.", below)
        calls = ScriptedReply(calls=[ScriptedCall("below"), ScriptedCall("below"), ScriptedCall("below")])
        async with agent_with(
            {"run": {"requests": 3}, "session": {"requests": 4}}, calls, "no", "a", "b", tools=(tool,)
        ) as agent:
            first = await agent.chat("go")
            assert first.outcome == "limit"
            assert sorted(answer.outcome for answer in answers) == ["completed", "completed", "limit"]
            second = await agent.chat("again")
            assert second.outcome == "completed"
            third = await agent.chat("again")
            assert third.outcome == "limit"

    asyncio.run(main())


def test_what_another_process_uses_counts_for_the_day_and_own_requests_count_once(skillkit_home, monkeypatch):
    monkeypatch.setattr("skillkit_usage.guard.LOOK_AGAIN", 0.0)
    budgets = {"day": {"requests": 5}, "month": {"cost": 99}}

    def host():
        made = Host(plugins=[("usage", usage_plugin), ("sessions", sessions_plugin)], discover=False)
        made.configure({"usage": {"budgets": budgets}})
        return made

    def agent(on):
        made = AgentRunner(AgentConfig(model=MODEL), host=on, session="new")
        made.set_adapter(ScriptedModel(["yes"], repeat=True))
        return made

    async def main():
        here, there = host(), host()  # each has books of its own, as two processes have
        async with agent(here) as mine, agent(there) as other:
            outcomes = [(await who.chat("go")).outcome for who in (mine, mine, other, other, mine, mine, other)]
        assert outcomes == ["completed"] * 5 + ["limit"] * 2

    asyncio.run(main())
