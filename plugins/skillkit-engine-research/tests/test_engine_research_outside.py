"""Research as a person has it: at the command line, over kills, and where a person decides later in another process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

ANSWER = json.dumps({"paragraphs": [{"claims": [{"text": "A queen lays 1500 eggs.", "sources": ["S1"]}]}], "gaps": []})
SECTIONS = json.dumps(
    {"sections": [{"heading": "Bees", "claims": [{"text": "It is about bees.", "sources": ["S1"]}]}], "gaps": []}
)


@pytest.fixture
def settings(skillkit_home: Any, site: Any) -> None:
    (skillkit_home.config_dir / "config.yaml").write_text(
        json.dumps(
            {
                "research": {"skills": True},
                "tools": {"allow": ["web_search", "web_fetch"]},
                "web": {"private_hosts": [site.host], "searxng_url": site.url},
                "plugins": {"disabled": ["permissions", "routing"]},
            }
        )
    )


@pytest.fixture
def run(skillkit_cli: Any, llm_server: Any, monkeypatch: pytest.MonkeyPatch, settings: None) -> Any:
    """Asks the loopback model at the command line."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")

    def ask(text: str, *answers: str, more: Any = ()) -> Any:
        from skillkit_testkit import Reply

        llm_server.script(*(Reply(text=answer) for answer in answers))
        return skillkit_cli("run", *wire, *more, text).ok()

    return ask


@pytest.mark.smoke
def test_s5_2_a_lookup_at_the_command_line_names_its_file_and_is_explained(run, workspace, skillkit_cli, llm_server):
    done = run("/quick-lookup how many eggs does a queen lay?", ANSWER)
    assert "A queen lays 1500 eggs. [S1]" in done.stdout and "[S1] notes/bees.md:1-5" in done.stdout
    (request,) = llm_server.requests
    assert request.tools == () and "1500" in json.dumps(request.body)

    page = skillkit_cli("why", "latest").ok().stdout
    assert "quick-lookup via research" in page and "2 found, 1 cited" in page and "1 request, 6 calls" in page
    rows = skillkit_cli("research", "sources", "--json").ok().json
    assert [(row["id"], row["where"]) for row in rows] == [("S1", "notes/bees.md"), ("S2", "notes/ants.md")]
    listed = skillkit_cli("research", "sources").ok().stdout
    assert "S1" in listed and "notes/bees.md" in listed
    assert skillkit_cli("research", "sources", "s1").ok().stdout.startswith("# Bees")
    wrong = skillkit_cli("research", "sources", "S9")
    assert wrong.exit_code != 0 and "the session has no source 'S9'" in wrong.stderr


def test_s5_2_a_site_is_read_at_the_command_line(run, workspace, site, skillkit_cli):
    site.page("/", "All about bees.", "/a")
    site.page("/a", "More.")
    done = run(f"/site-crawl what is {site.url}/ about?", SECTIONS, more=("--json",))
    assert "- It is about bees. [S1]" in json.dumps(done.json) and sorted(site.fetched) == ["/", "/a"]
    assert json.loads(skillkit_cli("research", "sources", "S2", "--json").ok().stdout)["title"] == "Page /a"


def test_the_modes_are_listed_and_one_is_shown(skillkit_cli, skillkit_home):
    listed = skillkit_cli("research", "modes").ok().stdout
    assert "quick-lookup" in listed and "files, web (optional)" in listed
    shown = skillkit_cli("research", "modes", "site-crawl").ok().stdout
    assert "pages" in shown and "requests 4" in shown
    data = skillkit_cli("research", "modes", "--json").ok().json
    assert data["content-analysis"]["output_format"] == "tabular"
    wrong = skillkit_cli("research", "modes", "quick-lokup")
    assert "there is no mode 'quick-lokup'" in wrong.stderr and "quick-lookup" in wrong.stderr


