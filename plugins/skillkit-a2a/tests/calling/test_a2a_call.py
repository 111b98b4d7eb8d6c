"""``skillkit a2a call``, against an agent in plain HTTP."""

from __future__ import annotations

import json

import pytest
from a2a_raw_peer import RawPeer


@pytest.fixture
def settings(skillkit_home):
    """Writes the settings of the user: who may be called, and an agent."""

    def write(base, **agent):
        client = {"allow": [base.removeprefix("http://")], "agents": {"far": {"url": base, **agent}}}
        skillkit_home.write_config(json.dumps({"a2a": {"client": client}}))

    return write


def test_a_task_is_given_by_name_or_address_and_its_answer_is_printed(skillkit_cli, skillkit_home, peer, settings):
    settings(peer.base)
    assert skillkit_cli("a2a", "call", "far", "hello there").ok().stdout == "echo: hello there\n"
    told = skillkit_cli("a2a", "call", peer.base, "hello", "--follow", "--json").ok()
    assert told.json["state"] == "completed" and told.json["artifacts"][0]["text"] == "echo: hello"
    assert told.json["agent"] == "far" and told.stderr.splitlines()[-1] == "t2 completed"
    assert peer.messages[0]["metadata"]["skillkit.hops"] == 1
    skillkit_home.write_config("")
    for allow in (peer.base[7:], f'["{peer.base[7:]}"]', f"a.example, {peer.base[7:]}"):  # as a variable has a list
        env = {"SKILLKIT_A2A__CLIENT__ALLOW": allow}
        assert skillkit_cli("a2a", "call", peer.base, "hi", env=env).ok().stdout == "echo: hi\n"


def test_what_an_agent_asks_is_answered_with_its_task(skillkit_cli, peer, settings):
    settings(peer.base)
    asked = skillkit_cli("a2a", "call", "far", "choose one")
    assert (asked.exit_code, asked.stdout) == (1, "Question 1? (allow / deny)\n")
    assert 'skillkit a2a call far --task t1 "..."' in asked.stderr
    again = skillkit_cli("a2a", "call", "far", "--task", "t1", "--json")  # nothing is sent: it still asks
    assert again.exit_code == 1 and again.json["question"]["questions"][0]["text"] == "Question 1?"
    assert skillkit_cli("a2a", "call", "far", "--task", "t1", "deny").ok().stdout == "answered: deny\n"
    assert [m.get("taskId") for m in peer.messages] == [None, "t1"]


def test_what_goes_wrong_is_one_line_and_the_task_is_kept(skillkit_cli, skillkit_home, peer, settings):
    settings(peer.base)
    client = json.loads((skillkit_home.config_dir / "config.yaml").read_text())["a2a"]["client"]
    skillkit_home.write_config(json.dumps({"a2a": {"client": {**client, "wait": 0.2}}}))
    silent = skillkit_cli("a2a", "call", "far", "work", "--json")
    assert silent.exit_code == 1 and silent.json["error"] == "silent" and silent.json["task"] == "t1"
    assert "the task is kept: skillkit a2a call far --task t1" in silent.stderr
    peer.go.set()
    assert skillkit_cli("a2a", "call", "far", "--task", "t1").ok().stdout == "worked\n"
    for args, words in {
        ("nobody", "x"): "there is no agent 'nobody'",
        ("http://10.0.0.1", "x"): "without TLS",
        ("https://10.0.0.1", "x"): "private or local address",
        ("far/fly", "x"): "far has no skill 'fly' (its card has echo)",
        ("far", "--task", "t9"): "far knows no task t9",
    }.items():
        done = skillkit_cli("a2a", "call", *args)
        assert done.exit_code == 1 and words in done.stderr and len(done.stderr.splitlines()) == 1, str(done)
    assert skillkit_cli("a2a", "call", "far").exit_code == 2


def test_a_key_is_named_and_never_said(skillkit_cli, settings):
    with RawPeer(key=("Authorization", "Bearer s3cret-key")) as peer:
        settings(peer.base)
        refused = skillkit_cli("a2a", "call", "far", "hello")
        assert refused.exit_code == 1 and "does not let us in (HTTP 401)" in refused.stderr
        for name, args in {"named": ("--key", "FAR_KEY"), "set": ()}.items():
            if name == "set":
                settings(peer.base, key="FAR_KEY")
            given = {"FAR_KEY": "s3cret-key"}
            done = skillkit_cli("--debug", "a2a", "call", "far", "say s3cret-key", *args, "--follow", env=given).ok()
            assert done.stdout == "echo: say ***\n" and "s3cret" not in done.stdout + done.stderr
