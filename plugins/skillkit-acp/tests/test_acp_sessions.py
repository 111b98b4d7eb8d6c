"""Sessions of an editor: begun, spoken in, cancelled, listed, loaded, chosen in."""

import asyncio
import base64
import json
import subprocess

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture(scope="module", autouse=True)
def _sdk():
    """Import with the first test what takes long, and not where tests are collected."""
    global acp, s
    import acp
    from acp import schema as s


@pytest.mark.smoke
def test_an_answer_arrives_as_it_is_said_with_thoughts_apart_and_what_it_used(with_editor, tmp_path):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        ended = await editor.say(session, "think")
        return hello, ended, editor

    hello, ended, editor = with_editor(work)
    assert hello.agent_info.name == "skillkit" and hello.agent_capabilities.load_session
    assert (ended.stop_reason, editor.text(), editor.text("agent_thought_chunk")) == (
        "end_turn",
        "Four.",
        "Two and two.",
    )
    assert editor.of("usage_update")[-1].size == 100_000
    assert editor.of("session_info_update")[-1].title == "think"


def test_a_conversation_is_cancelled_fails_and_goes_on(with_editor, tmp_path):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        hangs = asyncio.ensure_future(editor.say(session, "hang"))
        await editor.heard(lambda: "I begin" in editor.text())
        with pytest.raises(acp.RequestError, match="answers another prompt"):
            await editor.say(session, "hello")
        await editor.agent.cancel(session_id=session)
        reasons = [(await hangs).stop_reason]
        with pytest.raises(acp.RequestError, match="the model refuses"):
            await editor.say(session, "fail")
        reasons += [(await editor.say(session, text)).stop_reason for text in ("long", "hello")]
        return reasons, editor.text()

    reasons, text = with_editor(work)
    assert reasons == ["cancelled", "max_tokens", "end_turn"] and text.endswith("You said: hello")


def test_a_session_is_listed_by_its_folder_and_loaded_with_all_that_was_said(with_editor, tmp_path):
    async def first(editor, hello):
        session = await editor.begin(tmp_path)
        await editor.say(session, "pay 5", acp.image_block(base64.b64encode(PNG).decode(), "image/png"))
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        other = await editor.begin(elsewhere)
        await editor.say(other, "hello")
        here = (await editor.agent.list_sessions(cwd=str(tmp_path))).sessions
        every = (await editor.agent.list_sessions()).sessions
        return session, other, here, every

    session, other, here, every = with_editor(first)
    assert [(row.session_id, row.title) for row in here] == [(session, "pay 5")]
    assert {row.session_id for row in every} == {session, other}

    async def second(editor, hello):
        with pytest.raises(acp.RequestError, match="no-such"):
            await editor.agent.load_session(cwd=str(tmp_path), session_id="no-such", mcp_servers=[])
        await editor.agent.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
        loaded = list(editor.updates)
        ended = await editor.say(session, "seen")
        await editor.agent.close_session(session_id=session)
        with pytest.raises(acp.RequestError, match="is open here"):
            await editor.say(session, "hello")
        return loaded, ended, editor.text()

    loaded, ended, text = with_editor(second)
    kinds = [update.session_update for _, update in loaded]
    wanted = [
        "user_message_chunk",
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert [kind for kind in kinds if kind in wanted] == wanted
    assert loaded[kinds.index("tool_call_update")][1].status == "completed"
    assert ended.stop_reason == "end_turn" and "ImageBlock" in text and "pay 5 / seen" in text


def test_files_are_mentioned_where_they_stand_attached_before_the_text_and_embedded_behind_it(with_editor, tmp_path):
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "picture.png").write_bytes(PNG)

    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        link = s.ResourceContentBlock(type="resource_link", name="a", uri=(tmp_path / "a.py").as_uri())
        image = s.ResourceContentBlock(type="resource_link", name="p", uri=(tmp_path / "picture.png").as_uri())
        text = s.TextResourceContents(uri="file:///else/where.txt#L3-5", text="three\n")
        embedded = s.EmbeddedResourceContentBlock(type="resource", resource=text)
        await editor.say(session, "seen fix ", link, acp.text_block("as in "), embedded)
        inline = editor.text()
        editor.updates.clear()
        await editor.say(session, "hello", image)
        await editor.agent.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
        return inline, editor.text(), editor.text("user_message_chunk")

    inline, attached, replayed = with_editor(work)
    assert "seen fix @a.py as in @/else/where.txt (lines 3-5)" in inline
    assert '<context ref="file:///else/where.txt#L3-5">\nthree' in inline
    assert "You said: @picture.png\n\nhello" in attached
    assert "seen fix @a.py" in replayed and "<context" not in replayed