def test_a_mode_of_the_settings_that_is_wrong_is_told_with_its_name(skillkit_cli, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").write_text(json.dumps({"research": {"modes": {"mine": {"rounds": 2}}}}))
    told = skillkit_cli("research", "modes")
    assert told.exit_code != 0 and "mode mine: rounds: Extra inputs are not permitted" in told.stderr


# --- kills and decisions --------------------------------------------------------------------------------------------

DESK = """
import asyncio, json, os, pathlib, re, signal, sys
from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, ToolCallEventResult
from skillkit_core.testing import ScriptedModel

folder, step = pathlib.Path(sys.argv[1]), sys.argv[2]
log = folder / "asked"

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def answer(request):
    what = "plan" if "You prepare" in request.system else "assess" if "You judge" in request.system else "answer"
    if step == what:
        die()
    with log.open("a") as out:
        out.write(what + "\\n")
    sources = re.findall('<context source="(S\\d+)', request.messages[-1].text)
    claim = {"text": "Bees.", "sources": sources[-1:]}
    return json.dumps({
        "plan": {"queries": ["queen eggs"]}, "assess": {"sufficient": True, "gaps": [], "queries": []},
        "answer": {"paragraphs": [{"claims": [claim]}], "gaps": []},
    }[what])

def guard(event):
    if step == event.tool_name:
        die()
    if event.tool_name == "web_search" and step in ("defer", "decide"):
        return ToolCallEventResult(ask="May it?")

class Person(Approver):
    async def approve(self, request):
        return ApprovalDecision("defer")

async def main():
    known = folder / "session"
    host = Host()
    session = known.read_text() if known.exists() else "new"
    async with AgentRunner(AgentConfig(model="any", approver=Person()), host=host, session=session) as agent:
        agent.events.on("before_tool_call", guard, phase="guard")
        agent.set_adapter(ScriptedModel([answer], repeat=True))
        if session == "new":
            known.write_text(agent.session_id)
            response = await agent.chat("/deep-research eggs of a queen")
        else:
            waiting = agent.suspension
            response = await agent.resume({call.id: "allow" for call in waiting.calls} if waiting else None)
        sources = [note.data["id"] for note in agent.session.notes("engine-research.source")]
        ends = [note.data for note in agent.session.notes("engine-research.end")]
        used = ends[-1]["used"] if ends else None
        print(json.dumps([response.outcome, response.content, sources, used]))
    await host.aclose()

asyncio.run(main())
"""


SLOW = [pytest.param(at, marks=pytest.mark.slow) for at in ("read", "web_search", "assess")]


@pytest.mark.sample(2)
@pytest.mark.parametrize("at", ["plan", "web_fetch", "answer", "defer", *SLOW])
def test_s5_3_research_that_is_killed_goes_on_where_it_was_and_does_nothing_twice(
    settings, workspace, site, tmp_path, skillkit_home, at
):
    """The first process dies at a request, at a call, or a person decides later; the second one does the rest."""
    site.hits = ["/a"]
    site.page("/a", "Queens lay eggs.")
    (tmp_path / "desk.py").write_text(DESK)

    def step(what: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, str(tmp_path / "desk.py"), str(tmp_path), what]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, cwd=skillkit_home.cwd)

    first = step(at)
    if at == "defer":
        assert first.returncode == 0 and json.loads(first.stdout)[0] == "suspended", first.stderr
    else:
        assert first.returncode == -signal.SIGKILL, first.stderr
    second = step("decide" if at == "defer" else "go")
    assert second.returncode == 0, second.stderr
    outcome, content, sources, used = json.loads(second.stdout)
    assert outcome == "completed" and content.startswith("Bees. [S3]") and f"{site.url}/a" in content
    assert (tmp_path / "asked").read_text().split() == ["plan", "assess", "answer"]
    assert site.queries == ["queen eggs"] and site.fetched == ["/a"]
    assert sources == ["S1", "S2", "S3"] and used["requests"] == 3 and used["calls"] == 6
