"""Taking back: files, conversation or both, across branches, and what is said of what cannot be restored."""

import os

import pytest
import skillkit_commands.plugin
import skillkit_sessions.plugin
from skillkit_commands import SlashCommands
from skillkit_files.kept_contents import Kept
from skillkit_files.rewind import rewind

from skillkit_core import AgentConfig, AgentRunner, Tool, UsageError
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

REPLACE = "*** Begin Patch\n*** Delete File: d/b.txt\n*** Add File: c.txt\n+c\n*** End Patch"


async def bash(args, ctx):
    (ctx.cwd / "made").write_text("by a command")
    return "done"


COMMAND = Tool("bash", "Run a command.", bash, {"type": "object", "properties": {"command": {"type": "string"}}})


async def say(agent, text, *calls):
    agent.set_adapter(ScriptedModel([*([Reply(calls=[Call(n, a) for n, a in calls])] if calls else []), "done"]))
    await agent.chat(text)


def said(agent, text):
    """The entry of a message of the person."""
    return next(
        e
        for e in agent.session.entries
        if e.type == "message"
        and e.data["message"]["role"] == "user"
        and e.data["message"]["content"][0]["text"] == text
    )


def tree(work):
    return {str(p.relative_to(work)): p.read_text() for p in sorted(work.rglob("*")) if p.is_file()}


@pytest.mark.smoke
async def test_files_and_conversation_go_back_to_before_a_message(agent_in, work):
    (work / "a.txt").write_text("one\n")
    os.chmod(work / "a.txt", 0o640)
    async with agent_in(work) as agent:
        await say(
            agent,
            "first",
            ("edit", {"path": "a.txt", "old": "one", "new": "two"}),
            ("write", {"path": "d/b.txt", "content": "b\n"}),
        )
        await say(agent, "second", ("edit", {"path": "a.txt", "old": "two", "new": "three"}),
                  ("apply_patch", {"patch": REPLACE}))  # fmt: skip
        assert tree(work) == {"a.txt": "three\n", "c.txt": "c\n"}
        report = await rewind(agent, said(agent, "second").parent_id)
        assert tree(work) == {"a.txt": "two\n", "d/b.txt": "b\n"}
        assert sorted(report.restored) == ["a.txt", "c.txt", "d/b.txt"] and not report.refused
        assert [m.text for m in agent.messages if m.role == "user"] == ["first"]
        await rewind(agent, None)
        assert tree(work) == {"a.txt": "one\n"} and agent.messages == ()
        assert os.stat(work / "a.txt").st_mode & 0o777 == 0o640


async def test_a_rewind_can_itself_be_taken_back_by_going_to_the_other_branch(agent_in, work):
    async with agent_in(work) as agent:
        await say(agent, "first", ("write", {"path": "a", "content": "1"}))
        await say(agent, "second", ("write", {"path": "a", "content": "2"}), ("write", {"path": "b", "content": "2"}))
        end = agent.session.leaf_id
        await rewind(agent, said(agent, "second").parent_id)
        assert tree(work) == {"a": "1"}
        await say(agent, "instead", ("write", {"path": "c", "content": "3"}))
        await rewind(agent, end)
        assert tree(work) == {"a": "2", "b": "2"}
        await rewind(agent, said(agent, "instead").parent_id)
        assert tree(work) == {"a": "1"}


async def test_files_alone_and_conversation_alone(agent_in, work):
    async with agent_in(work) as agent:
        await say(agent, "first", ("write", {"path": "a", "content": "1"}))
        await say(agent, "second", ("write", {"path": "a", "content": "2"}))
        before = said(agent, "second").parent_id
        await rewind(agent, before, conversation=False)
        assert tree(work) == {"a": "1"}
        assert [m.text for m in agent.messages if m.role == "user"] == ["first", "second"]
        await rewind(agent, before, files=False)
        assert tree(work) == {"a": "1"}
        assert [m.text for m in agent.messages if m.role == "user"] == ["first"]
        await say(agent, "third", ("edit", {"path": "a", "old": "1", "new": "3"}))
        assert tree(work) == {"a": "3"}


async def test_what_cannot_be_restored_is_said(agent_in, work):
    (work / "big").write_text("x" * 3000)
    async with agent_in(work, settings={"files.keep_file": 2000}, tools=(COMMAND,)) as agent:
        await say(
            agent, "go", ("write", {"path": "mine", "content": "1"}), ("write", {"path": "theirs", "content": "1"}),
            ("read", {"path": "big"}), ("write", {"path": "big", "content": "small"}), ("bash", {"command": "touch made"}),
        )  # fmt: skip
        (work / "theirs").write_text("somebody's")
        report = await rewind(agent, None)
        assert report.lines == [
            "Now at the start. What followed is kept as a branch.",
            "Restored mine",
            "Not restored big: its content was too large to be kept",
            "Not restored theirs: it was changed since by somebody else",
            "What these calls changed is not restored: bash (touch made)",
        ]
    assert tree(work) == {"big": "small", "made": "by a command", "theirs": "somebody's"}


