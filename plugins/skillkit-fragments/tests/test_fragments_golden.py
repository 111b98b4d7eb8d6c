"""Each fragment as a step of a plan, without the skill to which it belongs: one golden test, and one with an input missing.

``SKILLKIT_GOLDEN=write`` writes the golden files again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import skillkit_engines.plugin
import skillkit_files.plugin
import skillkit_fragments.plugin
import skillkit_planner.plugin
import skillkit_skills.plugin
from skillkit_engines import Fragment
from skillkit_planner import plans_of

from skillkit_core import AgentConfig, AgentRunner, RetryPolicy, Tool, hookimpl
from skillkit_core.errors import AgentError
from skillkit_core.testing import ScriptedModel

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("SKILLKIT_GOLDEN") == "write"  # read before the fixtures clear the environment
NAMES = (
    "intelligent_document_retrieval", "image_search", "gap_analysis", "web_research", "visualization", "proofreading",
    "fact_verification", "data_formatting", "attachment_analysis", "collection_search", "entity_relationship",
)  # fmt: skip
OTHER = {"step_id": 2, "subgraph_name": "data_formatting", "sub_query": "a: 1\nb: 2"}
ANY = {"type": "object"}
RESULTS = "1. Ice https://ice.test/a\n2. Snow https://snow.test/b"
PAGES = {"https://ice.test/a": "Ice melts at 0 C.", "https://snow.test/b": "Snow is ice."}
FILES = {
    "docs/ice.md": "# Ice\n\nIce melts at 0 degrees.\nIt floats.\n",
    "docs/fire.md": "Fire is hot.\n",
    "pictures/ice-cave.png": "x",
    "pictures/fire.jpg": "x",
    "comics/ice_age_01.cbz": "x",
    "report.txt": "Sales: 12 in May, 20 in June.\n",
}


async def _search(args: Any, ctx: Any) -> str:
    return RESULTS


async def _fetch(args: Any, ctx: Any) -> str:
    return PAGES[args["url"]]


WEB = (
    Tool("web_search", "Search.", _search, ANY, annotations={"mutates": "none"}),
    Tool("web_fetch", "Fetch.", _fetch, ANY, annotations={"mutates": "none"}),
)
CASES: Mapping[str, tuple[str, Any]] = {
    "intelligent_document_retrieval": (
        "When does ice melt?",
        {"passages": [{"document": 1, "quote": "Ice melts at 0 degrees."}, {"document": 1, "quote": "Ice is green."}]},
    ),
    "image_search": ("pictures of ice", None),
    "gap_analysis": ("Ice melts.", {"sufficient": False, "gaps": ["At which temperature?", " "]}),
    "web_research": ("When does ice melt?", {"answer": "At 0 C [1].", "sources": [1, 9]}),
    "visualization": ("May: 12\nJune: 20\nJuly: -3", None),
    "proofreading": (
        "Teh ice melts. It is ice.",
        {
            "corrections": [
                {"original": "Teh", "corrected": "The", "reason": "spelling"},
                {"original": "ice", "corrected": "Ice", "reason": "twice"},
            ]
        },
    ),
    "fact_verification": ("Ice melts at 0 C", {"verdict": "supported", "reason": "Page 1 says so.", "sources": [1]}),
    "data_formatting": ("name,age\nMara,31\nJon,40", None),
    "attachment_analysis": (
        "What does report.txt say about May?",
        {"kind": "report", "summary": "Sales by month.", "findings": ["12 in May"]},
    ),
    "collection_search": ("the comics of the ice age", None),
    "entity_relationship": (
        "Mara lives in Oslo.",
        {
            "entities": [
                {"name": "Mara", "type": "person"},
                {"name": "Oslo", "type": "place"},
                {"name": "mara", "type": "x"},
            ],
            "relations": [
                {"source": "Mara", "relation": "lives in", "target": "oslo"},
                {"source": "Mara", "relation": "knows", "target": "Jon"},
            ],
        },
    ),
}


@pytest.fixture
def run(make_host, tmp_path):
    """Carries out a plan of fragments; gives the plan as it was done, and the model."""
    for name, text in FILES.items():
        file = tmp_path / "work" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def play(*steps: Mapping[str, Any], answer: Any = None, tools: Any = WEB, plugins: Any = ()) -> Any:
        host = make_host(
            ("skills", skillkit_skills.plugin),
            ("engines", skillkit_engines.plugin),
            ("files", skillkit_files.plugin),
            ("fragments", skillkit_fragments.plugin),
            ("planner", skillkit_planner.plugin),
            *plugins,
        )
        saved = host.config_dir / "plans" / "golden.yaml"
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(json.dumps({"steps": steps}))
        given = AgentConfig(
            model="any",
            tools=tools,
            retry=RetryPolicy(attempts=1),
            cwd=str(tmp_path / "work"),
            options={"plan": "golden"},
        )
        model = ScriptedModel([json.dumps(answer)], repeat=True)

        async def main() -> Any:
            async with AgentRunner(given, host=host) as agent:
                agent.set_adapter(model)
                agent.events.observe(lambda event: told.append(event.codes), ["plan_rejected"])
                with contextlib.suppress(AgentError):
                    await agent.chat("do it")
                plans = plans_of(host, agent.session)
                return plans[-1] if plans else None

        told: list[Any] = []
        return asyncio.run(main()), model, told

    return play


@pytest.mark.smoke
@pytest.mark.parametrize("name", NAMES)
def test_s8_9_a_fragment_runs_alone_and_leaves_what_its_golden_file_says(run, name):
    words, answer = CASES[name]
    view, _, _ = run({"step_id": 1, "subgraph_name": name, "sub_query": words}, OTHER, answer=answer)
    assert view.steps[1].state == "completed", view.steps[1].reason
    found = {key: value for key, value in view.steps[1].result.items() if key != "structured_data"}
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    file = GOLDEN / f"{name}.json"
    if WRITES:
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_s8_9_a_fragment_without_its_input_fails_and_says_which(run, name):
    """An earlier step leaves nothing for the input that it maps, so that the input is empty when the fragment runs."""
    first = {"step_id": 1, "subgraph_name": "empty", "sub_query": "nothing"}

    async def nothing(values: Any, task: Any) -> Any:
        return {"text": "x", "none": ""}

    class Empty:
        @hookimpl(optionalhook=True)
        def register_fragments(self, register):
            made = {"properties": {"none": {"type": "string"}, "text": {"type": "string"}}, "type": "object"}
            register(Fragment("empty", "Leave nothing.", nothing, outputs=made))

    (needed,) = catalogue()[name].inputs["required"]
    mapped = {
        "step_id": 2,
        "subgraph_name": name,
        "sub_query": "x",
        "depends_on": [1],
        "input_mapping": {"step_1_none": needed},
    }
    view, model, _ = run(first, mapped, plugins=[("empty", Empty())])
    assert view.steps[2].state == "failed" and view.steps[2].reason == f"missing_input: {name} needs {needed}"
    assert model.requests == []


def catalogue() -> dict[str, Fragment]:
    from skillkit_fragments.catalogue import FRAGMENTS

    return {one.name: one for one in FRAGMENTS}


def test_s8_8_an_input_that_nothing_gives_is_an_error_before_anything_runs(run):
    class Brings:
        @hookimpl(optionalhook=True)
        def register_fragments(self, register):
            register(Fragment("needs", "Needs x.", "nosuch:run", {"type": "object", "required": ["x"]}))

    view, _, told = run(
        {"step_id": 1, "subgraph_name": "needs", "sub_query": "y"}, OTHER, plugins=[("brings", Brings())]
    )
    assert told[0] == ("unmapped_input",) and view is None


def test_s8_8_mappings_of_a_step_count_after_those_of_the_definition_and_outputs_get_names(run):
    view, _, _ = run(
        {"step_id": 1, "subgraph_name": "data_formatting", "sub_query": "a: 1\nb: 22", "output_mapping": {"rows": "figures"}},
        {
            "step_id": 2, "subgraph_name": "visualization", "sub_query": "the figures", "depends_on": [1],
            "context_keys": ["figures"], "input_mapping": {"step_1_figures": "data"},
        },
    )  # fmt: skip
    assert view.status == "completed"
    assert view.steps[2].result["points"] == [{"label": "a", "value": 1.0}, {"label": "b", "value": 22.0}]


def test_s8_10_the_same_fragment_twice_in_a_plan_has_two_states(run):
    view, _, _ = run(
        {"step_id": 1, "subgraph_name": "data_formatting", "sub_query": "a: 1\nb: 2"},
        {"step_id": 2, "subgraph_name": "data_formatting", "sub_query": "c: 3\nd: 4"},
    )
    assert [row["name"] for n in (1, 2) for row in view.steps[n].result["rows"]] == ["a", "b", "c", "d"]


def test_s8_11_a_plugin_adds_a_fragment_without_a_change_of_any_table(run):
    async def shout(values: Any, task: Any) -> Any:
        return {"text": values["text"].upper()}

    class Brings:
        @hookimpl(optionalhook=True)
        def register_fragments(self, register):
            needs = {"type": "object", "required": ["text"]}
            maps = {"input_mapping": {"sub_query": "text"}, "output_mapping": {"text": "response_text"}}
            register(Fragment("shout", "Shout.", shout, needs, **maps))

    view, _, _ = run(
        {"step_id": 1, "subgraph_name": "shout", "sub_query": "hey"}, OTHER, plugins=[("brings", Brings())]
    )
    assert view.steps[1].result["response_text"] == "HEY"


def test_a_fragment_has_no_tool_but_those_that_it_names(run):
    """web_research calls the tools of the agent through its guards; a fragment that names none has none."""
    seen: list[Any] = []

    async def look(values: Any, task: Any) -> Any:
        seen.append(sorted(tool.name for tool in task.agent.tools))
        return {"text": "x"}

    class Brings:
        @hookimpl(optionalhook=True)
        def register_fragments(self, register):
            register(Fragment("look", "Look.", look, tools=("web_search", "nosuch")))

    run({"step_id": 1, "subgraph_name": "look", "sub_query": "x"}, OTHER, plugins=[("brings", Brings())])
    assert seen == [["web_search"]]


def test_where_no_tool_searches_the_web_a_step_says_which_package_would(run):
    view, _, _ = run({"step_id": 1, "subgraph_name": "web_research", "sub_query": "x"}, OTHER, tools=())
    assert view.steps[1].state == "failed" and "pip install skillkit-web-tools" in view.steps[1].reason
    assert view.status == "partial"
