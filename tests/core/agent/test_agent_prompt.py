"""The system prompt of a run by its parts, and agents that work on their instructions alone."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import (
    BeforeAgentStartResult,
    ContextProvider,
    CustomMessage,
    Limits,
    SessionStartResult,
    hookimpl,
)
from skillkit_core.testing import Call, Reply

RULES, SKILLS = "Rules of the project.", "Skills: weather."


class Family:
    """A plugin with two context providers, and messages of its own."""

    @hookimpl
    def register_context_providers(self, register: Any) -> None:
        register(ContextProvider("rules", lambda agent: RULES, order=1))
        register(ContextProvider("skills", lambda agent: SKILLS, order=2))

    @hookimpl
    def session_start(self, event: Any) -> SessionStartResult:
        return SessionStartResult(context=[CustomMessage(custom_type="hello", content="hello", in_context=True)])

    @hookimpl
    def before_agent_start(self, event: Any) -> BeforeAgentStartResult:
        return BeforeAgentStartResult(messages=[CustomMessage(custom_type="noon", content="noon", in_context=True)])


@pytest.mark.parametrize(
    ("base", "parts", "prompt"),
    [
        ("You help.", {"system_prompt": "You route."}, f"You route.\n\n{RULES}\n\n{SKILLS}"),
        ("", {"system_prompt": "You route."}, f"You route.\n\n{RULES}\n\n{SKILLS}"),
        ("You help.", {"skills": "", "mine": "More."}, f"You help.\n\n{RULES}\n\nMore."),
        ("You help.", {"system_prompt": "", "rules": "", "skills": ""}, ""),
    ],
)
def test_an_answer_replaces_parts_of_the_prompt_by_name(kit: Any, go: Any, base: str, parts: Any, prompt: str) -> None:
    async def main() -> None:
        agent = kit.agent("ok", plugins=[("family", Family())], system_prompt=base)
        agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(parts=parts))
        await agent.chat("go")
        assert agent.scripted.requests[0].system == prompt

    go(main)


def test_a_later_handler_sees_the_parts_and_the_prompt_of_an_earlier_one(kit: Any, go: Any) -> None:
    seen: list[Any] = []

    def add(event: Any) -> BeforeAgentStartResult:
        seen.append((event.parts["system_prompt"], event.system_prompt))
        return BeforeAgentStartResult(system_prompt=event.system_prompt + "\n\nAnd me.")

    async def main() -> None:
        agent = kit.agent("ok", plugins=[("family", Family())], system_prompt="You help.")
        agent.events.on("before_agent_start", lambda e: BeforeAgentStartResult(parts={"system_prompt": "You route."}))
        agent.events.on("before_agent_start", add)
        await agent.chat("go")
        whole = f"You route.\n\n{RULES}\n\n{SKILLS}"
        assert seen == [("You route.", whole)] and agent.scripted.requests[0].system == f"{whole}\n\nAnd me."

    go(main)


def test_parts_that_are_no_texts_are_refused(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("ok", system_prompt="You help.")
        agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(parts={"system_prompt": 3}))
        await agent.chat("go")
        assert agent.scripted.requests[0].system == "You help." and agent.seen.of("handler_error")

    go(main)


def test_a_bare_agent_works_on_its_instructions_alone(kit: Any, go: Any) -> None:
    async def nest(args: Any, ctx: Any) -> str:
        child = kit.agent(host=ctx.agent.host, bare=True, system_prompt="You sum up.")
        return (await child.chat("below")).content  # type: ignore[no-any-return]

    async def main() -> None:
        turns = Reply(calls=[Call("nest")]), "sum", "end"
        agent = kit.agent(*turns, tools=[kit.tool("nest", nest)], plugins=[("family", Family())])
        await agent.chat("go")
        below = agent.scripted.requests[1]
        assert below.system == "You sum up." and [m.text for m in below.messages] == ["below"]
        above = agent.scripted.requests[0]
        assert RULES in above.system and [m.text for m in above.messages] == ["hello", "go", "noon"]

    go(main)


def test_the_limit_of_requests_holds_nested_agents(kit: Any, go: Any) -> None:
    async def nest(args: Any, ctx: Any) -> str:
        child = kit.agent(host=ctx.agent.host, tools=[kit.tool("act", "did")])
        response = await child.chat("below")
        return f"{response.outcome}: {response.reason}"

    async def main() -> None:
        turns = Reply(calls=[Call("nest")]), Reply(calls=[Call("act")]), "never"
        tools = [kit.tool("nest", nest), kit.tool("act", "did")]
        agent = kit.agent(*turns, tools=tools, limits=Limits(requests=2))
        response = await agent.chat("go")
        assert kit.results(agent)[0].text == (
            "limit: the limit of 2 requests is reached in the run that this one is a part of"
        )
        assert response.outcome == "limit" and len(agent.scripted.requests) == 2

    go(main)
