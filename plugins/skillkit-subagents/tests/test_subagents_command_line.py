"""The whole way: ``skillkit run`` with a scripted server, and what ``skillkit sessions tree`` draws of it."""

import pytest
from skillkit_testkit import Call, Reply


@pytest.fixture
def run(skillkit_cli, llm_server):
    where = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    return lambda *words: skillkit_cli("run", *where, *words, env={"OPENAI_API_KEY": "key-of-the-tests"})


def test_a_run_asks_an_agent_that_asks_an_agent_and_the_tree_follows_them(run, script, skillkit_cli):
    script(
        main=[Reply(tool_calls=[Call("spawn_agent", {"task": "middle: go"})]), Reply(text="all heard")],
        middle=[Reply(tool_calls=[Call("spawn_agent", {"task": "deep: go"})]), Reply(text="middle heard")],
        deep=[Reply(tool_calls=[Call("ls", {"path": "."})]), Reply(text="deep answer")],
    )
    assert run("main: go").ok().stdout.strip() == "all heard"
    tree = skillkit_cli("sessions", "tree", "--json").ok().json
    main = tree["session"]["id"]
    assert tree["session"]["title"] == "main: go"
    middle, deep = tree["agents"]
    assert (middle["requests"], middle["tokens"], middle["title"]) == (2, 30, "agent: middle: go")
    assert (deep["requests"], deep["kept"], deep["path"][:-1]) == (2, True, middle["path"])
    below = skillkit_cli("sessions", "tree", deep["session"], "--json").ok().json
    assert below["session"]["parent_session"] == middle["session"] and below["agents"] == []
    drawn = skillkit_cli("sessions", "tree", main).ok().stdout
    assert f"\nagents\n└─ {middle['agent']}  {middle['session']}  2 requests, 30 tokens  agent: middle: go\n" in drawn
    assert f"\n   └─ {deep['agent']}  {deep['session']}" in drawn


def test_a_person_at_a_terminal_answers_one_agent_after_the_other_and_sees_who_asks(
    skillkit_cli, llm_server, script, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-tests")
    (skillkit_cli.home.config_dir / "config.yaml").write_text("tools: {allow: [bash]}\npermissions: {mode: ask}\n")
    roles = ("one", "two")
    script(
        main=[
            Reply(tool_calls=[Call("spawn_agent", {"task": f"{who}: go"}) for who in roles]),
            Reply(text="all heard"),
        ],
        **{
            who: [Reply(tool_calls=[Call("bash", {"command": f"touch {who}.txt"}, id="same")]), Reply(text="done")]
            for who in roles
        },
    )
    where = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    with skillkit_cli.terminal("run", *where, "main: go") as terminal:
        terminal.wait_for("Run it?")
        first = terminal.text
        terminal.send("y\n")
        terminal.wait_for("Run it?")
        second = terminal.text[len(first) :]
        terminal.send("n\n")
        assert terminal.wait() == 0
    agreed, refused = roles if "one.txt" in first else reversed(roles)
    assert f"touch {refused}.txt" not in first and f"touch {refused}.txt" in second
    assert "agent:" in first and "agent:" in second
    assert (skillkit_cli.home.cwd / f"{agreed}.txt").exists() and not (
        skillkit_cli.home.cwd / f"{refused}.txt"
    ).exists()
