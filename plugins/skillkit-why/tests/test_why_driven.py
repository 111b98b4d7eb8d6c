"""A turn that code drove, and what plugins add to the page of a turn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from skillkit_why import Section
from skillkit_why.page import page
from skillkit_why.recorder import texts_of
from skillkit_why.turns import History

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    BeforeAgentStartResult,
    Host,
    Tool,
    ToolCall,
    ToolCallEventResult,
    hookimpl,
)
from skillkit_core.testing import ScriptedModel


class Route:
    """A plugin that routes, and says how."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    @hookimpl(optionalhook=True)
    def explain(self, agent: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Code:
    async def drive(self, run: Any) -> None:
        await run.call(ToolCall("", "act", {}))
        await run.say("Rain in Oslo.")


async def act(args: Any, ctx: Any) -> str:
    return "did"


def pages(tmp_path: Path, answer: Any, *, driven: bool) -> tuple[list[str], Any]:
    async def main() -> tuple[list[str], Any]:
        host = Host(environ={"SKILLKIT_HOME": str(tmp_path)}, cwd=tmp_path, plugins=[("route", Route(answer))])
        config = AgentConfig(model="scripted", tools=(Tool("act", "Act.", act),))
        async with AgentRunner(config, host=host, session="new") as agent:
            agent.set_adapter(ScriptedModel(["Rain in Oslo."]))
            agent.events.on(
                "before_tool_call", lambda e: ToolCallEventResult(block=True, reason="not now"), phase="guard"
            )
            if driven:
                agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=Code()))
            await agent.chat("weather?")
            history = History(agent.session.handle.header, agent.session.entries, texts_of(agent))
            if (recorder := agent.state("why").get("recorder")) is not None and recorder.texts is not None:
                history.texts = recorder.texts
            found = [page(history.explain(turn)) for turn in history.turns]
        problems = list(host.problems)
        await host.aclose()
        return found, problems

    return asyncio.run(main())


ROUTE = [Section("Route", [("weather", "0.9", "the word rain"), ("calendar", "0.2", "no date")])]


def test_a_driven_turn_names_no_model_tools_or_prompt_that_nobody_was_asked_with(tmp_path: Path) -> None:
    (called, said), problems = pages(tmp_path, ROUTE, driven=True)
    for text in (called, said):
        assert "none was asked for this turn" in text and "Not known" not in text
        assert not any(line.startswith(("Tools", "System", "Skills", "Messages")) for line in text.splitlines())
        assert "weather   0.9  the word rain" in text and "from route" in text
    assert "not now" in called and "Rain in Oslo." in said and problems == []


def test_the_page_of_a_models_turn_gets_the_sections_too(tmp_path: Path) -> None:
    (text,), _ = pages(tmp_path, ROUTE, driven=False)
    assert "Route" in text and "calendar  0.2  no date" in text and "\nTools" in text


@pytest.mark.parametrize("driven", [True, False])
@pytest.mark.parametrize("answer", [ValueError("no"), ["text"], 3, [Section("Route", 3)]])  # type: ignore[arg-type]
def test_an_explanation_that_fails_is_told_and_disturbs_nothing(tmp_path: Path, answer: Any, driven: bool) -> None:
    found, problems = pages(tmp_path, answer, driven=driven)
    assert found and all("Route" not in text for text in found)
    assert "explain failed" in str(problems)
