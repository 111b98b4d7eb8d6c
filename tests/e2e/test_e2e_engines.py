"""A skill with an engine: at the command line, in every front end, and over kills; and nothing of it where no skill names one."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("skillkit_engine_automation", reason="engines are not part of the standard distribution")

import skillkit_engine_automation.plugin
import skillkit_engines.plugin
import skillkit_routing.plugin
import skillkit_skills.plugin
import skillkit_why.plugin
from front_ends import FRONTS, open_front
from skillkit_testkit import Call, Reply

from skillkit_core import Tool
from skillkit_core.testing import Call as ModelCall, Reply as ModelReply

CHOICE = json.dumps({"skill": "weather", "confidence": 0.9, "reason": "it asks for the weather", "steps": []})
OFF = ("-P", "no:engines", "-P", "no:routing", "-P", "no:engine-automation")
TOOLS = """
from skillkit_core import Tool, hookimpl

SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}}

async def now(args, ctx):
    return f"12 C in {args['place']}"

@hookimpl
def register_tools(register):
    register(Tool("weather_now", "Weather now.", now, SCHEMA, annotations={"mutates": "none"}))
"""


def write_skill(folder: Any, **fields: Any) -> None:
    place = folder / "weather"
    place.mkdir(parents=True)
    about = {"engine": "automation", "tools": ["weather_now"], "system_prompt": "You tell the weather.", **fields}
    head = {"name": "weather", "description": "Current weather for any place.", "metadata": {"skillkit": about}}
    (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nTell it.\n")


@pytest.fixture
def ask(skillkit_cli, llm_server, monkeypatch):
    """Asks the loopback model at the command line."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")

    def run(text: str, *replies: Any, options: Any = (), more: Any = ()) -> Any:
        llm_server.script(*replies)
        return skillkit_cli(*options, "run", *wire, *more, text).ok()

    return run


@pytest.fixture
def weather_tool(install_plugin, tmp_path):
    module = tmp_path / "weather_tools_plugin.py"
    module.write_text(TOOLS)
    install_plugin("weather-tools", module)


@pytest.mark.smoke
def test_a_routed_turn_at_the_command_line_is_explained_and_in_the_books(
    ask, llm_server, skillkit_cli, skillkit_home, weather_tool
):
    write_skill(skillkit_home.config_dir / "skills")
    place = Reply(tool_calls=[Call("weather_now", {"place": "Oslo"}, "call_1")])
    done = ask("How warm is it in Oslo?", Reply(text=CHOICE), place, Reply(text="12 C in Oslo."))
    assert done.stdout.strip().endswith("12 C in Oslo.")
    selection, first, _ = llm_server.requests
    assert "weather: Current weather" in selection.system and selection.tools == ()
    assert [tool.name for tool in first.tools] == ["weather_now"] and first.system.endswith("You tell the weather.")

    page = skillkit_cli("why", "latest").ok().stdout
    assert "Route" in page and "weather via automation" in page and "selected, 1 model call" in page
    (section,) = [s for s in skillkit_cli("why", "latest", "--json").ok().json["explained"] if s["title"] == "Route"]
    rows = {row[0]: row[1] for row in section["rows"]}
    assert rows["words"] == "How warm is it in Oslo?" and rows["because"] == "it asks for the weather"
    assert any(row[0] == "candidates" and "weather" in row[1] for row in section["rows"])

    by_skill = skillkit_cli("usage", "--by", "skill", "--json").ok().json
    by_engine = skillkit_cli("usage", "--by", "engine", "--json").ok().json
    assert [(row["skill"], row["requests"]) for row in by_skill["rows"]] == [("weather", 3)]
    assert [(row["engine"], row["requests"]) for row in by_engine["rows"]] == [("automation", 3)]

    judged = skillkit_cli("routing", "eval", "--session", "latest", "--json").ok().json
    assert (judged["cases"], judged["right"], judged["accuracy"]) == (1, 1, 1.0)
    assert len(llm_server.requests) == 3  # its answer is in the session


def test_without_a_routed_skill_the_request_is_that_of_a_host_without_the_plugins_byte_for_byte(ask, llm_server):
    packs = ("-P", "no:toolpacks")  # they let tools of other packages wait
    for options in (packs, (*packs, *OFF)):
        ask("Who are you?", Reply(text="Nobody."), options=options, more=("--no-session",))
    with_them, without = llm_server.requests
    assert with_them.body == without.body


def test_a_request_that_no_skill_takes_is_that_of_a_host_without_the_plugins(
    ask, llm_server, skillkit_home, weather_tool
):
    write_skill(skillkit_home.config_dir / "skills")
    chat = json.dumps({"skill": "chat", "confidence": 0.9, "reason": "talk", "steps": []})
    ask("Who are you?", Reply(text=chat), Reply(text="Nobody."), more=("--no-session",))
    ask("Who are you?", Reply(text="Nobody."), options=("-P", "no:routing"), more=("--no-session",))
    _, routed, plain = llm_server.requests
    assert routed.body == plain.body


