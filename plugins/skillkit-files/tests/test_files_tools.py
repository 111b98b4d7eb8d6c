"""The tools as an agent's model calls them: results, details, guards, and what front ends draw."""

import base64
import os
import random
import sys

import pytest
import skillkit_files.plugin
import skillkit_files.read
from skillkit_files.folder import FileError, Folder
from skillkit_files.patch import paths_of
from skillkit_files.planned_changes import preview
from skillkit_files.read import read_file
from skillkit_files.text import require_text

from skillkit_core import AgentConfig, AgentRunner, Skill, ToolError, hookimpl
from skillkit_core.descriptors import Factory, load_object
from skillkit_core.events.results import ToolCallEventResult
from skillkit_core.testing import Call, Reply, ScriptedModel

PATCH = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x = 1\n+x = 2\n*** Add File: c.py\n+c\n*** End Patch"


class Guard:
    """Stands where a plugin that guards edits does: by its name."""

    @hookimpl(phase="guard")
    def before_tool_call(self, event):
        return ToolCallEventResult(block=True, reason="no") if event.annotations.get("mutates") == "files" else None


@pytest.mark.smoke
async def test_a_file_is_written_read_edited_and_searched(agent_in, work, call):
    async with agent_in(work) as agent:
        results = await call.batch(
            agent,
            ("write", {"path": "src/a.py", "content": "def run():\n    return 1\n"}),
            ("read", {"path": "src/a.py"}),
            ("edit", {"path": "src/a.py", "old": "return 1", "new": "return 2"}),
            ("grep", {"pattern": r"return \d"}),
            ("glob", {"pattern": "**/*.py"}),
            ("ls", {}),
        )
        assert [r.text for r in results] == [
            "Wrote src/a.py, a new file.",
            "     1\tdef run():\n     2\t    return 1",
            "Edited src/a.py: 1 place, from line 2 on.",
            "src/a.py\n2:    return 2",
            "src/a.py",
            "src/",
        ]
    assert (work / "src/a.py").read_text() == "def run():\n    return 2\n"


async def test_an_edit_has_a_diff_for_front_ends(agent_in, work, call):
    (work / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 30)))
    async with agent_in(work) as agent:
        result = await call(
            agent, "edit", path="a.txt", edits=[{"old": "line 7\n", "new": "seven\n"}, {"old": "line 20", "new": "x"}]
        )
        assert result.details["files"] == [{"path": "a.txt", "kind": "change", "added": 2, "removed": 2}]
        assert result.details["diff"].startswith(
            "--- a/a.txt\n+++ b/a.txt\n@@ -4,7 +4,7 @@\n line 4\n line 5\n line 6\n-line 7\n+seven\n"
        )
        assert "@@ -17,7 +17,7 @@" in result.details["diff"]


async def test_the_preview_of_a_call_is_its_diff_and_changes_nothing(agent_in, work, call):
    (work / "a.py").write_text("x = 1\n")
    async with agent_in(work) as agent:
        tool = {t.name: t for t in agent.tools}["apply_patch"]
        assert load_object(tool.annotations["preview"]) is preview
        shown = await preview(agent, "apply_patch", {"patch": PATCH})
        assert "rename from a.py\nrename to b.py\n--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n" in shown
        assert "--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+c\n" in shown
        assert sorted(os.listdir(work)) == ["a.py"]
        assert (await call(agent, "apply_patch", patch=PATCH)).details["diff"] == shown
        assert sorted(os.listdir(work)) == ["b.py", "c.py"]
        with pytest.raises(ToolError, match=r"old is not found in b\.py$"):  # what comes near it is in the file
            await preview(agent, "edit", {"path": "b.py", "old": "x = 3\n", "new": "x"})


class Editor:
    """Has a text that is not saved, and takes what is written, or not."""

    def __init__(self, texts):
        self.texts, self.taken, self.refuses = texts, {}, False

    async def read(self, path):
        return self.texts.get(path)

    async def write(self, path, text):
        if self.refuses:
            raise ToolError("it is locked")
        self.taken[path] = text


