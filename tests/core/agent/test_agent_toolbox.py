"""Which tools an agent has: names that collide, tools that go away, tools that must be allowed (spec, 9.46, 9.47)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from skillkit_core import Tool, ToolSet, hookimpl
from skillkit_core.testing import Call, Reply


@pytest.mark.spec("9.47")
def test_tools_of_plugins_collide_by_order_and_a_distribution_may_choose(kit: Any, go: Any) -> None:
    def plugin(text: str) -> Any:
        class Plugin:
            @hookimpl
            def register_tools(self, register: Any) -> None:
                register(kit.tool("same", text))

        return Plugin()

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("same")]), "end", plugins=[("one", plugin("from one")), ("two", plugin("from two"))]
        )
        await agent.chat("go")
        assert kit.results(agent)[0].text == "from one"
        host = agent.host
        assert host.tools.list() == ["same", "same@two"]
        assert host.tools.get("same@two").name == "same"
        assert [(p.plugin, p.stage) for p in host.problems] == [("two", "register_tools")]
        host = kit.host(("one", plugin("from one")), ("two", plugin("from two")))
        host.tools.prefer["same"] = "two"
        agent = kit.agent(Reply(calls=[Call("same")]), "end", host=host)
        await agent.chat("go")
        assert kit.results(agent)[0].text == "from two"

    go(main)


@pytest.mark.spec("9.46")
def test_a_tool_that_disappears_while_a_call_waits_gives_an_error(kit: Any, go: Any) -> None:
    class Fleeting:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("gone", "never"))

    async def main() -> None:
        host = kit.host(("fleeting", Fleeting()))
        agent = kit.agent(Reply(calls=[Call("gone")]), "end", host=host)
        agent.events.on("message_end", lambda e: host.tools.unregister("gone") if "gone" in host.tools else None)
        await agent.chat("go")
        assert kit.results(agent)[0].outcome == "error" and "no tool 'gone'" in kit.results(agent)[0].text
        assert agent.scripted.requests[1].tools == ()

    go(main)


def test_opt_in_tools_need_a_name_and_tool_sets_that_fail_have_no_tools(kit: Any, go: Any) -> None:
    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("risky", "x", opt_in=True))
            register(kit.tool("tame", "x"))
            register(ToolSet("broken", lambda agent: 1 / 0))
            register(ToolSet("more", lambda agent: [Tool("extra", "d", "m:f")]))

    async def main() -> None:
        def names(allow: Sequence[str] = (), **config: Any) -> list[str]:
            host = kit.host(("p", Plugin()), settings={"tools.allow": list(allow)})
            agent = kit.agent(host=host, **config)
            return [t.name for t in agent.tools]

        assert names() == ["extra", "tame"]
        assert names(["risky"]) == ["extra", "risky", "tame"]
        assert names(["risky"], only_tools=frozenset({"risky"})) == ["risky"]

    go(main)


@pytest.mark.spec("9.46", "I16")
def test_tools_that_come_in_another_order_after_every_reconnect_are_the_same_bytes(kit: Any, go: Any) -> None:
    """As a server of tools does it that is asked for its list again."""

    class Server:
        lists = 0

        def tools(self, agent: Any) -> list[Tool]:
            self.lists += 1
            names = ["read", "write", "list"]
            return [kit.tool(n, "ok", parameters=SCHEMA) for n in (names if self.lists % 2 else names[::-1])]

    SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}}
    server = Server()

    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(ToolSet("server", server.tools))

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("read")]), Reply(calls=[Call("list")]), "end", plugins=[("mcp", Plugin())])
        await agent.chat("go")
        sent = [json.dumps([(t.name, t.description, t.parameters) for t in r.tools]) for r in agent.scripted.requests]
        assert len(sent) == 3 and len(set(sent)) == 1 and server.lists > 3
        assert [r.outcome for r in kit.results(agent)] == ["ok", "ok"]

    go(main)


def test_keywords_that_nobody_checks_are_told_once_with_tool_and_plugin(kit: Any, go: Any) -> None:
    strange = {"type": "object", "unevaluatedProperties": False, "properties": {"a": {"requires": ["b"]}}}

    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("fine", "x", parameters={"type": "object", "if": {}, "dependentRequired": {"a": ["b"]}}))
            register(kit.tool("plain", "x", parameters=strange))
            register(ToolSet("more", lambda agent: [kit.tool("later", "x", parameters=strange)]))

    async def main() -> None:
        host = kit.host(("p", Plugin()))
        assert "plain" in host.tools
        assert [(p.plugin, p.stage, p.severity) for p in host.problems] == [("p", "register_tools", "warning")]
        for _ in range(2):
            agent = kit.agent("hi", repeat=True, host=host, tools=[kit.tool("own", "x", parameters=strange)])
            await agent.chat("go")
            await agent.chat("go")
        assert [(p.plugin, p.message) for p in host.problems] == [
            (plugin, f"tool {name!r}: nobody checks 'requires', 'unevaluatedProperties' in its parameters")
            for plugin, name in (("p", "plain"), ("p", "later"), ("application", "own"))
        ]

    go(main)


def test_whether_a_tool_is_permitted_is_said_without_asking_the_tool_sets(kit: Any, go: Any) -> None:
    asked: list[Any] = []

    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(ToolSet("counting", lambda agent: asked.append(agent) or ()))

    async def main() -> list[bool]:
        agent = kit.agent(host=kit.host(("p", Plugin())), only_tools=frozenset({"read"}))
        assert agent.tools == () and len(asked) == 1
        return [agent.toolbox.permits(name) for name in ("read", "write")]

    assert go(main()) == [True, False]
    assert len(asked) == 1
