"""A request of several parts: at the command line, over kill -9, saved and carried out again, and in every front end."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("skillkit_planner", reason="the planner is not part of the standard distribution")

import skillkit_engine_automation.plugin
import skillkit_engines.plugin
import skillkit_planner.plugin
import skillkit_routing.plugin
import skillkit_skills.plugin
from front_ends import FRONTS, open_front
from skillkit_testkit import Call, Gate, Reply

from skillkit_core.testing import Reply as Scripted

QUERY = "Research X, capture key points to my inbox, and update chapter 12"
STEPS = (
    ("deep-research", "Research X", []),
    ("org-capture", "Capture the key points to my inbox", [1]),
    ("fiction-editing", "Update chapter 12", [1]),
)
CHOICE = json.dumps(
    {
        "skill": "deep-research", "confidence": 0.7, "reason": "several parts",
        "steps": [{"skill_name": name, "sub_query": words, "depends_on": after} for name, words, after in STEPS],
    }
)  # fmt: skip
SAID = {"Research": "X is cold.", "Capture": "Captured.", "Update chapter 12": "Updated."}
INBOX = """
from pathlib import Path
from skillkit_core import Tool, hookimpl

async def add(args, ctx):
    with (ctx.cwd / "inbox.org").open("a") as file:
        file.write("* " + args["text"] + "\\n")
    return "captured"

@hookimpl
def register_tools(register):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    about = {"mutates": "world"}
    register(Tool("add_org_inbox_item_tool", "Capture to the inbox.", add, schema, annotations=about))
"""


@pytest.fixture
def skills(skillkit_home, install_plugin, tmp_path):
    for name, _, _ in STEPS:
        place = skillkit_home.config_dir / "skills" / name
        place.mkdir(parents=True)
        tools = {"tools": ["add_org_inbox_item_tool"]} if name == "org-capture" else {}
        head = {
            "name": name,
            "description": f"Does {name}.",
            "metadata": {"skillkit": {"engine": "automation", **tools}},
        }
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")
    module = tmp_path / "inbox_plugin.py"
    module.write_text(INBOX)
    install_plugin("inbox", module)


@pytest.fixture
def play(skillkit_cli, llm_server, monkeypatch, skills):
    """Asks the loopback model, which answers by the words of the step; ``asked`` counts them."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    asked: Counter[str] = Counter()
    gates: dict[str, Gate] = {}
    lock = threading.Lock()

    def answer(request: Any) -> Reply:
        if "You decide which skill" in request.system:
            return Reply(text=CHOICE)
        name = next(name for name in SAID if name in request.user_text)
        with lock:
            asked[name] += 1
        if name == "Capture" and not request.tool_results:
            return Reply(tool_calls=[Call("add_org_inbox_item_tool", {"text": "X is cold"})])
        return Reply(text=SAID[name], gate=gates.get(name))

    llm_server.always(answer)
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    permit = ("--permit", "add_org_inbox_item_tool")
    answer.asked, answer.gates = asked, gates  # type: ignore[attr-defined]
    answer.argv = lambda *more: (*wire, *permit, *more)  # type: ignore[attr-defined]
    return answer


