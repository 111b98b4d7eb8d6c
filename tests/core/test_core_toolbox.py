"""Which tools an agent has: names that collide, tools that go away, tools that must be allowed (spec, 9.46, 9.47)."""

from __future__ import annotations

from typing import Any

from skillkit_core import Tool, hookimpl
from skillkit_core.testing import Call, Reply


def test_tools_of_plugins_collide_by_order_and_a_distribution_may_choose(kit: Any, go: Any) -> None:
    """Edge case 47."""

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


def test_a_tool_that_disappears_while_a_call_waits_gives_an_error(kit: Any, go: Any) -> None:
    """Edge case 46."""

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
    from skillkit_core import ToolSet

    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("risky", "x", opt_in=True))
            register(kit.tool("tame", "x"))
            register(ToolSet("broken", lambda agent: 1 / 0))
            register(ToolSet("more", lambda agent: [Tool("extra", "d", "m:f")]))

    async def main() -> None:
        def names(**config: Any) -> list[str]:
            host = kit.host(("p", Plugin()))
            agent = kit.agent(host=host, **config)
            return [t.name for t in agent.toolbox.tools()]

        assert names() == ["extra", "tame"]
        assert names(allow_tools=("risky",)) == ["extra", "risky", "tame"]
        assert names(allow_tools=("risky",), only_tools=frozenset({"risky"})) == ["risky"]

    go(main)
