"""Sessions on the page: begun, said in, followed by several tabs, asked in, left and come back to."""

import base64
import signal

import pytest

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


@pytest.mark.smoke
def test_an_answer_streams_and_a_tab_that_comes_back_gets_each_message_once(serve):
    with serve() as server:
        session = server.begin()
        with server.tab(session) as tab:
            assert tab.read()["type"] == "snapshot" and tab.about["here"]
            tab.say("pieces 5")
            tab.until(lambda m: m.get("event", {}).get("event", {}).get("type") == "text_delta")
            middle = tab.last
            tab.event("agent_end", outcome="completed")
            whole = tab.text()
        with server.tab(session, middle) as again:
            again.event("agent_end")
            first, rest = again.seen[0], again.text()
        with server.tab(session, "other-epoch.3") as late:
            shot = late.read()
        rows = server.get("/api/sessions")[1]["sessions"]

    assert whole == "piece0 piece1 piece2 piece3 piece4 "
    assert first["type"] == "event" and whole.endswith(rest) and rest != whole
    said = [e["data"]["message"]["role"] for e in shot["entries"] if e["type"] == "message"]
    assert shot["type"] == "snapshot" and said == ["user", "assistant"] and shot["usage"]["total"] > 0
    assert [(row["id"], row["title"], row["state"]) for row in rows] == [(session, "pieces 5", "idle")]


def test_two_tabs_see_one_question_the_first_answer_counts_and_the_change_is_shown_before(serve):
    with serve() as server:
        session = server.begin()
        with server.tab(session) as one, server.tab(session) as two:
            one.say("pay 5")
            asked = [tab.question() for tab in (one, two)]
            inbox = server.get("/api/inbox")[1]["waiting"]
            wrong = one.answer(asked[0]["id"], answers={"x": 1})
            outcomes = [tab.answer(asked[0]["id"], decision="allow")[1] for tab in (two, one)]
            told = [tab.until(lambda m: m["type"] == "question_answered") for tab in (one, two)]
            for tab in (one, two):
                tab.event("agent_end", outcome="completed")
            one.say("write hello")
            change = one.question()
            one.answer(change["id"], decision="deny", reason="not now")
            denied = one.event("agent_end")

    assert (
        asked[0] == asked[1]
        and asked[0]["questions"][0]["text"] == "Pay 5 euros?"
        and asked[0]["args"] == {"amount": 5}
    )
    assert [one["session"] for one in inbox] == [session] and wrong[0] == 400
    assert [one["outcome"] for one in outcomes] == ["taken", "late"] and told[0] == told[1]
    assert told[0]["by"]["kind"] == "web" and "done: paid 5" in one.text() and one.text().count("paid 5") == 1
    assert "+hello" in change["preview"] and change["tool"] == "write" and denied["outcome"] == "completed"


def test_a_survey_is_answered_and_a_wrong_answer_is_told(serve):
    with serve() as server:
        session = server.begin()
        with server.tab(session) as tab:
            tab.say("book")
            question = tab.question()
            wrong = tab.answer(question["id"], answers={"city": "Paris", "sure": True})
            tab.answer(question["id"], answers={"city": "Oslo", "sure": True})
            tab.event("agent_end")
            text = tab.text()

    assert question["survey"]["title"] == "A journey" and wrong[0] == 400 and "done: Oslo, True" in text


def test_words_steer_the_run_wait_behind_it_are_taken_back_and_a_run_is_stopped(serve):
    with serve() as server:
        session = server.begin()
        with server.tab(session) as tab:
            tab.say("hang")
            tab.event("message_update")
            steered = tab.say("look left")[1]["item"]
            behind = tab.say("and then", delivery="follow_up")[1]["item"]
            with server.tab(session) as other:
                queue = other.read()["queue"]
            taken = tab.act("cancel", item=behind)[1]["status"]
            unsaid = server.post(f"/api/s/{session}/abort", {})[1]["unsaid"]
            end = tab.event("agent_end")
            command = tab.act("command", line="/session")
            unknown = tab.act("command", line="/no-such-thing")
            nothing = tab.act("format_disk")

    assert [item["text"] for item in queue["steer"] + queue["follow_up"]] == ["look left", "and then"]
    assert taken == "cancelled" and [item["id"] for item in unsaid] == [steered] and end["outcome"] == "aborted"
    assert session in command[1]["text"] and unknown[0] == 404 and nothing[0] == 404