@pytest.mark.smoke
def test_the_request_of_the_documents_runs_as_three_steps_and_is_listed_drawn_saved_and_carried_out_again(
    play, skillkit_cli, skillkit_home
):
    done = skillkit_cli("run", *play.argv(), QUERY).ok()
    assert [part in done.stdout for part in SAID.values()] == [True] * 3, done
    assert (skillkit_home.cwd / "inbox.org").read_text() == "* X is cold\n"

    drawn = skillkit_cli("plans", "show", "latest").ok().stdout
    assert drawn.startswith("plan p1 · completed · 3 of 3 steps done")
    assert "✓ 1 deep-research" in drawn and "├─ ✓ 2 org-capture" in drawn and "└─ ✓ 3 fiction-editing" in drawn
    told = skillkit_cli("plans", "show", "latest", "--json").ok().json
    assert [(step["step_id"], step["state"], step["calls"]) for step in told["steps"]] == [
        (1, "completed", 1), (2, "completed", 2), (3, "completed", 1)
    ]  # fmt: skip
    svg = skillkit_cli("plans", "show", "latest", "--svg").ok().stdout
    assert svg.startswith("<svg") and svg.count("<rect") == 4 and svg.count('marker-end="') == 2
    listed = skillkit_cli("plans", "list", "--json").ok().json
    assert [(row["id"], row["status"], row["done"], row["query"]) for row in listed["sessions"]] == [
        ("p1", "completed", 3, QUERY)
    ]

    page = skillkit_cli("why", "latest").ok().stdout
    assert "p1 · completed · 3 of 3 steps done" in page and "org-capture (after 1) · done" in page
    (section,) = [s for s in skillkit_cli("why", "latest", "--json").ok().json["explained"] if s["title"] == "Plan"]
    assert [row[0] for row in section["rows"]] == ["plan", "by", "step 1", "step 2", "step 3"]
    step = section["rows"][3][1].rpartition(" · ")[2].removeprefix("skillkit ").split()
    assert "“Capture the key points to my inbox”" in skillkit_cli(*step).ok().stdout, "the page of the step itself"

    saved = skillkit_cli("plans", "save", "research", "latest").ok().stdout
    assert "2 org-capture: Capture the key points to my inbox (after 1)" in saved
    assert "there is a plan 'research' already" in skillkit_cli("plans", "save", "research").stderr
    file = skillkit_home.config_dir / "plans" / "research.yaml"
    file.write_text(file.read_text().replace("Research X", "Research {query}"))
    again = skillkit_cli("run", *play.argv("--plan", "research"), "Y").ok()
    assert "X is cold." in again.stdout
    told = skillkit_cli("plans", "show", "latest", "--json").ok().json
    assert told["by"] == "template research" and told["steps"][0]["sub_query"] == "Research Y"
    assert "unknown plan 'nosuch'; known: research" in skillkit_cli("run", *play.argv("--plan", "nosuch"), "Y").stderr


def test_a_run_that_is_killed_with_a_step_in_the_middle_is_resumed_and_what_was_done_is_not_done_again(
    play, skillkit_cli, skillkit_home
):
    gate = play.gates["Update chapter 12"] = Gate(after_deltas=None)
    with skillkit_cli.start("run", *play.argv(), QUERY) as process:
        assert gate.reached.wait(60)
        while _states(skillkit_cli).get(2) != "completed":
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        process.communicate()
    play.gates.clear()
    gate.open()
    assert _states(skillkit_cli) == {1: "completed", 2: "completed", 3: "running"}
    before = dict(play.asked)
    session = skillkit_cli("plans", "list", "--json").ok().json["sessions"][0]["session"]
    done = skillkit_cli("resume", session, *play.argv()).ok()
    assert [part in done.stdout for part in SAID.values()] == [True] * 3, done
    assert (skillkit_home.cwd / "inbox.org").read_text() == "* X is cold\n"
    assert play.asked["Research"] == before["Research"] == 1 and play.asked["Capture"] == before["Capture"] == 2
    assert _states(skillkit_cli) == dict.fromkeys((1, 2, 3), "completed")


def test_a_plan_that_nobody_could_confirm_is_resumed_at_a_terminal_and_so_is_a_step_that_was_killed_in_the_middle(
    play, skillkit_cli, skillkit_home
):
    """What a step has said is on the terminal while another one runs."""
    (skillkit_home.config_dir / "config.yaml").write_text("planner: {confirm: true}\n")
    waits = skillkit_cli("run", *play.argv(), QUERY)
    assert waits.exit_code == 1 and "Plan p1: 3 steps: Carry out this plan?" in waits.stderr and not play.asked
    session = skillkit_cli("plans", "list", "--json").ok().json["sessions"][0]["session"]

    gate = play.gates["Capture"] = Gate(after_deltas=None)
    with skillkit_cli.terminal("resume", session, *play.argv()) as terminal:
        terminal.wait_for("2 org-capture: Capture the key points to my inbox (after 1) (cost not known yet)")
        for question, keys in (
            ("Carry out this plan? [Y]es, [n]o, [l]ater:", "x"), ("The answer must be yes or no.", ""), ("plan?", "y"),
            ("  3  3 fiction-editing: Update chapter 12 (after 1)", ""), ("Steps to leave out (numbers; empty: none):", "\r"),
            ("Words of step 1 [Research X]:", "Research Y"), ("Words of step 2", "\r"), ("Words of step 3", "\r"),
        ):  # fmt: skip
            terminal.wait_for(question)
            terminal.send(keys if keys in ("", "\r") else f"{keys}\r")
        assert gate.reached.wait(60)
        terminal.wait_for("✓ 1 deep-research: done")
        terminal.wait_for("    Updated.")
        terminal.process.kill()
    assert _states(skillkit_cli) == {1: "completed", 2: "running", 3: "completed"}
    assert (skillkit_home.cwd / "inbox.org").read_text() == "* X is cold\n"

    play.gates.clear()
    gate.open()
    with skillkit_cli.terminal("resume", session, *play.argv()) as terminal:
        terminal.wait_for("It had begun when the process ended, and may have changed something already")
        terminal.wait_for("Do step 2 (org-capture) again? [y]es, [N]o, [l]ater:")
        terminal.send("y\r")
        assert terminal.wait() == 0, terminal.text
        assert [part in terminal.text for part in SAID.values()] == [True] * 3
    assert _states(skillkit_cli) == dict.fromkeys((1, 2, 3), "completed")
    told = skillkit_cli("plans", "show", "latest", "--json").ok().json
    assert (told["by"], told["steps"][0]["sub_query"], told["steps"][1]["attempt"]) == ("person", "Research Y", 2)
    assert play.asked["Research"] == 1 and (skillkit_home.cwd / "inbox.org").read_text() == "* X is cold\n" * 2


