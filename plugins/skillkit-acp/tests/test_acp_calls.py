"""Calls as an editor sees them: asked about, changed files as diffs, its texts and terminals, forms, plans, its MCP servers."""

import asyncio
import json
import sys

import pytest
from skillkit_live import RpcClient, protocol

from skillkit_core import AgentRunner, Host, SessionLocked

ALLOW = ("--permission-mode", "bypass")


@pytest.fixture(scope="module", autouse=True)
def _sdk():
    """Import with the first test what takes long, and not where tests are collected."""
    global s
    from acp import schema as s


def uses(*calls):
    """Return what makes the model call tools, one after the other."""
    return "use " + json.dumps(calls)


def ends(editor):
    """Return the last status of each call."""
    found = {}
    for update in (*editor.of("tool_call"), *editor.of("tool_call_update")):
        found[update.tool_call_id] = update.status or found.get(update.tool_call_id)
    return list(found.values())


@pytest.mark.smoke
def test_a_call_is_shown_asked_about_and_decided_once_always_or_not_at_all(with_editor, tmp_path):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        for choice in ("deny", None, "allow", "allow session", "allow"):
            editor.choose = choice
            await editor.say(session, "pay 5")
        return editor

    editor = with_editor(work)
    call, options = editor.asked[0]
    assert [(o.kind, o.option_id) for o in options] == [
        ("allow_once", "allow"), ("allow_always", "allow session"), ("reject_once", "deny"),
    ]  # fmt: skip
    assert call.raw_input == {"amount": 5} and "Pay 5 euros?" in call.content[-1].content.text
    assert len(editor.asked) == 4  # the fifth was allowed with the fourth
    assert ends(editor) == ["failed", "failed", "completed", "completed", "completed"]
    assert "a person said no" in editor.text() and "left the question without an answer" in editor.text()
    kinds = [u.session_update for _, u in editor.updates if getattr(u, "tool_call_id", "") == call.tool_call_id]
    assert kinds[0] == "tool_call" and call.tool_call_id == editor.of("tool_call")[0].tool_call_id


def test_a_question_that_somebody_else_answers_first_is_over(with_editor, tmp_path, skillkit_home):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        asked = asyncio.Event()

        async def wait(_):
            asked.set()
            await asyncio.Event().wait()

        async def allow(call):
            return protocol.ApproveResult(decision="allow")

        editor.on_ask = wait
        prompt = asyncio.ensure_future(editor.say(session, "pay 7"))
        await asked.wait()
        agent = AgentRunner(host=Host(cwd=tmp_path), session=session)
        with pytest.raises(SessionLocked) as locked:
            await agent.open()
        async with RpcClient(endpoint=locked.value.owner.endpoint, on_approve=allow) as other:
            first = await prompt
            await other.prompt("hello from elsewhere")
            await editor.heard(lambda: "You said: hello from elsewhere" in editor.text())
        await agent.host.aclose()
        return first, editor

    first, editor = with_editor(work)
    assert first.stop_reason == "end_turn" and "done: paid 7" in editor.text()
    assert editor.text("user_message_chunk") == "hello from elsewhere"


def test_a_question_waits_while_no_editor_is_there_and_is_asked_again_on_loading(with_editor, tmp_path):
    async def first(editor, hello):
        session = await editor.begin(tmp_path)
        asked = asyncio.Event()

        async def wait(_):
            asked.set()
            await asyncio.Event().wait()

        editor.on_ask = wait
        asyncio.ensure_future(editor.say(session, "pay 9")).add_done_callback(lambda task: task.exception())
        await asked.wait()
        return session

    async def second(editor, hello):
        await editor.agent.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
        await editor.heard(lambda: "done: paid 9" in editor.text())
        return editor

    session = with_editor(first)
    editor = with_editor(second)
    assert editor.asked[0][0].raw_input == {"amount": 9} and ends(editor) == ["completed"]
    assert len(editor.of("tool_call")) == 1


def test_a_cancelled_question_ends_the_prompt_and_runs_nothing(with_editor, tmp_path):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        editor.on_ask = lambda session: editor.agent.cancel(session_id=session)
        editor.choose = None
        ended = await editor.say(session, "pay 5")
        return ended, editor

    ended, editor = with_editor(work)
    assert ended.stop_reason == "cancelled" and "paid" not in editor.text() and ends(editor) == ["failed"]


def test_without_approvals_nobody_is_asked(with_editor, tmp_path):
    async def work(editor, hello):
        await editor.say(await editor.begin(tmp_path), "pay 5")
        return editor

    editor = with_editor(work, "--approvals", "deny")
    assert editor.asked == [] and "answers no approvals" in editor.text()


def test_changes_are_diffs_before_they_are_made_and_afterwards(with_editor, tmp_path):
    (tmp_path / "old.txt").write_text("".join(f"line {n}\n" for n in range(40)))
    edits = [{"old": "line 3\n", "new": "three\n"}, {"old": "line 38\nline 39\n", "new": "the end"}]

    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        await editor.say(
            session,
            uses(("edit", {"path": "old.txt", "edits": edits}), ("write", {"path": "new/n.txt", "content": "new\n"})),
        )
        return editor

    editor = with_editor(work)
    shown = [[c for c in call.content if c.type == "diff"] for call, _ in editor.asked]
    done = [
        [c for c in u.content if c.type == "diff"] for u in editor.of("tool_call_update") if u.status == "completed"
    ]
    assert shown == done and [len(diffs) for diffs in shown] == [2, 1]
    first, second = shown[0]
    assert first.path == str(tmp_path / "old.txt") and "line 3\n" in first.old_text and "three\n" in first.new_text
    assert second.new_text.endswith("line 37\nthe end")
    assert (shown[1][0].old_text, shown[1][0].new_text) == (None, "new\n")
    assert [call.kind for call, _ in editor.asked] == ["edit", "edit"]
    assert editor.asked[0][0].locations[0].path == str(tmp_path / "old.txt")