async def test_texts_that_an_editor_has_not_saved_are_read_changed_and_handed_back(agent_in, work, call):
    (work / "a.txt").write_bytes(b"saved\r\nend\r\n")
    (work / "latin.txt").write_bytes("gr\xfc\xdfe\n".encode("latin-1"))
    editor = Editor({f"{work}/a.txt": "typed\nend\n", f"{work}/latin.txt": "other\n"})
    async with agent_in(work) as agent:
        agent.configure(options={"files.editor": editor})
        assert "typed" in (await call(agent, "read", path="a.txt")).text
        assert "grüße" in (await call(agent, "read", path="latin.txt")).text  # an editor may not keep its bytes
        shown = await preview(agent, "edit", {"path": "a.txt", "old": "typed", "new": "new"})
        assert "-typed\n+new\n end\n" in shown
        patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-typed\n+new\n*** Add File: b.txt\n+b\n*** End Patch"
        assert not (await call(agent, "apply_patch", patch=patch)).is_error
        assert (work / "a.txt").read_bytes() == b"new\r\nend\r\n"
        assert editor.taken == {f"{work}/a.txt": "new\r\nend\r\n", f"{work}/b.txt": "b\n"}
        editor.texts.clear()
        editor.refuses = True
        told = await call(agent, "edit", path="b.txt", old="b", new="c")
        assert told.text.endswith("[b.txt is written, but the editor did not take it: it is locked]")
    assert (work / "b.txt").read_text() == "c\n"


async def test_facts_about_the_tools_are_annotations(agent_in, work):
    async with agent_in(work) as agent:
        facts = {
            t.name: (t.annotations["mutates"], tuple(t.annotations["paths"]), t.replay, t.sequential)
            for t in agent.tools
        }
    reads, writes = ("none", ("path",), "safe", False), ("files", ("path",), "never", True)
    assert facts == {
        "read": reads, "grep": reads, "glob": reads, "ls": reads, "write": writes, "edit": writes,
        "apply_patch": ("files", (), "never", True),
    }  # fmt: skip
    assert paths_of({"patch": PATCH}) == ["a.py", "b.py", "c.py"]


async def test_tools_that_change_files_must_be_allowed_unless_a_plugin_guards_edits(agent_in, work):
    async with agent_in(work, allow=()) as agent:
        assert [t.name for t in agent.tools] == ["glob", "grep", "ls", "read"]
    async with agent_in(work, ("permissions", Guard()), allow=()) as agent:
        assert {t.name for t in agent.tools} >= {"write", "edit", "apply_patch"}


async def test_a_failure_names_its_class_and_keeps_its_lines(agent_in, work, call):
    (work / "a.py").write_text("if x:\n        go()\n")
    async with agent_in(work) as agent:
        result = await call(agent, "edit", path="a.py", old="if x:\n    go()", new="y")
        assert result.is_error and result.details == {"error": "no_match"}
        assert result.text.splitlines()[1:] == ["     1\tif x:", "     2\t        go()"]


async def test_an_existing_file_is_not_overwritten_unread(agent_in, work, call):
    (work / "a.txt").write_text("precious\n")
    async with agent_in(work) as agent:
        result = await call(agent, "write", path="a.txt", content="x\n")
        assert result.details == {"error": "conflict"} and "read it first" in result.text
        await call(agent, "read", path="a.txt")
        assert not (await call(agent, "write", path="a.txt", content="x\n")).is_error
    assert (work / "a.txt").read_text() == "x\n"


async def test_what_an_agent_has_read_is_its_own(agent_in, work, call):
    (work / "a.txt").write_text("one\n")
    async with agent_in(work) as first, agent_in(work) as second:
        await call(first, "read", path="a.txt")
        await call(second, "edit", path="a.txt", old="one", new="two")
        result = await call(first, "edit", path="a.txt", old="two", new="three")
        assert result.details == {"error": "conflict"}


async def test_an_image_is_an_image_block(agent_in, work, call):
    data = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGMQaPgARAwQCgAmjgYB7Yr5RwAAAABJRU5ErkJggg=="
    )
    (work / "logo").write_bytes(data)
    async with agent_in(work) as agent:
        result = await call(agent, "read", path="logo")
    text, image = result.content
    assert (text.text, image.mime_type, base64.b64decode(image.data)) == (
        "logo: image/png, 73 bytes",
        "image/png",
        data,
    )