def _states(cli: Any) -> dict[int, str]:
    shown = cli("plans", "show", "latest", "--json")
    return {step["step_id"]: step["state"] for step in shown.json["steps"]} if shown.exit_code == 0 else {}


FAMILY = [
    ("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin), ("routing", skillkit_routing.plugin),
    ("engine-automation", skillkit_engine_automation.plugin), ("planner", skillkit_planner.plugin),
]  # fmt: skip


@pytest.mark.parametrize("front", FRONTS)
def test_a_plan_is_one_block_with_its_steps_in_every_front_end_and_what_one_said_is_there_while_another_one_runs(
    front, skillkit_home
):
    for name, _, _ in STEPS:
        place = skillkit_home.config_dir / "skills" / name
        place.mkdir(parents=True)
        head = {"name": name, "description": f"Does {name}.", "metadata": {"skillkit": {"engine": "automation"}}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")

    async def main() -> None:
        go_on = asyncio.Event()

        def answer(request: Any) -> Any:
            if "You decide which skill" in request.system:
                return CHOICE
            name = next(name for name in SAID if name in request.messages[-1].text)
            return Scripted(SAID[name], before=go_on.wait) if name.startswith("Update") else SAID[name]

        async with open_front(front, skillkit_home, [answer] * 4, plugins=FAMILY) as person:
            await person.say(QUERY)
            await person.sees(
                "run_plan", "X is cold.", "✓ 2 org-capture: done", "Captured.", "▸ 3 fiction-editing: running"
            )
            assert person.busy and "Updated." not in person.seen
            go_on.set()
            await person.sees("Updated.")
            await person.idle()
            await person.say("/plans")
            await person.sees("plan p1 · completed · 3 of 3 steps done", "├─ ✓ 2 org-capture")

    asyncio.run(main())


def test_steps_edit_an_open_document_each_as_the_one_before_has_left_it(
    skillkit_cli, skillkit_home, llm_server, monkeypatch
):
    pytest.importorskip("skillkit_engine_editor", reason="the engine is not part of the standard distribution")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    said = {}
    for name, old, new in (("winter", "summer", "winter"), ("snow", "winter", "snowy winter")):
        place = skillkit_home.config_dir / "skills" / name
        place.mkdir(parents=True)
        head = {"name": name, "description": f"Makes it {name}.", "metadata": {"skillkit": {"engine": "editor"}}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nEdit.\n")
        edit = {"op": "replace_range", "original_text": old, "text": new}
        said[f"Make it {name}"] = json.dumps({"message": f"It is {name}.", "operations": [edit]})
    steps = [
        {"skill_name": name, "sub_query": f"Make it {name}", "depends_on": after}
        for name, after in (("winter", []), ("snow", [1]))
    ]
    choice = json.dumps({"skill": "winter", "confidence": 0.9, "reason": "two parts", "steps": steps})
    llm_server.always(
        lambda request: Reply(text=choice if "You decide which skill" in request.system else said[request.user_text])
    )
    (skillkit_home.cwd / "chapter.md").write_text("It was summer.\n")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    permit = ("--permit", "Edit(/chapter.md)")
    done = skillkit_cli("edit", "chapter.md", *wire, *permit, "Make it winter, and then snowy").ok()
    assert "It is winter." in done.stdout and "It is snow." in done.stdout
    assert (skillkit_home.cwd / "chapter.md").read_text() == "It was snowy winter.\n"
    assert "taken back; 1 more" in skillkit_cli("edit", "chapter.md", "--undo").ok().stdout
