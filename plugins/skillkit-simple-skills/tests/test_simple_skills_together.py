"""The skills together: when each may take a request and why not, what the router makes of other requests, and whole stories."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import skillkit_simple_skills.plugin
from simple_stage import ROUTER, chosen
from skillkit_engines import EditorContext, RouteRequest, gated_now
from skillkit_testkit import Call, Gate, Reply

from skillkit_core import AgentConfig, AgentRunner

SKILLS = Path(skillkit_simple_skills.plugin.__file__).parent / "skills"
COMPOSED = (
    "comparison-report", "daily-briefing", "digest-emails", "document-creator", "inbox-triage", "learning-review",
    "meeting-notes", "project-status", "research-to-document", "template-fill",
)  # fmt: skip
ENGINES = ("engine-conversational", "engine-editor", "engine-research")
TOOLS = ("document-tools", "files", "mail", "memory-tools", "org", "text-tools", "web-tools")
EVERYTHING = (*ENGINES, *TOOLS, "toolpacks")
SETTINGS = {"mail.maildir": "mail", "tools.allow": ["web_search", "web_fetch", "store_fact_tool", "create_document_tool",
            "create_user_file_tool", "create_user_folder_tool", "tag_document_tool", "move_document_tool"]}  # fmt: skip


def kept_away(
    make_host: Any, *names: str, settings: Any = SETTINGS, editor: EditorContext | None = None
) -> dict[str, str]:
    """Return why each of the ten may not take a request on a host with some plugins."""
    plugins = [
        (n, import_module(f"skillkit_{n.replace('-', '_')}.plugin"))
        for n in ("skills", "engines", "engine-automation", *names)
    ]
    host = make_host(*plugins, settings={"skills.dirs": [str(SKILLS)], **settings})

    async def look() -> dict[str, str]:
        async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
            await agent.open()
            found = gated_now(agent, RouteRequest("x", editor=editor)).dropped
            return {name: why for name, why in found.items() if name in COMPOSED}

    return asyncio.run(look())


def test_t_5_each_may_take_a_request_only_where_what_it_needs_is_there_and_says_what_is_not(make_host):
    document = EditorContext("note", content="x")
    research, editor = (
        f"engine_missing:{name} (pip install skillkit-engine-{name})" for name in ("research", "editor")
    )
    assert kept_away(make_host, settings={}, editor=document) == {
        "comparison-report": research,
        "daily-briefing": research,
        "digest-emails": "ineligible:missing-config:mail.maildir",
        "document-creator": "tool_missing:list_folders_tool",
        "inbox-triage": "tool_missing:list_org_todos_tool",
        "learning-review": "tool_missing:recall_facts_tool",
        "meeting-notes": editor,
        "project-status": research,
        "research-to-document": "tool_missing:web_search",
        "template-fill": "tool_missing:get_document_content_tool",
    }

    assert kept_away(make_host, *EVERYTHING) == {"meeting-notes": "requires_editor"}
    assert kept_away(make_host, *EVERYTHING, editor=document) == {}

    without = {
        "mail": {"daily-briefing": "tool_missing:get_emails_tool", "digest-emails": "tool_missing:get_emails_tool"},
        "toolpacks": {"daily-briefing": "pack_missing:email_read"},
        "memory-tools": {"learning-review": "tool_missing:recall_facts_tool"},
        "files": {"comparison-report": "tool_missing:grep", "project-status": "tool_missing:grep"},
        "web-tools": {"research-to-document": "tool_missing:web_search"},
        "org": dict.fromkeys(("daily-briefing", "inbox-triage", "project-status"), "tool_missing:list_org_todos_tool"),
    }
    for name, reasons in without.items():
        rest = [one for one in EVERYTHING if one != name]
        assert kept_away(make_host, *rest) == {**reasons, "meeting-notes": "requires_editor"}, name
    nothing_leaves = {**SETTINGS, "tools.allow": SETTINGS["tools.allow"][2:]}
    assert (
        kept_away(make_host, *EVERYTHING, settings=nothing_leaves)["research-to-document"] == "tool_missing:web_search"
    )


def test_at_the_command_line_a_skill_that_cannot_be_used_says_why(skillkit_cli):
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", "http://127.0.0.1:9/v1", "--model", "loop")
    told = skillkit_cli("run", *wire, "/daily-briefing now")
    assert "daily-briefing cannot be called here: missing-config:mail.maildir" in told.stdout + told.stderr
    told = skillkit_cli("routing", "why", "my briefing", "--no-model").ok().stdout
    assert "tool_missing:web_search" in told and "requires_editor" in told
    listed = {row["name"]: row for row in skillkit_cli("skills", "list", "--all", "--json").ok().json["skills"]}
    assert listed["digest-emails"]["reasons"] == ["missing-config:mail.maildir"]
    assert {name for name in COMPOSED if listed[name]["eligible"]} == {*COMPOSED} - {"daily-briefing", "digest-emails"}


def test_no_request_of_others_goes_to_one_of_the_ten_and_theirs_do(shared_data, skillkit_cli, skillkit_home, web_site):
    """The requests of the acceptance data with their recorded models, beside forty skills that others have written."""
    engines = shared_data / "engines"
    ours = {path.parent.name for path in SKILLS.glob("*/SKILL.md")}
    for skill in json.loads((engines / "registry.json").read_text()):
        if skill["name"] in ours or skill["engine"] == "quantum" or skill["name"] == "chat":
            continue
        about = {
            name: value for name, value in skill.items() if name not in ("name", "description", "tools", "subgraphs")
        }
        head = {"name": skill["name"], "description": skill["description"], "metadata": {"skillkit": about}}
        place = skillkit_home.config_dir / "skills" / skill["name"]
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")
    skillkit_home.write_config(
        json.dumps({"mail": {"maildir": "mail"}, "tools": {"allow": ["web_search", "web_fetch"]}})
    )
    cases = [json.loads(line) for line in (engines / "routing.jsonl").read_text().splitlines()]
    usable = [
        case
        for case in cases
        if case["expected"]["route"] != "compound" and "threshold" not in case and "pin_single" not in case
    ]
    rows = [{**case, "truth": case["expected"]["route"]} for case in usable]
    Path("requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = skillkit_cli("routing", "eval", "requests.jsonl", "--json").ok().json
    assert told["cases"] == len(rows) > 100
    assert [row for row in told["confusion"] if row["chosen"] in COMPOSED or row["truth"] in COMPOSED] == []
    theirs = Counter(row["truth"] for row in rows if row["truth"] in COMPOSED)
    assert sum(theirs.values()) >= 10 and {"template-fill", "inbox-triage", "learning-review"} <= theirs.keys()


@pytest.fixture
def play(skillkit_cli: Any, llm_server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a request whose models answer by what they are asked: ``play(words, {"Research X": turns, ...}, choice)``.

    The keys are words of the last thing that was said to a model; a value is an answer, or one for each round; a function
    makes one when it is asked for.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-key")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")

    def run(words: str, said: dict[str, Any], choice: str, *options: str, command: tuple[str, ...] = ("run",)) -> Any:
        left = {name: list(turns) if isinstance(turns, list) else [turns] for name, turns in said.items()}
        lock = threading.Lock()

        def answer(request: Any) -> Reply:
            if ROUTER in request.system:
                return Reply(text=choice)
            texts = [item.text for item in request.items if item.kind == "user"]
            name = next(name for text in reversed(texts) for name in left if name in text)
            with lock:
                turn = left[name].pop(0)
            if isinstance(turn, tuple):
                return Reply(tool_calls=[Call(*turn)])
            if callable(turn):
                return turn()
            return Reply(text=turn if isinstance(turn, str) else json.dumps(turn))

        llm_server.always(answer)
        done = skillkit_cli(*command, *wire, *options, words)
        assert not any(left.values()), (left, str(done))
        return done.ok()

    return run


def permits(*rules: str) -> tuple[str, ...]:
    return tuple(part for rule in rules for part in ("--permit", rule))


def step(number: int, skill: str, words: str, *after: int) -> dict[str, Any]:
    return {"step_id": number, "skill_name": skill, "sub_query": words, "depends_on": list(after)}


CHAPTER = "---\ntype: fiction\n---\n# Chapter 12\n\nThe glacier stood still.\n"


def test_the_request_of_the_documents_with_the_packages_together(play, skillkit_cli, skillkit_home, llm_server):
    """Research in files, the org inbox, and the chapter that is open: three engines. The inbox waits for the chapter."""
    place = skillkit_home.config_dir / "skills" / "fiction-editing"
    place.mkdir(parents=True)
    about = {"engine": "editor", "requires_editor": True, "editor_types": ["fiction"]}
    head = {"name": "fiction-editing", "description": "Edits chapters.", "metadata": {"skillkit": about}}
    (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nKeep the voice.\n")
    skillkit_home.write_config("research: {skills: true}")
    Path("glaciers.md").write_text("Glaciers move up to a metre a day.\n")
    Path("chapter-12.md").write_text(CHAPTER)
    words = "Research glaciers, capture key points to my inbox, and update chapter 12"
    steps = [
        step(1, "quick-lookup", "Research glaciers"),
        step(2, "org-capture", "Capture the key points to my inbox", 1),
        step(3, "fiction-editing", "Update chapter 12", 1),
    ]
    found = {"paragraphs": [{"claims": [{"text": "Glaciers move a metre a day.", "sources": ["S1"]}]}], "gaps": []}
    edit = {"op": "replace_range", "original_text": "stood still", "text": "moved a metre a day"}
    both = Gate(after_deltas=None)

    def updates() -> Reply:
        both.open()
        return Reply(text=json.dumps({"message": "The glacier moves.", "operations": [edit]}))

    done = play(
        words,
        {
            "Sources (S1": found,
            "Capture the key points": [
                ("add_org_inbox_item_tool", {"title": "Glaciers move a metre a day"}),
                lambda: Reply(text="Captured.", gate=both),
            ],
            "Update chapter 12": updates,
        },
        chosen("quick-lookup", *steps),
        *permits("Edit(/inbox.org)", "Edit(/chapter-12.md)"),
        command=("edit", "chapter-12.md"),
    )
    assert [part in done.stdout for part in ("[S1] glaciers.md", "Captured.", "The glacier moves.")] == [True] * 3
    assert Path("inbox.org").read_text() == "* TODO Glaciers move a metre a day\n"
    assert Path("chapter-12.md").read_text() == CHAPTER.replace("stood still", "moved a metre a day")
    told = skillkit_cli("plans", "show", "latest", "--json").ok().json
    assert [(one["target"], one["state"], list(one["depends_on"])) for one in told["steps"]] == [
        ("quick-lookup", "completed", []), ("org-capture", "completed", [1]), ("fiction-editing", "completed", [1])
    ]  # fmt: skip
    later = [
        request for request in llm_server.requests if request.user_text.startswith(("Capture the", "Update chapter"))
    ]
    given = [
        next(item.text for item in request.items if "Glaciers move a metre a day" in item.text) for request in later
    ]
    assert len(given) == 3 and all(text.startswith('<context step="1"') for text in given)


def test_what_was_researched_is_put_into_a_folder_by_document_creator(play, skillkit_home):
    skillkit_home.write_config("research: {skills: true}")
    Path("glaciers.md").write_text("Glaciers move up to a metre a day.\n")
    steps = [
        step(1, "quick-lookup", "Research glaciers"),
        step(2, "document-creator", "Put the results into Research", 1),
    ]
    found = {"paragraphs": [{"claims": [{"text": "Glaciers move a metre a day.", "sources": ["S1"]}]}], "gaps": []}
    content = "# Glaciers\n\nGlaciers move a metre a day. [glaciers.md]\n"
    play(
        "Research glaciers and put the results into the folder Research",
        {
            "Sources (S1": found,
            "Put the results into Research": [
                ("list_folders_tool", {}),
                ("create_user_folder_tool", {"path": "Research"}),
                ("create_user_file_tool", {"path": "Research/glaciers.md", "content": content}),
                "Research/glaciers.md is made.",
            ],
        },
        chosen("quick-lookup", *steps),
        *permits("Edit(/Research)", "Edit(/Research/**)"),
    )
    assert Path("Research/glaciers.md").read_text() == content


def test_a_skill_with_a_plan_works_alone_where_plans_are_off(play, skillkit_home):
    skillkit_home.write_config("planner: {enabled: false}")
    for name in "ab":
        Path(f"{name}.md").write_text(f"The roof {name} costs {len(name) + ord(name)} euros.\n")
    row = {"cells": ["a", "98 euros"], "sources": ["S1"]}
    done = play(
        "Compare a.md and b.md",
        {"Sources (S1": {"columns": ["Offer", "Price"], "rows": [row], "gaps": []}, "Compare a.md": "They were read."},
        chosen("comparison-report"),
    )
    assert "| a | 98 euros | S1 |" in done.stdout and "data_formatting" not in done.stdout
