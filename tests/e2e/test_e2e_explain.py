"""``skillkit run --explain``: which skill is chosen and why, with the stand-in and with a model; nothing runs."""

import json
import re

from skillkit_testkit.turns import Call, Reply


def put(home, name, extra=""):
    folder = home.config_dir / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: Count the words of a poem.\n{extra}---\nBe kind.\n"
    )


def explained(skillkit_cli, *words):
    return skillkit_cli("run", "--json", "--explain", *words)


def test_the_stand_in_says_why_it_chooses_and_what_else_is_near(skillkit_cli, skillkit_home):
    (skillkit_home.cwd / "notes.txt").write_text("one two")
    found = explained(skillkit_cli, "how many words does notes.txt have").ok().json
    assert found["asked"] == "offline"
    assert [(call["skill"], call["arguments"]) for call in found["calls"]] == [("text-stats", {"file": "notes.txt"})]
    offline, search = found["explanations"]
    assert (offline["by"], offline["chosen"]) == ("offline", "text-stats stats")
    assert "file: 'notes.txt'" in offline["why"] and offline["near"][0]["why"] == "chosen"
    others = {one["name"]: one["why"] for one in offline["near"][1:]}
    assert "misses word" in others["text-stats occurrences"]
    assert search["by"] == "search" and search["near"][0]["name"] == "text-stats"
    text = skillkit_cli("run", "--explain", "how many words does notes.txt have").ok().stdout
    assert text.startswith("offline calls text-stats__stats(notes.txt)\n\noffline: text-stats stats\n  every word")
    assert not skillkit_cli("sessions", "list", "--json").ok().json, "nothing is kept"


def test_it_says_what_decided_against_an_action_with_a_higher_score(skillkit_cli, skillkit_home):
    (skillkit_home.cwd / "notes.txt").write_text("one\n\ntwo\n")
    block = {
        "keywords": ["lines", "count"],
        "examples": ["how many lines does notes.txt have"],
        "actions": [{"name": "count", "run": "wc -l {file}", "args": {"file": "file"}, "confirm": "never"}],
    }
    put(skillkit_home, "line-count", f"metadata: {{skillkit: {json.dumps(block)}}}\n")
    offline = explained(skillkit_cli, "how many lines does notes.txt have").ok().json["explanations"][0]
    assert offline["chosen"] == "line-count count"
    scores = {one["name"]: one["score"] for one in offline["near"]}
    assert scores["text-stats stats"] > scores["line-count count"]
    assert all(one["why"] for one in offline["near"])
    reason = "the request is an example of line-count"
    assert {one["name"]: one["why"] for one in offline["near"]}["text-stats stats"] == reason
    assert f"text-stats stats has a higher score, but {reason}" in offline["why"]
    assert "fits as well" not in str(offline)


def test_an_example_is_of_the_action_that_it_stands_with(skillkit_cli):
    """What a request is refused with can be asked for."""
    said = skillkit_cli("run", "zebra price of things in unknown").stderr
    shown = re.findall(r"^- (\S+ \S+): .*\n  For example: (.+)$", said, re.M)
    assert {name for name, _ in shown} == {"csv-stats count", "csv-stats rows", "csv-stats summary"}
    for name, example in shown:
        offline = explained(skillkit_cli, example).json["explanations"][0]
        assert offline["near"] and name in (offline["chosen"], offline["near"][0]["name"]), (name, example)


def test_where_nothing_fits_it_says_what_is_missing(skillkit_cli):
    done = explained(skillkit_cli, "how many words")
    assert done.exit_code == 1 and done.json["calls"] == []
    offline = done.json["explanations"][0]
    assert offline["chosen"] is None and "missing: file" in offline["why"]
    done = skillkit_cli("run", "--explain", "sing a song about rain")
    assert done.exit_code == 1 and 'not understood: "sing"' in done.stdout


def test_a_skill_that_no_model_is_offered_is_near_with_the_reason(skillkit_cli, skillkit_home):
    put(skillkit_home, "poem-words", "metadata: {skillkit: {requires: {bins: [no-such-program-xyz]}}}\n")
    search = explained(skillkit_cli, "count the words of a poem").json["explanations"][1]
    assert search["near"][0]["name"] == "poem-words"
    assert search["near"][0]["why"] == "not offered: missing-bin:no-such-program-xyz"


def test_a_model_is_asked_once_and_its_call_does_not_run(skillkit_cli, skillkit_home, llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    put(skillkit_home, "poem-words")
    llm_server.script(Reply(tool_calls=[Call("activate_skill", {"name": "poem-words"})]))
    found = (
        explained(
            skillkit_cli, "--provider", "openai", "--base-url", llm_server.openai_url, "--model", "m", "count them"
        )
        .ok()
        .json
    )
    assert found["asked"] == "openai" and found["calls"][0]["arguments"] == {"name": "poem-words"}
    llm_server.check()


def test_an_action_that_is_named_is_not_explained(skillkit_cli):
    done = skillkit_cli("run", "--explain", "--skill", "calculate", "evaluate", "1+1")
    assert done.exit_code == 2 and "--explain is about requests" in done.stderr