async def test_a_folder_that_becomes_a_link_between_look_and_open_leads_nowhere(work, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (work / "d").mkdir()
    (work / "d/secret").write_text("mine")
    folder = Folder(work)
    place = folder.locate("d/secret")
    (work / "d").rename(work / "old")
    (work / "d").symlink_to(tmp_path / "outside")
    with pytest.raises(FileError) as caught, folder.open(place):
        pass
    assert caught.value.code == "outside_root"
    (work / "l").write_text("mine")
    place = folder.locate("l")
    (work / "l").unlink()
    (work / "l").symlink_to(tmp_path / "outside/secret")
    with pytest.raises(FileError), folder.open(place):
        pass


async def test_a_file_that_changes_between_look_and_write_is_not_overwritten(agent_in, work, call, monkeypatch):
    from skillkit_files.changes import Changes

    (work / "a.txt").write_text("one\n")
    real = Changes.commit

    def late(self):
        (work / "a.txt").write_text("somebody's\n")
        real(self)

    monkeypatch.setattr(Changes, "commit", late)
    async with agent_in(work) as agent:
        result = await call(agent, "edit", path="a.txt", old="one", new="two")
    assert result.details == {"error": "conflict"}
    assert os.listdir(work) == ["a.txt"] and (work / "a.txt").read_text() == "somebody's\n"


async def test_a_patch_whose_last_step_fails_on_the_disk_is_undone(agent_in, work, call, monkeypatch):
    for name in ("a", "b", "c"):
        (work / name).write_text("x\n")
    real = os.rename
    steps = []

    def failing(*args, **kwargs):
        steps.extend(kwargs)
        if len(steps) == 4:
            raise OSError(28, "No space left on device")
        return real(*args, **kwargs)

    patch = (
        "".join(f"*** Update File: {n}\n@@\n-x\n+y\n" for n in "ab") + "*** Add File: new/d\n+d\n*** Delete File: c\n"
    )
    async with agent_in(work) as agent:
        monkeypatch.setattr(os, "rename", failing)
        result = await call(agent, "apply_patch", patch=f"*** Begin Patch\n{patch}*** End Patch")
    assert result.details == {"error": "too_large"}
    assert {p.name: p.read_text() for p in work.iterdir()} == {"a": "x\n", "b": "x\n", "c": "x\n"}


async def test_files_of_an_active_skill_can_be_read_and_no_others_outside(agent_in, work, call, tmp_path):
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "guide.md").write_text("guidance\n")
    async with agent_in(work) as agent:
        agent.host.skills.register("guide", Skill(name="guide", description="Guides.", path=skill))
        assert (await call(agent, "read", path=str(skill / "guide.md"))).details == {"error": "outside_root"}
        agent.configure(skills=("guide",))
        assert (await call(agent, "read", path=str(skill / "guide.md"))).text == "     1\tguidance"
        assert (await call(agent, "write", path=str(skill / "new"), content="x")).details == {"error": "outside_root"}
        assert (await call(agent, "read", path=str(skill / "../home"))).details == {"error": "outside_root"}


async def test_a_filter_of_a_plugin_leaves_files_out(agent_in, work, call):
    class Secrets:
        @hookimpl(optionalhook=True)
        def register_file_filters(self, register):
            register(Factory("no .env", lambda agent, tool: lambda path: not path.endswith("/.env")))

    (work / ".env").write_text("KEY=1\n")
    (work / "a.txt").write_text("KEY=2\n")
    async with agent_in(work, ("secrets", Secrets())) as agent:
        assert (await call(agent, "grep", pattern="KEY")).text == "a.txt\n1:KEY=2"
        assert (await call(agent, "glob", pattern="*")).text == "a.txt"
        assert (await call(agent, "grep", pattern="KEY", path=".env")).details == {"error": "permission"}


async def test_a_guard_blocks_an_edit_by_its_annotation(agent_in, work, call):
    async with agent_in(work, ("permissions", Guard())) as agent:
        result = await call(agent, "write", path="a", content="x")
    assert result.is_error and not os.listdir(work)


def test_half_a_character_is_refused_by_the_tools_themselves():
    with pytest.raises(FileError) as caught:
        require_text("x\ud800y", "new")
    assert caught.value.code == "encoding"


