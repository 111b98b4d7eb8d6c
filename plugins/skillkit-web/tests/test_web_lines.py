"""Shell lines of a person on the page, and texts that are found again."""

import threading

import pytest

pytest.importorskip("skillkit_bash", reason="shell lines need a runtime")


def test_a_shell_line_runs_is_told_to_every_tab_and_is_read_by_the_model_unless_a_rule_denies_it(serve, skillkit_home):
    skillkit_home.write_config('permissions: {deny: ["Bash(cat:*)"]}\n')
    with serve() as server:
        session = server.begin()
        with server.tab(session) as one, server.tab(session) as two:
            line = f"/api/s/{session}/shell"
            ran = server.post(line, {"line": "!echo from $((40 + 2)) && pwd"})
            told = [tab.until(lambda m: m["type"] == "notice")["text"] for tab in (one, two)]
            failed = server.post(line, {"line": "! exit 3"})
            denied = server.post(line, {"line": "!cat /etc/hostname"})
            none = server.post(line, {"line": "echo"})
            long = threading.Thread(target=server.post, args=(line, {"line": "!echo $$ > pid; sleep 600"}))
            long.start()
            while not (skillkit_home.cwd / "pid").exists():
                long.join(0.05)
                assert long.is_alive()
            second = server.post(line, {"line": "!echo"})
            stopped = server.post(f"/api/s/{session}/abort", {"reason": "enough"})
            long.join(30)
            one.say("hang")
            one.event("message_update")
            meanwhile = server.post(line, {"line": "!echo"})
            entries = server.post(f"/api/s/{session}/act", {"method": "entries"})[1]["entries"]

    assert ran == (200, {"ok": True}) and told == [f"! echo from $((40 + 2)) && pwd\nfrom 42\n{skillkit_home.cwd}"] * 2
    assert failed == (200, {"ok": False}) and none[0] == 400
    assert denied[0] == 400 and "the command did not run" in denied[1]["error"]
    assert (
        second[0] == meanwhile[0] == 400
        and "has to wait" in second[1]["error"]
        and stopped[0] == 200
        and not long.is_alive()
    )
    kept = [e["data"]["message"] for e in entries if e["data"].get("message", {}).get("custom_type") == "shell_line"]
    assert [m["details"]["command"] for m in kept] == [
        "echo from $((40 + 2)) && pwd",
        "exit 3",
        "echo $$ > pid; sleep 600",
    ]
    assert "stopped by the user" in kept[2]["details"]["output"]


def test_what_was_said_is_found_in_all_sessions_and_in_one(serve):
    with serve() as server:
        first, second = server.begin(), server.begin()
        for session, text in ((first, "the Blue whale"), (second, "a blue door")):
            with server.tab(session) as tab:
                tab.say(text)
                tab.event("agent_end")
        everywhere = server.get("/api/search?q=BLUE")[1]
        here = server.get(f"/api/search?q=blue&session={first}")[1]["found"]
        nothing = [server.get(f"/api/search?q={q}")[1]["found"] for q in ("", "green")]
        wrong = server.get("/api/search?q=blue&session=..%2Fx")[0]

    assert {(hit["session"], hit["title"]) for hit in everywhere["found"]} == {
        (first, "the Blue whale"),
        (second, "a blue door"),
    }
    assert everywhere["unread"] == 0 and {hit["session"] for hit in here} == {first} and len(here) >= 2
    assert nothing == [[], []] and wrong == 400