def test_files_are_read_as_the_editor_has_them_and_written_through_it(with_editor, tmp_path):
    path = tmp_path / "open.txt"
    path.write_text("saved\r\nlast\r\n", newline="")

    async def work(editor, hello):
        editor.texts[str(path)] = "typed\nlast\n"
        session = await editor.begin(tmp_path)
        await editor.say(
            session, uses(("read", {"path": "open.txt"}), ("edit", {"path": "open.txt", "old": "last", "new": "end"}))
        )
        return editor

    editor = with_editor(work, files=True)
    assert "typed" in editor.text() and "saved" not in editor.text()
    (diff,) = [c for c in editor.asked[0][0].content if c.type == "diff"]
    assert (diff.old_text, diff.new_text) == ("typed\nlast\n", "typed\nend\n")
    assert editor.written == {str(path): "typed\r\nend\r\n"} and path.read_bytes() == b"typed\r\nend\r\n"


def test_commands_run_in_terminals_of_the_editor_with_a_clean_environment(with_editor, tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_EDITOR", "hunter2")
    lines = ("echo hello; pwd; cat; echo [$A_SECRET_OF_THE_EDITOR]; exit 3", "sleep 600")

    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        await editor.say(
            session, uses(("bash", {"command": lines[0]}), ("bash", {"command": lines[1], "timeout": 0.3}))
        )
        return editor

    editor = with_editor(work, *ALLOW, terminal=True)
    assert f"hello\n{tmp_path}\n[]\n[exit code 3]" in editor.text() and "timed out" in editor.text()
    shown = [c.terminal_id for u in editor.of("tool_call_update") for c in u.content or () if c.type == "terminal"]
    assert list(dict.fromkeys(shown)) == ["terminal-0", "terminal-1"]
    assert [kept[2] for kept in editor.terminals.values()] == [True, True]
    assert ends(editor) == ["failed", "failed"] and editor.of("tool_call")[0].kind == "execute"


def test_nothing_is_asked_of_an_editor_that_it_does_not_offer(with_editor, tmp_path):
    (tmp_path / "a.txt").write_text("a")

    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        await editor.say(
            session,
            uses(("read", {"path": "a.txt"}), ("bash", {"command": "echo hi; sleep 0.1; echo ho"}), ("ask", {})),
        )
        return editor

    editor = with_editor(work, *ALLOW)
    assert editor.written == {} and editor.terminals == {} and editor.forms == []
    assert "nobody answered" in editor.text() and "hi\nho" in editor.text()
    live = [u for u in editor.of("tool_call_update") if u.content and u.status is None]
    assert live and live[0].content[0].content.text.startswith("hi")


def test_a_survey_is_a_form_asked_again_until_it_fits_and_never_for_secrets(with_editor, tmp_path):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        editor.form = [{"city": "Paris", "sure": True}, {"city": "Oslo", "extras": ["Meal"], "sure": True}, None]
        await editor.say(session, uses(("ask", {})))
        await editor.say(session, uses(("ask", {})))
        await editor.say(session, uses(("ask", {"secret": True})))
        return editor

    editor = with_editor(work, forms=True)
    (message, schema), (again, _), _ = editor.forms
    assert message == "A journey\nBefore I book." and "must be one of Rome, Oslo" in again
    assert schema["properties"]["city"]["oneOf"][1]["const"] == "Oslo" and schema["required"] == ["city", "sure"]
    assert schema["properties"]["extras"]["items"]["anyOf"][0]["const"] == "Seat"
    assert '"city": "Oslo", "extras": ["Meal"], "sure": true' in editor.text()
    assert editor.text().count("nobody answered") == 2 and "a secret is asked for" in editor.text()


def test_the_list_of_tasks_is_the_plan(with_editor, tmp_path):
    tasks = [
        {"task": "look", "state": "done"},
        {"task": "change", "state": "doing"},
        {"task": "test", "state": "pending"},
    ]

    async def work(editor, hello):
        await editor.say(await editor.begin(tmp_path), uses(("tasks", {"tasks": tasks})))
        return editor

    entries = with_editor(work).of("plan")[-1].entries
    assert [(e.content, e.status) for e in entries] == [
        ("look", "completed"),
        ("change", "in_progress"),
        ("test", "pending"),
    ]


SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        r["serverInfo"] = {"name": "s", "version": "1"}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "shout", "description": "Shout.", "inputSchema": {"type": "object"}}]}
    elif m["method"] == "tools/call":
        import os
        r = {"content": [{"type": "text", "text": "HEY " + os.environ["WHO"]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def test_mcp_servers_of_the_editor_are_connected_and_the_broken_one_is_named(with_editor, tmp_path):
    (tmp_path / "server.py").write_text(SERVER)
    good = s.McpServerStdio(
        name="loud",
        command=sys.executable,
        args=[str(tmp_path / "server.py")],
        env=[s.EnvVariable(name="WHO", value="you")],
    )
    bad = s.McpServerStdio(name="broken", command=str(tmp_path / "nothing"), args=[], env=[])

    async def work(editor, hello):
        new = await editor.agent.new_session(cwd=str(tmp_path), mcp_servers=[good, bad])
        await editor.say(new.session_id, uses(("mcp__loud__shout", {})))
        return editor

    editor = with_editor(work)
    assert len(editor.asked) == 1 and "HEY you" in editor.text()
    assert "the MCP server 'broken' cannot be used" in editor.text()