async def test_a_long_read_names_where_to_go_on_and_never_floods(agent_in, work, call):
    (work / "a.txt").write_text("".join(f"{'x' * 90} {n}\n" for n in range(1, 100_001)))
    async with agent_in(work) as agent:
        first = await call(agent, "read", path="a.txt")
        assert len(first.text) < 100_000
        last = int(first.text.rpartition("offset=")[2].rstrip("]"))
        assert first.text.endswith(f"[lines 1-{last - 1} of 100000; go on with offset={last}]")
        assert (await call(agent, "read", path="a.txt", offset=last, limit=1)).text.startswith(
            f"{last:6}\t{'x' * 90} {last}\n"
        )
        assert (await call(agent, "read", path="a.txt", offset=100_000)).text == f"100000\t{'x' * 90} 100000"


def calls_of_a_read(work, name, offset, limit):
    """What a read says, and how many functions it calls: those of C too."""
    count = 0

    def counted(frame, event, arg):
        nonlocal count
        count += event.endswith("call")

    sys.setprofile(counted)
    try:
        text = read_file(Folder(work), name, name, offset, limit).text
    finally:
        sys.setprofile(None)
    return text, count


def test_lines_are_taken_in_bulk_and_those_before_the_range_cost_nothing(work):
    for name, lines in (("small", 1_000), ("large", 100_000)):
        (work / name).write_text("".join(f"{n}\r\n" for n in range(1, lines + 1)), newline="")
    for end in (1_000, 100_000):  # imports, and what is kept of paths
        read_file(Folder(work), "small" if end == 1_000 else "large", "x", end, 1)
    text, small = calls_of_a_read(work, "small", 991, 10)
    assert text.splitlines()[0] == "   991\t991" and text.endswith("  1000\t1000")
    text, large = calls_of_a_read(work, "large", 99_991, 10)
    assert text.startswith(" 99991\t99991\n") and text.endswith("100000\t100000")
    assert large < small + 60  # the place of the first line is found by halves
    text, many = calls_of_a_read(work, "large", 50_001, 2_000)
    assert text.count("\n") == 2_000 and many < large + 3 * 2_000


@pytest.mark.parametrize("seed", range(4))
def test_a_range_is_the_same_wherever_the_pieces_of_a_file_end(work, monkeypatch, seed):
    chance = random.Random(seed)
    monkeypatch.setattr(skillkit_files.read, "_WIDTH", 40)
    for _ in range(100):
        lines = ["x" * chance.choice([0, 1, 5, 40, 200]) for _ in range(chance.randrange(1, 30))] + ["end"]
        ends = chance.choice(["\n", "\r\n"])
        (work / "a").write_text(ends.join(lines) + chance.choice(["", ends]), newline="")
        monkeypatch.setattr(skillkit_files.read, "_CHUNK", chance.choice([1, 7, 64, 1 << 20]))
        offset, limit = chance.randrange(1, len(lines) + 1), chance.choice([1, 3, 2_000])
        rows = read_file(Folder(work), "a", "a", offset, limit).text.split("\n")
        more = f"[lines {offset}-{offset + limit - 1} of {len(lines)}; go on with offset={offset + limit}]"
        if offset + limit <= len(lines):
            assert rows.pop() == more
        cut = f" [the line is cut here; it has {200 + len(ends) - 1} bytes]"
        wanted = [f"{n:6}\t{x[:40]}{cut * (len(x) > 40)}" for n, x in enumerate(lines, 1)]
        assert rows == wanted[offset - 1 :][:limit]


async def test_a_session_of_the_command_line_has_the_reading_tools(make_host, work):
    host = make_host(("files", skillkit_files.plugin))
    async with AgentRunner(AgentConfig(cwd=work), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("write", {"path": "a", "content": "x"})]), "done"]))
        await agent.chat("go")
        (result,) = (m for m in agent.messages if m.role == "tool_result")
    assert result.is_error and not (work / "a").exists()


async def test_a_text_that_is_everywhere_is_counted_up_to_a_limit(agent_in, work, call):
    (work / "a.txt").write_text("a" * 2_000_000)
    async with agent_in(work) as agent:
        result = await call(agent, "edit", path="a.txt", old="a" * 1000, new="b")
        assert "more than 1000 places" in result.text
        result = await call(agent, "edit", path="a.txt", old="a", new="b", all=True)
        assert result.details == {"error": "too_large"}
        assert not (await call(agent, "edit", path="a.txt", old="a" * 1000, new="b", all=True)).is_error
    assert (work / "a.txt").read_text() == "b" * 2000
