"""The around-hooks: ``wrap_model_call`` and ``wrap_tool_call`` (spec, 3)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import AgentError, ToolOutput, hookimpl
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import blocks_of
from skillkit_core.testing import Call, Fail, Reply


def test_around_hooks_nest_first_outermost_and_may_ask_again(kit: Any, go: Any) -> None:
    async def main() -> None:
        log: list[str] = []

        class Outer:
            @hookimpl
            async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
                log.append("outer")
                try:
                    return await call_next()
                except Exception:
                    return await call_next()

            @hookimpl
            async def wrap_tool_call(self, call: Any, call_next: Any, ctx: Any) -> Any:
                log.append(f"tool {call.tool_name} {dict(call.args)}")
                output = await call_next()
                return ToolOutput(output.content + "!")

        class Inner:
            @hookimpl
            async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
                log.append("inner")
                return await call_next()

        agent = kit.agent(
            Fail(ErrorKind.invalid_request),
            Reply(calls=[Call("a", {"x": 1})]),
            "end",
            tools=[kit.tool("a", "ok")],
            plugins=[("outer", Outer()), ("inner", Inner())],
        )
        response = await agent.chat("go")
        assert log == ["outer", "inner", "inner", "tool a {'x': 1}", "outer", "inner"]
        assert kit.results(agent)[0].text == "ok!" and response.content == "end"
        ledger = [e.data for e in agent.session.entries if e.type == "usage"]
        assert len(ledger) == 3 and "error" in ledger[0]
        kit.check(agent)

    go(main)


def test_a_tool_does_not_run_twice_where_the_guards_agreed_once(kit: Any, go: Any) -> None:
    class Twice:
        @hookimpl
        async def wrap_tool_call(self, call: Any, call_next: Any) -> Any:
            await call_next()
            return await call_next()

    class Passes:
        @hookimpl
        async def wrap_tool_call(self, call: Any, call_next: Any) -> Any:
            return await call_next()

    async def main() -> None:
        ran: list[Any] = []
        tool = kit.tool("a", lambda args, ctx: ran.append(args) or "ok")
        plugins = [("passes", Passes()), ("twice", Twice()), ("passes-too", Passes())]
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[tool], plugins=plugins)
        await agent.chat("go")
        (result,) = kit.results(agent)
        assert len(ran) == 1 and result.outcome == "error"
        assert "plugin 'twice': wrap_tool_call called call_next() twice" in result.text
        kit.check(agent)

    go(main)


def test_an_around_hook_may_answer_without_a_request(kit: Any, go: Any) -> None:
    from skillkit_core import AssistantMessage

    class Cache:
        @hookimpl
        async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
            return AssistantMessage(content=blocks_of("cached"))

    async def main() -> None:
        agent = kit.agent(plugins=[("cache", Cache())])
        assert (await agent.chat("go")).content == "cached"
        assert agent.scripted.requests == [] and [e for e in agent.session.entries if e.type == "usage"] == []
        kit.check(agent)

    go(main)


def test_a_raising_around_hook_fails_what_it_wraps(kit: Any, go: Any) -> None:
    class Broken:
        @hookimpl
        async def wrap_tool_call(self, call: Any, call_next: Any) -> Any:
            if call.args.get("bad"):
                raise RuntimeError("wrapper broke")
            return await call_next()

        @hookimpl
        async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
            if "explode" in request.messages[-1].text:
                raise RuntimeError("wrapper broke")
            return await call_next()

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a", {"bad": True}), Call("a")]),
            "end",
            tools=[kit.tool("a", "ok")],
            plugins=[("broken", Broken())],
        )
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["error", "ok"] and "wrapper broke" in kit.results(agent)[
            0
        ].text
        with pytest.raises(AgentError, match="wrapper broke"):
            await agent.chat("explode")
        kit.check(agent)

    go(main)
