"""``skillkit why`` over sessions that the command line recorded, with the standard distribution and a model on loopback."""

import asyncio
import json

import pytest
from skillkit_chat.client import RpcClient
from skillkit_testkit import Call, Fail, Reply

LONG = "A parser reads tokens and builds a tree. " * 150
SECRET = "sk-loopback-secret-of-a-person"


@pytest.fixture
def ask(skillkit_cli, llm_server, monkeypatch):
    """Asks the loopback model, in the latest session from the second time on."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url)
    asked = []

    def run(text, *replies, model="loop"):
        llm_server.script(*replies)
        again = ["--continue"] if asked else []
        asked.append(text)
        return skillkit_cli("run", *wire, "--model", model, *again, text).ok()

    return run


@pytest.fixture
def why(skillkit_cli):
    """Returns what ``skillkit why --json`` says."""
    return lambda *words: skillkit_cli("why", *words, "--json").ok().json


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def notes(home):
    lines = next(home.path.rglob("*.jsonl")).read_text().splitlines()
    return [line for line in lines if '"why.request"' in line]


@pytest.mark.smoke
def test_a_page_tells_sections_tools_skills_and_guards_by_whom_and_why(ask, why, skillkit_cli, skillkit_home):
    cwd = skillkit_home.cwd
    write(cwd / "AGENTS.md", f"Use tabs. The key is {SECRET}.\n")
    write(cwd / ".skillkit/config.yaml", "permissions:\n  deny: [Bash, 'Edit(private/**)']\n")
    write(cwd / ".skillkit/skills/open/SKILL.md", "---\nname: open\ndescription: Opens things.\n---\nDo.\n")
    needs = "metadata: {openclaw: {requires: {bins: [no-such-program-xyz]}}}"
    write(cwd / ".skillkit/skills/shut/SKILL.md", f"---\nname: shut\ndescription: Shuts things.\n{needs}\n---\nDo.\n")
    skillkit_cli("config", "trust").ok()
    edit = Call("edit", {"path": "private/x", "old": "a", "new": "b"}, "call_1")
    ask("change it", Reply(tool_calls=[edit]), Reply(text="I may not."))
    found = why("latest", "1")
    assert [(s["name"], s["from"]) for s in found["sections"]] == [
        ("work", "context"), ("instructions", "context"), ("skills", "skills"),
    ]  # fmt: skip
    assert found["model"]["chosen_by"] == "--model" and found["model"]["api"] == "openai-chat"
    skills = {s["name"]: s for s in found["skills"]}
    assert skills["open"]["state"] == "listed" and not skills["open"]["reason"]
    assert (skills["shut"]["state"], skills["shut"]["reason"]) == ("hidden", "missing-bin:no-such-program-xyz")
    withheld = {t["name"]: t for t in found["tools"]["withheld"]}
    assert withheld["bash"]["by"] == "permissions" and "denied by Bash (" in withheld["bash"]["reason"]
    assert withheld["web_fetch"]["by"] == "settings"
    offered = {t["name"]: t for t in found["tools"]["offered"]}
    assert offered["read"]["from"] == "files" and "note" not in offered["read"]
    assert "denied by Edit(private/**)" in offered["edit"]["note"]
    (guard,) = found["guards"]
    assert guard["said"] == {"permissions": "block"} and guard["outcome"] == "blocked"
    assert "a rule forbids private/x" in guard["reason"]
    assert not why()["guards"], "the second turn called nothing"
    page = skillkit_cli("why", "latest", "1").ok().stdout
    assert max(map(len, page.splitlines())) <= 80
    for line in (
        "Guards      spoke about 1 call",
        "shut  missing-bin:no-such-program-xyz",
        "edit  permissions: block → blocked",
    ):
        assert line in page
    kept = [file.read_text() for file in (skillkit_home.data_dir / "why").iterdir()]
    assert any("Use tabs." in text for text in kept) and not any(SECRET in text for text in kept)
    shown = [skillkit_cli("sessions", what).ok().stdout for what in ("show", "tree")]
    assert not any("why.request" in text for text in shown) and "← here" in shown[1]


def test_a_turn_in_which_nothing_changed_leaves_a_small_note_and_two_turns_are_compared(
    ask, why, skillkit_cli, skillkit_home
):
    write(skillkit_home.cwd / "AGENTS.md", "Use tabs.\nBe brief.\n")
    skillkit_cli("config", "trust").ok()
    ask("one", Reply(text="1"))
    ask("two", Reply(text="2"))
    assert all(len(note) < 400 for note in notes(skillkit_home))
    files = len(list((skillkit_home.data_dir / "why").iterdir()))
    same = why("latest", "--diff", "1", "2")
    groups = ("sections", "tools", "withheld", "skills")
    assert not any(rows for group in groups for rows in same[group].values()) and not same["model"]
    write(skillkit_home.cwd / "AGENTS.md", "Use spaces.\nBe brief.\n")
    write(skillkit_home.cwd / ".skillkit/config.yaml", "permissions:\n  allow: [Bash]\n  deny: [Read]\n")
    skillkit_cli("config", "trust").ok()
    ask("three", Reply(text="3"), model="other")
    changed = why("latest", "--diff", "2", "3")
    assert changed["model"] == {"id": ["loop", "other"]}
    (section,) = changed["sections"]["changed"]
    assert section["name"] == "instructions" and "-Use tabs." in section["diff"] and "+Use spaces." in section["diff"]
    assert [t["name"] for t in changed["tools"]["added"]] == ["bash"]
    assert [t["name"] for t in changed["withheld"]["removed"]] == ["bash"]
    assert "read" in [t["name"] for t in changed["tools"]["changed"]]
    assert len(list((skillkit_home.data_dir / "why").iterdir())) > files
    page = skillkit_cli("why", "latest", "--diff", "2", "3").ok().stdout
    assert "Model       loop → other" in page and "+Use spaces." in page and max(map(len, page.splitlines())) <= 80
    assert [row["turn"] for row in why("--list")] == [1, 2, 3]


def test_a_retry_and_a_fallback_are_told_with_their_reasons(ask, why):
    busy = Fail(status=503, message="busy")
    ask("one", busy, Reply(text="1"))
    found = why()
    assert found["request"]["attempts"] == 2 and "busy" in found["request"]["retries"][0]["error"]
    assert [r["error"] is None for r in found["usage"]["requests"]] == [False, True]
    gone = Fail(status=404, type="not_found_error", message="no such model")
    ask("two", gone, Reply(text="2"), model="loop,spare")
    found = why()
    assert found["model"]["id"] == "spare" and found["model"]["chosen_by"] == "fallback"
    assert "no such model" in found["model"]["fallbacks"][0]


def _summary_or_answer(received):
    asked = json.dumps(received.body["messages"][-1])
    return Reply(text="It ends." if "The last question." in asked else "Parsers were explained.")


def test_messages_that_a_compaction_summarised_are_named_also_without_notes(ask, why, skillkit_cli, skillkit_home):
    too_long = Fail(
        status=400, type="context_length_exceeded", message="This model's maximum context length is 4096 tokens."
    )
    ask("What does a parser do?", Reply(text=LONG))
    ask("And a lexer?", Reply(text=LONG))
    ask(
        "The last question.",
        too_long,
        *[_summary_or_answer] * 3,  # one summary or two: that depends on the room that tools leave
    )
    found = why()
    (gone, *_) = found["messages"]["left_out"]
    assert gone["reason"].startswith("summarised by compaction") and gone["count"] >= 2
    assert found["compactions"][0]["summary"] == "Parsers were explained."
    assert {r["purpose"] for r in found["usage"]["requests"]} == {"turn", "compaction"}
    page = skillkit_cli("why").ok().stdout
    assert "summarised by compaction" in page and "“Parsers were explained.”" in page
    file = next(skillkit_home.path.rglob("*.jsonl"))
    header, *lines = file.read_text().splitlines()
    kept, skipped = [header], {}
    for entry in map(json.loads, lines):
        entry["parent_id"] = skipped.get(entry["parent_id"], entry["parent_id"])
        if entry.get("custom_type") == "why.request":
            skipped[entry["id"]] = entry["parent_id"]
        else:
            kept.append(json.dumps(entry, separators=(",", ":")))
    file.write_text("\n".join(kept) + "\n")
    bare = why()
    assert not bare["recorded"] and bare["sections"] is None and bare["model"]["id"] == "loop"
    assert bare["messages"]["left_out"] == found["messages"]["left_out"] and bare["usage"] == found["usage"]
    assert "No note was kept of this turn" in skillkit_cli("why").ok().stdout


def test_a_turn_that_is_not_there_and_a_session_without_turns_are_said(ask, skillkit_cli):
    assert "there are no sessions yet" in skillkit_cli("why").stderr
    ask("one", Reply(text="1"))
    wrong = skillkit_cli("why", "latest", "7")
    assert wrong.exit_code == 2 and "there is no turn 7" in wrong.stderr and "turns 1 to 1" in wrong.stderr


def test_a_program_that_steers_an_agent_and_its_person_ask_with_a_slash_command(skillkit_cli, llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    llm_server.script(Reply(text="1"), Reply(text="2"))
    options = ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop"]

    async def talk(*more):
        client = RpcClient([*options, *more], argv=[*skillkit_cli.program, "rpc"], cwd=skillkit_cli.home.cwd)
        async with asyncio.timeout(60), client:
            await client.prompt("one")
            await client.prompt("two")
            assert "why" in {command.name for command in await client.commands()}
            return [(await client.command(line)).text for line in ("/why", "/why 1 2")]

    last, _ = asyncio.run(talk("--no-session"))
    assert not (skillkit_cli.home.data_dir / "why").exists(), "a session that no file keeps leaves no file"
    assert last.startswith("Turn 2 of 2") and "“two”" in last and "read" in last and "web_fetch" in last
    llm_server.script(Reply(text="1"), Reply(text="2"))
    last, between = asyncio.run(talk())
    assert last.startswith("Turn 2 of 2") and "“two”" in last and "read" in last and "web_fetch" in last
    assert "From turn 1 to turn 2" in between and "system, tools, withheld, skills" in between