def test_modes_models_and_thinking_are_chosen_and_the_editor_sees_what_a_command_changes(with_editor, tmp_path):
    async def work(editor, hello):
        new = await editor.agent.new_session(cwd=str(tmp_path), mcp_servers=[])
        session = new.session_id
        await editor.agent.set_session_mode(session_id=session, mode_id="plan")
        await editor.agent.set_session_mode(session_id=session, mode_id="read-only")
        await editor.say(session, "/mode accept-edits")
        chosen = await editor.agent.set_config_option(session_id=session, config_id="model", value="obeys/other")
        levels = await editor.agent.set_config_option(session_id=session, config_id="thinking", value="high")
        for option, value in (("model", "nobody/knows"), ("thinking", "hard"), ("colour", "red")):
            with pytest.raises(acp.RequestError):
                await editor.agent.set_config_option(session_id=session, config_id=option, value=value)
        with pytest.raises(acp.RequestError, match="unknown mode"):
            await editor.agent.set_session_mode(session_id=session, mode_id="fly")
        await editor.heard(lambda: editor.of("available_commands_update"))
        return new, chosen, levels, editor

    new, chosen, levels, editor = with_editor(work)
    assert {"ask", "accept-edits", "read-only", "bypass", "plan"} == {mode.id for mode in new.modes.available_modes}
    assert [update.current_mode_id for update in editor.of("current_mode_update")] == [
        "plan",
        "read-only",
        "accept-edits",
    ]
    now = {option.id: option.current_value for option in levels.config_options}
    assert now == {"mode": "accept-edits", "model": "obeys/other", "thinking": "high"}
    assert {o.id: o.current_value for o in chosen.config_options}["thinking"] == "default"
    names = [command.name for command in editor.of("available_commands_update")[0].available_commands]
    assert "compact" in names and "new" not in names and "Mode: accept-edits" in editor.text()


def test_what_a_folder_brings_counts_once_the_person_trusts_it_and_the_editor_says_so(with_editor, tmp_path):
    (tmp_path / ".skillkit").mkdir()
    (tmp_path / ".skillkit" / "config.yaml").write_text("limits: {turns: 3}\n")

    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        await editor.say(session, "hello")
        return editor.text()

    assert "brings does not count: .skillkit/config.yaml; /trust shows it" in with_editor(work)


def test_commands_that_are_unknown_or_for_terminals_are_answered_in_words(with_editor, tmp_path):
    async def work(editor, hello):
        session = await editor.begin(tmp_path)
        reasons = [
            (await editor.say(session, line)).stop_reason
            for line in ("/nonsense", "/new", "/etc/hosts is wrong", "/session")
        ]
        return session, reasons, editor.text()

    session, reasons, text = with_editor(work)
    assert reasons == ["end_turn"] * 4
    assert "unknown slash command 'nonsense'" in text and "another conversation in the editor" in text
    assert "You said: /etc/hosts is wrong" in text and f"Session {session}" in text


def test_stdout_holds_the_protocol_alone_whatever_comes_and_the_end_of_stdin_ends_it(acp_argv, tmp_path):
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 7}},
        "{no json", [1], 7,
        {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "not/absolute", "mcpServers": []}},
        {"jsonrpc": "2.0", "id": 2, "method": "session/dance", "params": {}},
        {"jsonrpc": "2.0", "id": 3, "method": "session/new", "params": {"cwd": str(tmp_path), "mcpServers": []}},
    ]  # fmt: skip
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    process = subprocess.Popen(
        acp_argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(text)
    process.stdin.flush()
    found = {}
    while 3 not in found:
        message = json.loads(process.stdout.readline())
        found[message.get("id")] = message
    rest, told = process.communicate(timeout=30)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert found[0]["result"]["protocolVersion"] == 1 and found[3]["result"]["sessionId"]
    assert (found[1]["error"]["code"], found[2]["error"]["code"]) == (-32602, -32601)
    assert "must be absolute" in found[1]["error"]["message"]
    assert process.returncode == 0 and "a plugin prints" in told and "Traceback" not in told


def test_files_on_the_disk_are_no_wire(skillkit_cli, acp_argv, tmp_path):
    (tmp_path / "in").write_text("")
    with (tmp_path / "in").open() as file:
        done = subprocess.run(acp_argv, stdin=file, capture_output=True, text=True, timeout=60)
    nothing = subprocess.run(acp_argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    for ended in (done, nothing):
        assert ended.returncode == 2 and "over pipes" in ended.stderr and "Traceback" not in ended.stderr