async def test_a_link_in_the_way_is_not_followed(agent_in, work, tmp_path):
    (tmp_path / "outside").mkdir()
    async with agent_in(work) as agent:
        await say(agent, "go", ("write", {"path": "d/a", "content": "1"}))
        (work / "d/a").rename(tmp_path / "outside/a")
        (work / "d").rmdir()
        (work / "d").symlink_to(tmp_path / "outside")
        report = await rewind(agent, None)
    assert report.refused == [("d/a", "'d/a' is outside of the workspace")] or report.refused[0][0] == "d/a"
    assert (tmp_path / "outside/a").read_text() == "1"


async def test_a_link_that_a_patch_removed_comes_back(agent_in, work):
    (work / "real").write_text("x")
    (work / "link").symlink_to("real")
    async with agent_in(work) as agent:
        await say(agent, "go", ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: link\n*** End Patch"}))
        assert os.listdir(work) == ["real"]
        await rewind(agent, None)
    assert os.readlink(work / "link") == "real"


async def test_what_nested_agents_change_is_taken_back_with_the_conversation_that_asked_them(agent_in, work):
    async def spawn(args, ctx):
        async with AgentRunner(AgentConfig(), name="sub") as sub:
            await say(sub, "go", ("write", {"path": args["path"], "content": "sub"}))
        return "done"

    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    async with agent_in(
        work, tools=(Tool("spawn", "Ask an agent.", spawn, schema, annotations={"mutates": "none"}),)
    ) as agent:
        await say(agent, "go", *(("spawn", {"path": f"f{n}"}) for n in range(5)))
        assert len(tree(work)) == 5
        report = await rewind(agent, None)
        assert len(report.restored) == 5 and tree(work) == {}


async def test_rewind_is_a_slash_command_that_asks(agent_in, work):
    user = ScriptedUser(lambda survey: {"entry": survey.questions[0].options[0].value, "what": "files"})
    async with agent_in(work, ("commands", skillkit_commands.plugin)) as agent:
        await say(agent, "first", ("write", {"path": "a", "content": "1"}))
        await say(agent, "second", ("write", {"path": "a", "content": "2"}))
        commands = SlashCommands(agent)
        assert await commands.run(commands.match("/rewind"), user) == "Restored a"
        assert [(o.label, o.description.partition(", ")[2]) for o in user.surveys[0].questions[0].options] == [
            ("second", "1 file changed"),
            ("first", "1 file changed"),
        ]
        assert tree(work) == {"a": "1"}
        entry = said(agent, "first").id
        text = await commands.run(commands.match(f"/rewind {entry}"))
        assert text == f"Now at before {entry}. What followed is kept as a branch.\nRestored a"
        assert tree(work) == {}
        with pytest.raises(UsageError, match="nothing was said"):
            await commands.run(commands.match("/rewind"))


async def test_a_move_of_the_conversation_says_that_files_can_follow_and_changes_none(agent_in, work):
    user = ScriptedUser()
    async with agent_in(work, ("commands", skillkit_commands.plugin), ui=user) as agent:
        await say(agent, "first", ("write", {"path": "a", "content": "1"}))
        await say(agent, "second", ("write", {"path": "a", "content": "2"}))
        await agent.move_to(said(agent, "second").parent_id)
        assert tree(work) == {"a": "2"}
        assert user.notices == [
            ("info", "1 file is not as at this place of the conversation; /rewind . --files restores them.")
        ]
        commands = SlashCommands(agent)
        assert await commands.run(commands.match("/rewind . --files"), user) == "Restored a"
        assert tree(work) == {"a": "1"}


async def test_a_session_is_rewound_from_the_command_line(agent_in, work, skillkit_cli):
    async with agent_in(work, ("sessions", skillkit_sessions.plugin), session="new") as agent:
        await say(agent, "first", ("write", {"path": "a", "content": "1"}))
        await say(agent, "second", ("edit", {"path": "a", "old": "1", "new": "2"}))
        session, entry = agent.session_id, said(agent, "second").id
    listed = skillkit_cli("files", "changes", "--json").ok().json
    assert [(c["tool"], c["kind"], c["path"]) for c in listed["changes"]] == [
        ("write", "add", "a"),
        ("edit", "change", "a"),
    ]
    assert [(p["text"], p["files"]) for p in listed["points"]] == [("second", 1), ("first", 1)]
    done = skillkit_cli("sessions", "rewind", session, "--json").ok().json
    assert done == {
        "session": session,
        "moved": f"before {entry}",
        "restored": ["a"],
        "refused": [],
        "not_recorded": [],
    }
    assert tree(work) == {"a": "1"}
    shown = skillkit_cli("sessions", "rewind", session, "--files").ok().stdout
    assert shown == "Restored a\n" and tree(work) == {}
    assert skillkit_cli("sessions", "rewind", session, "e999").exit_code == 1
    assert "  rewind  Go back to before a message" in skillkit_cli("sessions", "--help").ok().stdout
    assert skillkit_cli("files", "rewind", session).exit_code == 2
    assert "what" in skillkit_cli("files", "changes", session).ok().stdout


def test_kept_contents_are_bounded_and_private(tmp_path):
    kept = Kept(tmp_path / "content", 1000, 5000)
    assert not kept.put(b"x" * 1001)
    for n in range(20):
        assert kept.put(bytes([n]) * 1000)
    files = list((tmp_path / "content").glob("*/*"))
    assert sum(p.stat().st_size for p in files) <= 5000
    assert {p.stat().st_mode & 0o777 for p in files} == {0o600}
    assert kept.get("0" * 64) is None
