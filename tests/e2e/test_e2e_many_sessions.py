"""A hundred sessions at once in one process (a thousand with ``-m slow``), each a run with three tool calls over a real wire.

Nothing is lost or crossed.

Host, session files and adapters are as a user has them: one host, one adapter for each wire, default settings.
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit.turns import Call, Reply

from skillkit_core import AgentConfig, AgentRunner, Host, TokenUsage, Tool, hookimpl

CALLS = 3
FILES = 8 * 1000  # both ends of a connection, a session file and its lock, for each of a thousand sessions
USAGE = TokenUsage(input=10, output=5)
WIRES = {
    "anthropic": ("anthropic", None, ""),
    "openai-chat": ("openai", "openai-chat", "/v1"),
    "openai-responses": ("openai", "openai-responses", "/v1"),
}
ENDS = {"agent_start": "agent_end", "turn_start": "turn_end", "message_start": "message_end"}


@pytest.fixture(autouse=True)
def enough_files() -> Iterator[None]:
    """As many open files as a thousand sessions need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def answer(request: Any) -> Reply:
    """What the model says to session ``n``: first three calls, then what came of them; every word of it is about ``n``."""
    n = request.user_text.removeprefix("I am ")
    if not request.tool_results:
        calls = [Call("echo", {"n": n, "k": k}, f"call_{n}_{k}") for k in range(CALLS)]
        return Reply(text=[f"{n} ", "wants ", f"{n}."], tool_calls=calls, usage=USAGE)
    return Reply(text=[f"{n} ", "got ", *(f"{result.text} " for result in request.tool_results)], usage=USAGE)


class Crowd:
    """A plugin that brings the tool, lets nobody ask before everybody is there, and counts the turns of every session."""

    def __init__(self, sessions: int) -> None:
        self.sessions, self.here, self.all_here = sessions, 0, asyncio.Event()
        self.turns: Counter[str] = Counter()

    @hookimpl
    def register_tools(self, register: Any) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "string"}, "k": {"type": "integer"}}}
        register(Tool("echo", "Says what it was told.", self.echo, schema, annotations={"mutates": "none"}))

    async def echo(self, args: Any, ctx: Any) -> str:
        ctx.on_output(f"{args['n']}/{args['k']} ")
        await asyncio.sleep(0)
        return f"{args['n']}/{args['k']}@{ctx.session_id}"

    @hookimpl(timeout=300)
    async def agent_start(self, event: Any) -> None:
        self.here += 1
        if self.here == self.sessions:
            self.all_here.set()
        await self.all_here.wait()

    @hookimpl
    def turn_end(self, event: Any) -> None:
        self.turns[event.session_id] += 1


class One:
    """One session, and everything that it heard."""

    def __init__(self, n: int, agent: AgentRunner) -> None:
        self.n, self.agent = str(n), agent
        self.events: list[Any] = []
        agent.events.observe(self._hear)

    def _hear(self, event: Any) -> None:
        self.events.append(event)

    async def talk(self) -> None:
        async with self.agent:
            self.streamed = [event async for event in self.agent.chat_stream_events(f"I am {self.n}")]
            self.place = Path(self.agent.session.location or "")

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def check(self) -> Counter[str]:
        """Every event, and the file, are this session's; gives the events counted."""
        own, n = self.agent.session_id, self.n
        results = [f"{n}/{k}@{own}" for k in range(CALLS)]
        said = [f"{n} wants {n}.", f"{n} got {' '.join(results)} "]
        assert {event.session_id for event in self.events} == {own}
        assert {event.run_id for event in self.events} <= {None, "r1"}
        order = [event.seq for event in self.events]
        assert order == sorted(set(order))
        self.check_brackets()
        deltas = [e.event.content for e in self.of("message_update") if e.event.type == "text_delta"]
        assert "".join(deltas) == "".join(said) == "".join(e.content for e in self.streamed if e.type == "text_delta")
        assert [e.type for e in self.streamed if e.terminal] == ["done"]
        calls = [(e.tool_call_id, dict(e.args)) for e in self.of("tool_execution_start")]
        assert calls == [(f"call_{n}_{k}", {"n": n, "k": k}) for k in range(CALLS)]
        ended = {e.tool_call_id: e.content[0].text for e in self.of("tool_execution_end")}
        assert ended == {f"call_{n}_{k}": results[k] for k in range(CALLS)}
        assert sorted(e.output for e in self.of("tool_execution_update")) == [f"{n}/{k} " for k in range(CALLS)]
        self.check_file(said, results)
        return Counter(event.type for event in self.events)

    def check_brackets(self) -> None:
        """Starts and ends balance and nest."""
        open_: list[str] = []
        for event in self.events:
            if event.type in ENDS:
                open_.append(ENDS[event.type])
            elif event.type in ENDS.values():
                assert open_.pop() == event.type
        assert open_ == []

    def check_file(self, said: list[str], results: list[str]) -> None:
        """The session file holds this conversation and nothing else."""
        header, *lines = [json.loads(line) for line in self.place.read_text().splitlines()]
        assert header["id"] == self.agent.session_id
        messages = [line["message"] for line in lines if line["type"] == "message"]
        texts = [(m["role"], "".join(b.get("text", "") for b in m["content"])) for m in messages]
        assert texts == [
            ("user", f"I am {self.n}"), ("assistant", said[0]), *(("tool_result", text) for text in results),
            ("assistant", said[1]),
        ]  # fmt: skip
        assert [m["tool_call_id"] for m in messages[2:5]] == [f"call_{self.n}_{k}" for k in range(CALLS)]
        assert sum(line.get("input", 0) for line in lines if line["type"] == "usage") == 2 * USAGE.input
        assert self.agent.session.usage == TokenUsage(2 * USAGE.input, 2 * USAGE.output)


def config(wire: str, url: str) -> AgentConfig:
    provider, api, path = WIRES[wire]
    return AgentConfig(
        model="loop", provider=provider, api=api, base_url=url + path, api_key="none", only_tools={"echo"}
    )


@pytest.mark.spec("I2", "I8", "I17", "I18")
@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_sessions_at_once_lose_and_cross_nothing(llm_server, skillkit_home, many):
    skillkit_home.write_config("context:\n  facts: []\n")
    llm_server.always(answer)
    crowd = Crowd(many)
    configs = [config(wire, llm_server.url) for wire in WIRES]

    async def all_of_them() -> list[One]:
        host = Host()
        host.add_plugin(crowd, name="crowd")
        agents = [AgentRunner(configs[n % len(configs)], host=host, session="new") for n in range(many)]
        sessions = [One(n, agent) for n, agent in enumerate(agents)]
        await asyncio.gather(*(session.talk() for session in sessions))
        await host.aclose()
        return sessions

    sessions = asyncio.run(all_of_them())
    counts = [session.check() for session in sessions]
    assert len({session.agent.session_id for session in sessions}) == many
    for kind in set().union(*counts) - {"message_update"}:  # how many pieces an answer has is the wire's business
        assert {count[kind] for count in counts} == {counts[0][kind]}, kind
    assert crowd.turns == {session.agent.session_id: 2 for session in sessions}
    assert len(llm_server.requests) == 2 * many
    assert Counter(r.user_text for r in llm_server.requests) == {f"I am {n}": 2 for n in range(many)}
    assert Counter(r.api for r in llm_server.requests).keys() == {
        "anthropic-messages",
        "openai-chat",
        "openai-responses",
    }