def test_a_question_outlives_the_server_and_the_tool_runs_once(serve):
    with serve() as server:
        session = server.begin()
        with server.tab(session) as tab:
            tab.say("pay 7")
            before = tab.question()
            server.end(signal.SIGKILL)
    with serve() as server:
        inbox = server.get("/api/inbox")[1]["waiting"]
        listed = server.get("/api/sessions")[1]["sessions"]
        with server.tab(session) as one, server.tab(session) as two:
            asked = [tab.question() for tab in (one, two)]
            outcomes = [tab.answer(asked[0]["id"], decision="allow")[1]["outcome"] for tab in (one, two)]
            one.event("agent_end", outcome="completed")
            text = one.text()
            one.say("pay 8")
            waits = one.until(lambda m: m["type"] == "question")
            code = server.end()  # SIGTERM: what is asked waits in the session
    with serve() as server, server.tab(session) as tab:
        later = tab.question()

    assert [(one["session"], one["question"]["args"]) for one in inbox] == [(session, before["args"])]
    assert listed[0]["waits"] and asked[0]["id"] == asked[1]["id"] == before["id"]
    assert outcomes == ["taken", "late"] and text.count("paid 7") == 1
    assert code == 0 and later["id"] == waits["question"]["id"] and later["args"] == {"amount": 8}


def test_sessions_begin_in_folders_that_are_offered_and_work_there_without_the_token(serve, tmp_path, skillkit_home):
    offered, other = tmp_path / "offered", tmp_path / "other"
    offered.mkdir()
    other.mkdir()

    with serve("--folder", str(offered)) as server:
        there = server.begin(str(offered))
        refused = server.post("/api/sessions", {"folder": str(other)})
        with server.tab(there) as tab:
            tab.say("where")
            tab.event("agent_end")
            text = tab.text()
        here = server.begin()
        with server.tab(here) as tab:
            tab.say("where")
            tab.event("agent_end")
        found = server.get("/api/sessions")[1]

    assert f"done: {offered} False" in text and refused[0] == 400
    assert {row["id"]: row["folder"] for row in found["sessions"]} == {
        there: str(offered), here: str(skillkit_home.cwd),
    }  # fmt: skip
    assert found["folders"] == [str(skillkit_home.cwd), str(offered)]


def test_images_go_in_and_come_out_as_images_and_a_body_has_a_limit(serve, skillkit_home):
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    (skillkit_home.config_dir / "config.yaml").write_text("page: {upload: 4096}\n")
    with serve() as server:
        session = server.begin()
        with server.tab(session) as tab:
            tab.say(
                "images",
                images=[{"data": PNG, "media_type": "image/png"}, {"data": PNG, "media_type": "image/svg+xml"}],
            )
            tab.event("agent_end")
            text = tab.text()
        with server.tab(session) as tab:
            entries = tab.read()["entries"]
        message = next(e["data"]["message"] for e in entries if e["type"] == "message")
        blobs = [block["blob"].removeprefix("blob:") for block in message["content"] if block["type"] == "image"]
        found = [server.ask("GET", f"/api/s/{session}/blob/{blob}") for blob in blobs]
        large = tab.say("x" * 5000)

    assert "2 images" in text
    assert [headers["content-type"] for _, headers, _ in found] == ["image/png"] * len(blobs)
    assert base64.b64decode(PNG) == found[0][2] and large[0] == 413


def test_a_session_that_is_not_there_or_whose_folder_is_gone_is_told(serve, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    with serve("--folder", str(folder)) as server:
        session = server.begin(str(folder))
        with server.tab(session) as tab:
            tab.say("hello")
            tab.event("agent_end")
    folder.rmdir()
    with serve() as server:
        with server.tab(session) as tab:
            gone = tab.read()
        with server.tab("nobody-has-this") as tab:
            unknown = tab.read()

    assert not gone["again"] and "is gone" in gone["error"]
    assert not unknown["again"] and "nobody-has-this" in unknown["error"]


def test_the_books_are_what_the_commands_of_plugins_tell(serve):
    pytest.importorskip("skillkit_why")
    with serve() as server:
        session = server.begin()
        with server.tab(session) as tab:
            tab.say("hello")
            tab.event("agent_end")
        turns = server.get(f"/api/book/turns?session={session}")
        plugins = server.get("/api/book/plugins")
        wrong = [server.get(f"/api/book/{path}")[0] for path in ("secrets", "why", "why?session=--help&turn=1")]

    assert [turn["asked"] for turn in turns[1]["turns"]] == ["hello"]
    assert {one["name"] for one in plugins[1]["plugins"]["plugins"] if one["enabled"]} >= {"web", "obeys"}
    assert wrong == [400, 400, 400]


def test_what_a_folder_brings_and_does_not_count_is_said(serve, skillkit_home):
    project = skillkit_home.cwd / ".skillkit"
    project.mkdir()
    (project / "config.yaml").write_text("limits: {turns: 3}\n")
    with serve() as server, server.tab(server.begin()) as tab:
        tab.read()
        untrusted = tab.about["untrusted"]

    assert untrusted == [str(project / "config.yaml")]
