"""Packs of tools, and ``request_tools`` in the middle of a run. By the ids of phase 8."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from typing import Any

import pytest
import skillkit_engine_automation.plugin
import skillkit_engine_conversational.plugin
import skillkit_engine_editor.plugin
import skillkit_engines.plugin
import skillkit_skills.plugin
import skillkit_toolpacks.plugin
from skillkit_engines import EditorContext, Task, TaskResult, catalog_of, do_task, engine_of
from skillkit_toolpacks import PACKS
from skillkit_toolpacks.requesting import best_pack

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    BeforeAgentStartResult,
    RetryPolicy,
    Tool,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

ENGINES = ("automation", "conversational", "editor", "research")
SAFE = {"mutates": "none"}
CATALOGUE = {
    "capture": ["add_org_inbox_item"],
    "search_local": ["search_documents", "search_images"],
    "search_web": ["search_web", "crawl_web_content"],
    "email_read": ["get_emails", "search_emails", "get_email_thread", "get_email_statistics"],
    "email_send": ["send_email", "reply_to_email"],
    "visualization": ["create_chart"],
    "math": ["calculate_expression", "evaluate_formula", "convert_units"],
    "document_ops": ["get_document_content", "search_within_document", "get_document_metadata"],
    "document_write": ["create_document", "append_to_document", "tag_document"],
    "navigation": ["list_locations", "compute_route"],
    "org_tools": ["list_org_todos", "parse_org_structure", "search_org_headings", "get_org_statistics"],
    "memory": ["store_fact", "recall_facts", "clipboard_store"],
    "formatting": ["summarize_text", "extract_structured_data", "transform_format", "merge_texts"],
}


async def done(args: Any, ctx: Any) -> str:
    return f"{ctx.tool_name} is done"


def tool(name: str, **annotations: Any) -> Tool:
    return Tool(name, name, done, annotations={**SAFE, **annotations})


@pytest.fixture
def stage(make_host, tmp_path):
    """Makes an agent with a skill of each engine, and lets one do a task: ``play("automation", *turns, packs=[...])``."""
    engines = [
        ("engine-automation", skillkit_engine_automation.plugin),
        ("engine-conversational", skillkit_engine_conversational.plugin),
        ("engine-editor", skillkit_engine_editor.plugin),
    ]
    if find_spec("skillkit_engine_research") is not None:
        import skillkit_engine_research.plugin

        engines.append(("engine-research", skillkit_engine_research.plugin))

    def play(
        engine: str, *turns: Any, packs: Any = (), tools: Any = (), settings: Any = None, plugins: Any = (), watch: Any = None,
        **fields: Any,
    ) -> tuple[TaskResult, ScriptedModel]:  # fmt: skip
        place = tmp_path / "skills" / "post"
        place.mkdir(parents=True, exist_ok=True)
        about = {"engine": engine, "tools": ["look"], **fields}
        head = {"name": "post", "description": "Posts.", "metadata": {"skillkit": about}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nPost it.\n")
        host = make_host(
            ("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin), *engines,
            ("toolpacks", skillkit_toolpacks.plugin), *plugins,
            settings={"skills.dirs": [str(tmp_path / "skills")], **(settings or {})},
        )  # fmt: skip
        given = AgentConfig(
            model="any", tools=(tool("look"), *tools), retry=RetryPolicy(attempts=1), approver=Yes(), bare=True
        )
        model = ScriptedModel(turns, repeat=True)

        class Step:
            result: Any = None

            async def drive(self, run: Any) -> None:
                skill = host.skills.get("post")
                editor = EditorContext("note", content="# Head\n")
                task = Task("t1", run.agent, skill, "post it", packs=tuple(packs), editor=editor, name="step2")
                self.result = await do_task(engine_of(host, skill), task, None)

        step = Step()

        async def main() -> TaskResult:
            async with AgentRunner(given, host=host) as agent:
                agent.set_adapter(model)
                if watch is not None:
                    agent.events.observe(watch, ["tools_requested"])
                agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=step), phase="first")
                await agent.chat("post it")
                return step.result

        return asyncio.run(main()), model

    return play


class Yes(Approver):
    asked: list[str] = []  # noqa: RUF012

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append(request.tool_name)
        return ApprovalDecision("deny", "not today")


def names(request: Any) -> list[str]:
    return [one.name for one in request.tools]


@pytest.mark.smoke
def test_s8_1_the_packs_are_those_of_the_catalogue(make_host):
    host = make_host(
        ("skills", skillkit_skills.plugin),
        ("engines", skillkit_engines.plugin),
        ("toolpacks", skillkit_toolpacks.plugin),
    )
    packs = catalog_of(host).packs
    assert {name: {f"{one}_tool" for one in tools} for name, tools in CATALOGUE.items()} == {
        name: set(pack.tools) for name, pack in packs.items()
    }
    assert len(PACKS) == 13 and all(
        pack.description and set(pack.optional) < set(pack.tools) for pack in packs.values()
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_s8_2_and_s8_5_a_task_has_the_tools_of_its_skill_and_of_its_packs_in_every_engine(stage, engine):
    if engine == "research" and find_spec("skillkit_engine_research") is None:
        pytest.skip("the engine research is not installed")
    tools = (tool("add_org_inbox_item_tool"), tool("create_chart_tool"))
    packs = ["capture", "visualization", "capture"]
    _, model = stage(engine, "It is posted.", packs=packs, tools=tools)
    offered = next((names(request) for request in model.requests if request.tools), [])
    assert {"look", "add_org_inbox_item_tool", "create_chart_tool"} <= set(offered) and len(set(offered)) == len(
        offered
    )
    if engine != "research":
        assert offered == ["add_org_inbox_item_tool", "create_chart_tool", "look"]
    _, model = stage(engine, "It is posted.", tools=tools)
    assert "create_chart_tool" not in names(model.requests[0]), "the next task and the skill are as before"


def test_s8_5_a_pack_takes_nothing_from_a_conversational_skill_that_has_all_tools(stage):
    _, model = stage(
        "conversational", "Posted.", packs=["capture"], tools=(tool("add_org_inbox_item_tool"), tool("more"))
    )
    assert "look" in names(model.requests[0])


def test_s8_4_the_listing_says_which_packs_are_complete_partial_or_missing(skillkit_cli):
    rows = {row["name"]: row for row in skillkit_cli("packs", "list", "--json").ok().json}
    assert set(CATALOGUE) <= set(rows)
    assert rows["capture"]["state"] in ("missing", "complete") and rows["capture"]["optional"] == []
    table = skillkit_cli("packs").ok().stdout
    assert "pack" in table and "search_local" in table


def test_s8_6_a_pack_gives_no_right_sending_stays_behind_approval_and_deny_lists_win(stage):
    Yes.asked.clear()
    send = tool("send_email_tool", requires_approval=True)
    result, model = stage(
        "automation", Reply(calls=[Call("send_email_tool")]), "Refused.", packs=["email_send"], tools=(send,)
    )
    assert Yes.asked == ["send_email_tool"] and result.denied == ("send_email_tool",)
    assert result.status == "failed" and result.reason.startswith("denied")
    hidden = Tool("send_email_tool", "Send.", done, opt_in=True)
    _, model = stage("automation", "Posted.", packs=["email_send"], tools=(hidden,))
    assert "send_email_tool" not in names(model.requests[0]), "a tool that a user has not allowed is not offered"


def asks(**args: Any) -> Reply:
    return Reply(calls=[Call("request_tools", args)])


@pytest.mark.parametrize("engine", ["automation", "conversational", "editor"])
def test_s8_7_a_model_gets_a_pack_for_its_next_answer_and_the_event_says_who_and_why(stage, engine):
    seen: list[Any] = []
    chart = Reply(calls=[Call("create_chart_tool")])
    result, model = stage(
        engine, asks(pack="visualization", why="to draw the sales"), chart, "Drawn.",
        tools=(tool("create_chart_tool"),), optional_tools=["request_tools"], watch=seen.append,
    )  # fmt: skip
    assert [("create_chart_tool" in names(request)) for request in model.requests] == [False, True, False]
    assert "create_chart_tool is done" in model.requests[2].messages[-1].text
    assert result.status == "completed"
    (event,) = seen
    assert (event.pack, event.why, event.tools, event.count) == (
        "visualization",
        "to draw the sales",
        ("create_chart_tool",),
        1,
    )
    assert event.agent_path[-1].startswith("step2:")


def test_s8_7_a_pack_is_found_by_words_and_one_whose_tools_are_not_there_is_refused(stage):
    result, model = stage(
        "automation", asks(query="send a mail"), asks(query="draw a chart of it"), asks(pack="nosuch"), "Done.",
        tools=(tool("create_chart_tool"),), optional_tools=["request_tools"],
    )  # fmt: skip
    told = [request.messages[-1].text for request in model.requests[1:]]
    assert "None of the tools of email_send is installed and allowed here" in told[0]
    assert "create_chart_tool" in told[1] and "No pack of tools fits" in told[2] and result.status == "completed"
    packs = tuple(catalog for catalog in PACKS)
    assert best_pack(packs, "convert units").name == "math" and best_pack(packs, "zzz") is None


def test_s8_7_a_run_gets_no_more_packs_than_its_cap(stage):
    turns = [asks(pack="visualization")] * 4
    _, model = stage(
        "automation", *turns, "Done.", tools=(tool("create_chart_tool"),), optional_tools=["request_tools"]
    )
    granted = ["create_chart_tool" in names(request) for request in model.requests]
    assert granted == [False, True, True, True, False]
    assert "may get no more" in model.requests[4].messages[-1].text
    _, model = stage(
        "automation", *turns, "Done.", tools=(tool("create_chart_tool"),), optional_tools=["request_tools"],
        settings={"engines.request_tools": 1},
    )  # fmt: skip
    assert sum("create_chart_tool" in names(request) for request in model.requests) == 1


def test_s8_7_the_cap_is_at_most_ten(make_host):
    host = make_host(
        ("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin), settings={"engines.request_tools": 11}
    )
    with pytest.raises(Exception, match="less than or equal to 10"):
        host.check_config()


def test_without_a_skill_that_names_it_nobody_is_offered_request_tools(stage):
    _, model = stage("conversational", "Posted.")
    assert all("request_tools" not in names(request) for request in model.requests)


# --- tools that wait ------------------------------------------------------------------------------------------------


class Charts:
    """A plugin with a tool of a pack that waits, and one that is in no pack."""

    @hookimpl
    def register_tools(self, register):
        register(tool("create_chart_tool"))
        register(tool("look"))


@pytest.fixture
def plain(make_host, tmp_path):
    """Talks to an agent without engines: gives the model, which has seen the requests."""

    def talk(*turns: Any, settings: Any = None, words: str = "Go.", **config: Any) -> ScriptedModel:
        host = make_host(
            ("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin),
            ("toolpacks", skillkit_toolpacks.plugin), ("charts", Charts()), settings=settings or {},
        )  # fmt: skip
        model = ScriptedModel(turns, repeat=True)

        async def main() -> None:
            async with AgentRunner(
                AgentConfig(model="any", retry=RetryPolicy(attempts=1), **config), host=host
            ) as agent:
                agent.set_adapter(model)
                await agent.chat(words)

        asyncio.run(main())
        return model

    return talk


def test_a_request_carries_no_tool_that_waits_and_the_pack_comes_when_the_model_asks(plain):
    chart = Reply(calls=[Call("create_chart_tool")])
    model = plain(asks(pack="visualization"), chart, chart, "Drawn.")
    assert [names(request) for request in model.requests] == [
        ["look", "request_tools"],
        ["create_chart_tool", "look", "request_tools"],
        ["look", "request_tools"],
        ["look", "request_tools"],
    ]
    assert model.requests[2].messages[-1].text == "create_chart_tool is done"
    refused = model.requests[3].messages[-1].text  # what a request does not carry cannot be called, and is not named
    assert refused == "There is no tool 'create_chart_tool'. Did you mean request_tools?"
    (described,) = [one.description for one in model.requests[0].tools if one.name == "request_tools"]
    assert described.endswith("The packs: visualization.")


def test_what_a_person_the_agent_or_an_active_skill_names_does_not_wait(plain, tmp_path):
    assert "create_chart_tool" in names(plain("Hi.", settings={"tools.allow": ["create_chart_tool"]}).requests[0])
    assert "create_chart_tool" in names(plain("Hi.", tools=(tool("create_chart_tool"),)).requests[0])
    only = plain("Hi.", only_tools=frozenset({"create_chart_tool"}))
    assert names(only.requests[0]) == ["create_chart_tool"], "nobody could ask for it"
    (tmp_path / "skills" / "draw").mkdir(parents=True)
    head = {"name": "draw", "description": "Draws.", "metadata": {"skillkit": {"tool_packs": ["visualization"]}}}
    (tmp_path / "skills" / "draw" / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDraw.\n")
    opened = Reply(calls=[Call("activate_skill", {"name": "draw"})])
    model = plain(opened, "Drawn.", settings={"skills.dirs": [str(tmp_path / "skills")]})
    assert ["create_chart_tool" in names(request) for request in model.requests] == [False, True]


def test_why_says_what_a_tool_waits_for(make_host):
    host = make_host(
        ("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin), ("toolpacks", skillkit_toolpacks.plugin),
        ("charts", Charts()),
    )  # fmt: skip
    agent = AgentRunner(AgentConfig(model="any"), host=host)

    async def told() -> Any:
        async with agent:
            await agent.open()
            return skillkit_toolpacks.plugin.explain_tools(agent)

    assert asyncio.run(told()) == {"create_chart_tool": "waits for the pack visualization, which request_tools brings"}


def test_without_the_plugin_engines_nothing_waits_and_nothing_fails(make_host):
    host = make_host(("skills", skillkit_skills.plugin), ("toolpacks", skillkit_toolpacks.plugin), ("charts", Charts()))
    model = ScriptedModel(["Hi."])

    async def main() -> None:
        async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
            agent.set_adapter(model)
            await agent.chat("Go.")

    asyncio.run(main())
    assert names(model.requests[0]) == ["create_chart_tool", "look"] and not host.problems
