"""A request that is cut off is in the books: with what the wire told by then, else with an estimate that is marked as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import skillkit_anthropic.plugin
import skillkit_openai.plugin
import skillkit_usage.plugin
from skillkit_testkit import Cut, Fail, Gate, Hang, Reply, until

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    Limits,
    ModelCost,
    ModelDefinition,
    RetryPolicy,
    RunAborted,
    TokenUsage,
)

WIRES = ["openai-chat", "openai-responses", "anthropic-messages"]
TEXT = "word " * 400
LONG = Reply(text=TEXT, usage=TokenUsage(input=77, output=500))
QUESTION = "why " * 200
COST = ModelCost(input=1.0, output=10.0)


@pytest.fixture
def agent_on(make_host: Any, llm_server: Any) -> Callable[..., AgentRunner]:
    def make(api: str, *, settings: Any = None, **config: Any) -> AgentRunner:
        plugins = [("openai", skillkit_openai.plugin), ("anthropic", skillkit_anthropic.plugin)]
        host = make_host(*plugins, ("usage", skillkit_usage.plugin), settings=settings or {})
        provider = api.partition("-")[0]
        url = llm_server.openai_url if provider == "openai" else llm_server.url
        model = ModelDefinition("any", provider, api, cost=COST, max_output_tokens=1000)
        config = {"retry": RetryPolicy(attempts=1), **config}
        where = {"model": model, "provider": provider, "api": api, "base_url": url, "api_key": "k"}
        return AgentRunner(AgentConfig(**where, **config), host=host)

    return make


def entries(agent: AgentRunner) -> list[Any]:
    return [entry.data for entry in agent.session.entries if entry.type == "usage"]


def is_told(entry: Any, api: str) -> bool:
    """Whether the wire had told the input: only that of Anthropic does at its beginning."""
    return api.startswith("anthropic") and entry["input"] == 77


@pytest.mark.parametrize("api", WIRES)
async def test_an_answer_that_is_aborted_costs_what_has_arrived(api: str, agent_on: Any, llm_server: Any) -> None:
    gate = Gate(after_deltas=200)
    llm_server.script(Reply(text=TEXT, usage=LONG.usage, gate=gate))
    async with agent_on(api) as agent:
        seen: list[Any] = []
        pieces: list[str] = []
        agent.events.observe(seen.append, ["usage"])
        agent.events.observe(lambda event: pieces.append(event.content), ["message_update"])
        asked = asyncio.create_task(agent.chat(QUESTION))
        await until(lambda: sum(map(len, pieces)) >= 1600)
        agent.abort()
        with pytest.raises(RunAborted) as failed:
            await asked
        (entry,) = entries(agent)
        assert entry["error"] == "aborted" and entry["estimated"] is True
        assert is_told(entry, api) or 150 <= entry["input"] <= 400
        assert 200 <= entry["output"] <= 800
        assert entry["cost"] == cost_of(entry) == seen[0].cost and seen[0].estimated
        assert failed.value.response is not None and failed.value.response.usage.total == seen[0].usage.total


def cost_of(entry: Any) -> float:
    usage = TokenUsage(entry["input"], entry.get("output", 0))
    return ModelDefinition("any", cost=COST).cost_of(usage) or 0.0


@pytest.mark.parametrize("api", WIRES)
async def test_each_attempt_that_is_cut_off_counts_beside_the_one_that_succeeds(
    api: str, agent_on: Any, llm_server: Any
) -> None:
    fail = Fail(529 if api.startswith("anthropic") else 500, during=LONG, after_deltas=100)
    llm_server.script(Cut(after_deltas=200, reply=LONG), fail, Fail(429), Reply(text="done"))
    async with agent_on(api, retry=RetryPolicy(attempts=4, base_delay=0.001)) as agent:
        answer = await agent.chat(QUESTION)
        cut, broken, refused, whole = entries(agent)
        for entry, deltas in ((cut, 200), (broken, 100)):
            assert entry["estimated"] is True and entry["error"]
            assert is_told(entry, api) or 150 <= entry["input"] <= 400
            assert deltas * 8 / 8 <= entry["output"] <= deltas * 8 / 2
        assert "input" not in refused and "estimated" not in refused  # the provider has done nothing for it
        assert (whole["input"], whole["output"], whole.get("estimated")) == (10, 5, None)
        total = sum(entry.get("cost", 0.0) for entry in entries(agent))
        assert answer.cost == pytest.approx(total) and answer.usage.output == cut["output"] + broken["output"] + 5


@pytest.mark.parametrize("api", WIRES)
async def test_a_request_that_is_aborted_before_its_answer_begins_costs_its_input(
    api: str, agent_on: Any, llm_server: Any
) -> None:
    llm_server.script(Hang())
    async with agent_on(api) as agent:
        asked = asyncio.create_task(agent.chat(QUESTION))
        await until(lambda: llm_server.requests)
        agent.abort()
        with pytest.raises(RunAborted):
            await asked
        (entry,) = entries(agent)
        assert 150 <= entry["input"] <= 400 and "output" not in entry and entry["estimated"] is True


@pytest.mark.parametrize("api", WIRES)
async def test_an_answer_that_is_cut_before_its_first_piece_costs_its_input(
    api: str, agent_on: Any, llm_server: Any
) -> None:
    llm_server.script(Cut(after_bytes=0, reply=LONG))
    async with agent_on(api) as agent:
        with pytest.raises(AgentError):
            await agent.chat(QUESTION)
        (entry,) = entries(agent)
        assert 150 <= entry["input"] <= 400 and "output" not in entry and entry["estimated"] is True


async def _read_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()


@pytest.mark.parametrize("api", WIRES)
async def test_a_request_whose_connection_is_closed_before_any_status_costs_its_input(api: str, agent_on: Any) -> None:
    async with await asyncio.start_server(_read_and_close, "127.0.0.1") as server, agent_on(api) as agent:
        agent.configure(base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        with pytest.raises(AgentError):
            await agent.chat(QUESTION)
        (entry,) = entries(agent)
        assert 150 <= entry["input"] <= 400 and "output" not in entry and entry["estimated"] is True


async def test_a_server_that_is_not_there_costs_nothing(agent_on: Any, llm_server: Any) -> None:
    async with agent_on("openai-chat", retry=RetryPolicy(attempts=2, base_delay=0.001)) as agent:
        agent.configure(base_url="http://127.0.0.1:9/v1")
        with pytest.raises(AgentError):
            await agent.chat(QUESTION)
        assert [entry.get("input") for entry in entries(agent)] == [None, None]


async def test_limits_and_budgets_count_what_was_cut_off(agent_on: Any, llm_server: Any) -> None:
    llm_server.script(Cut(after_deltas=200, reply=LONG))
    async with agent_on("openai-chat", limits=Limits(tokens=300), retry=RetryPolicy(2, base_delay=0.001)) as agent:
        assert (await agent.chat(QUESTION)).outcome == "limit"  # the retry has no room any more
    llm_server.script(Cut(after_deltas=200, reply=LONG))
    budget = {"usage.budgets.session.tokens": 1300}
    async with agent_on("openai-chat", settings=budget, retry=RetryPolicy(2, base_delay=0.001)) as agent:
        answer = await agent.chat("short")
        assert answer.outcome == "limit" and "budget of this session is 1,300 tokens" in answer.reason


async def test_a_report_says_how_many_requests_were_cut_off(
    skillkit_cli: Any, skillkit_home: Any, llm_server: Any
) -> None:
    llm_server.script(Cut(after_deltas=200, reply=LONG), Reply(text="done"))
    skillkit_home.write_config("retry: {attempts: 2, base_delay: 0.001}")
    where = ("--provider", "openai", "--api", "openai-chat", "--model", "any")
    done = skillkit_cli("run", *where, QUESTION, env={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": llm_server.openai_url})
    assert done.stdout.endswith("done\n")
    assert "1 request was cut off" in skillkit_cli("usage").stdout
    assert skillkit_cli("usage", "--json").json["total"]["estimated"] == 1