# --- every front end ------------------------------------------------------------------------------------------------


async def now(args: Any, ctx: Any) -> str:
    return f"12 C in {args['place']}"


PLACE = {"type": "object", "properties": {"place": {"type": "string"}}}
WEATHER = Tool("weather_now", "Weather now.", now, PLACE, annotations={"mutates": "none"})
FAMILY = [
    ("skills", skillkit_skills.plugin), ("why", skillkit_why.plugin), ("engines", skillkit_engines.plugin),
    ("engine-automation", skillkit_engine_automation.plugin), ("routing", skillkit_routing.plugin),
]  # fmt: skip


@pytest.mark.parametrize("front", FRONTS)
def test_the_same_request_is_routed_alike_in_every_front_end_and_slash_route_and_why_tell_it(front, skillkit_home):
    write_skill(skillkit_home.config_dir / "skills")
    turns = [CHOICE, ModelReply(calls=[ModelCall("weather_now", {"place": "Oslo"})]), "It is warm in Oslo."]

    async def main() -> None:
        async with open_front(front, skillkit_home, turns, tools=(WEATHER,), plugins=FAMILY) as person:
            await person.say("How warm is it in Oslo?")
            await person.sees("weather_now", "It is warm in Oslo.")
            await person.idle()
            (note,) = person.agent.session.notes("engines.route")
            told = {name: note.data[name] for name in ("skill", "engine", "why", "by", "calls", "reason")}
            assert told == {
                "skill": "weather", "engine": "automation", "why": "selected", "by": "routing", "calls": 1,
                "reason": "it asks for the weather",
            }  # fmt: skip
            await person.say("/route")
            await person.sees("weather via automation", "selected, 1 model call")
            await person.say("/why")
            await person.sees("it asks for the weather")

    asyncio.run(main())


# --- kills ----------------------------------------------------------------------------------------------------------

DESK = """
import asyncio, json, os, pathlib, signal, sys
from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

folder, step = pathlib.Path(sys.argv[1]), sys.argv[2]
CHOICE = json.dumps({"skill": "weather", "confidence": 0.9, "reason": "x", "steps": []})

def wrote(name):
    with (folder / "effects").open("a") as file:
        file.write(name + "\\n")

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def now(args, ctx):
    wrote("tool")
    if step == "tool":
        die()
    return "12 C"

def turn(name, reply):
    def answer(request):
        wrote(name)
        if step == name:
            die()
        return reply
    return answer

TURNS = {
    "selection": turn("selection", CHOICE),
    "call": turn("call", Reply(calls=[Call("weather_now", {}, "c1")])),
    "answer": turn("answer", "It is 12 C."),
}

def model(request):
    if "Skills:" in request.system:
        return TURNS["selection"](request)
    done = any(message.role == "tool_result" for message in request.messages)
    return TURNS["answer" if done else "call"](request)

async def main():
    tool = Tool("weather_now", "Now.", now, annotations={"mutates": "none"}, replay="safe" if "safe" in sys.argv else "never")
    known = folder / "session"
    session = known.read_text() if known.exists() else "new"
    async with AgentRunner(AgentConfig(model="any", tools=(tool,)), host=Host(), session=session) as agent:
        agent.set_adapter(ScriptedModel([model], repeat=True))
        if session == "new":
            known.write_text(agent.session_id)
            response = await agent.chat("How warm is it?")
        else:
            response = await agent.resume()
        routes = [note.data["skill"] for note in agent.session.notes("engines.route")]
        print(json.dumps([response.outcome, response.content, routes]))

asyncio.run(main())
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("step", "effects"),
    [
        ("selection", ["selection", "selection", "call", "tool", "answer"]),
        ("call", ["selection", "call", "call", "tool", "answer"]),
        ("tool", ["selection", "call", "tool", "answer"]),
        ("answer", ["selection", "call", "tool", "answer", "answer"]),
    ],
)
def test_a_routed_turn_that_is_killed_is_resumed_and_nothing_that_was_done_is_done_twice(
    skillkit_home, tmp_path, step, effects
):
    """What was cut off in the middle is asked again; a tool that was running is not run again, unless it says it may be."""
    write_skill(skillkit_home.config_dir / "skills")
    (tmp_path / "desk.py").write_text(DESK)

    def run(step: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, str(tmp_path / "desk.py"), str(tmp_path), step]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, cwd=skillkit_home.cwd)

    killed = run(step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = run("finish")
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout) == ["completed", "It is 12 C.", ["weather"]]
    assert (tmp_path / "effects").read_text().split() == effects
