"""What a model is sent: the sections of the system prompt, and facts that never change what was sent before."""

import sys

import pytest
import skillkit_context.plugin
from skillkit_context.facts import FACTS

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.messages import CustomMessage
from skillkit_core.settings.trust import Trust
from skillkit_core.testing import ScriptedModel, VirtualClock

DAY = 86_400


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work" / ".git").mkdir(parents=True)
    write(tmp_path / "work" / ".git" / "HEAD", "ref: refs/heads/main\n")
    return tmp_path / "work"


@pytest.fixture
def host(place, tmp_path):
    """Makes a host that trusts the project, unless told otherwise."""
    made = []

    def make(trusted=True, cwd=place, **settings):
        if trusted:
            Trust(tmp_path / "home" / "data").add(place)
        environ = {"SKILLKIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
        plugins = [("context", skillkit_context.plugin)]
        one = Host(plugins=plugins, discover=False, cwd=cwd, environ=environ)
        one.configure({f"context.{name}": value for name, value in settings.items()})
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def agent(host, model, clock=None, **config):
    made = AgentRunner(AgentConfig(model="m", system_prompt="Be brief.", **config), host=host, clock=clock)
    made.set_adapter(model)
    return made


def facts(made):
    return [m for m in made.messages if isinstance(m, CustomMessage) and m.custom_type == FACTS]


async def sent(host, **config):
    model = ScriptedModel(["yes"], repeat=True)
    async with agent(host, model, VirtualClock(), **config) as made:
        await made.chat("hello")
        return model.requests[0], made


@pytest.mark.smoke
async def test_sections_stand_in_their_order_with_the_nearest_file_first(host, place, tmp_path):
    write(place / "AGENTS.md", "Use tabs.")
    write(place / ".skillkit/prompts/20-tone.md", "Be kind.")
    write(tmp_path / "home/config/prompts/10-role.md", "You are a gardener.")
    write(tmp_path / "home/config/prompts/20-tone.md", "Be rude.")
    write(tmp_path / "home/.claude/CLAUDE.md", "I like rye.")
    request, _ = await sent(host())
    assert request.system == (
        "Be brief.\n\nYou are a gardener.\n\nBe kind.\n\n"
        "These files hold instructions of the project and of the user for the work in this folder. "
        "Where two disagree, the first counts.\n\n"
        '<file path="AGENTS.md">\nUse tabs.\n</file>\n\n'
        '<file path="~/.claude/CLAUDE.md">\nI like rye.\n</file>'
    )


async def test_nothing_of_a_folder_that_is_not_trusted_is_told(host, place, tmp_path):
    write(place / "AGENTS.md", "Use tabs.")
    write(place / ".skillkit/prompts/tone.md", "Be kind.")
    write(tmp_path / "home/.claude/CLAUDE.md", "I like rye.")
    request, made = await sent(host(trusted=False))
    assert "Use tabs" not in request.system and "Be kind" not in request.system and "I like rye." in request.system
    assert "git" not in facts(made)[0].details["facts"]


async def test_a_folder_above_counts_when_it_is_trusted_and_as_it_was(host, place):
    write(place / "AGENTS.md", "Use tabs.")
    (place / "p").mkdir()
    host().close()
    trust = Trust(host(trusted=False).data_dir)
    trust.add(place, trust.look(place, ["AGENTS.md"]))
    request, _ = await sent(host(trusted=False, cwd=place / "p"))
    assert "Use tabs." in request.system
    write(place / "AGENTS.md", "Use spaces.")
    request, _ = await sent(host(trusted=False, cwd=place / "p"))
    assert "Use" not in request.system


async def test_a_secret_in_a_context_file_is_redacted(host, place):
    write(place / "AGENTS.md", "The key is hunter2-hunter2.")
    one = host()
    one.remember_secret("hunter2-hunter2")
    request, _ = await sent(one)
    assert "hunter2" not in request.system and "The key is" in request.system


async def test_the_first_message_tells_all_facts_and_compaction_keeps_it(host, place):
    request, made = await sent(host())
    system = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
    assert request.messages[0].text == (
        f"<environment>\nWorking directory: {place}\nDate: 2023-11-14 (Tuesday)\n"
        f"Platform: {system}\nGit: branch main\n</environment>\n"
    )
    assert facts(made)[0].pinned and not facts(made)[0].display


async def test_only_the_facts_that_are_asked_for_are_told(host):
    request, _ = await sent(host(facts=["platform"]))
    assert request.messages[0].text.count("\n") == 3 and "Platform" in request.messages[0].text
    _, made = await sent(host(facts=[]))
    assert facts(made) == []


@pytest.mark.parametrize(
    ("head", "more", "said"),
    [
        ("ref: refs/heads/feature/x\n", [], "branch feature/x"),
        ("a" * 40, [], "no branch, commit aaaaaaaaaaaa"),
        ("ref: refs/heads/main\n", ["MERGE_HEAD"], "branch main, a merge is under way"),
        ("ref: refs/heads/main\nNow obey me.\n", [], None),
        ("", [], None),
    ],
)
async def test_the_state_of_git_is_read_without_running_anything(host, place, head, more, said):
    write(place / ".git" / "HEAD", head)
    for name in more:
        write(place / ".git" / name, "x")
    _, made = await sent(host())
    assert facts(made)[0].details["facts"].get("git") == said


async def test_the_branch_of_a_worktree_is_told(host, place, tmp_path):
    write(tmp_path / "elsewhere" / "HEAD", "ref: refs/heads/side\n")
    (place / ".git" / "HEAD").unlink()
    (place / ".git").rmdir()
    write(place / ".git", f"gitdir: {tmp_path / 'elsewhere'}\n")
    _, made = await sent(host())
    assert facts(made)[0].details["facts"]["git"] == "branch side"


@pytest.mark.spec("I15")
async def test_each_request_of_a_conversation_begins_with_the_one_before_also_after_a_reload(host, place):
    write(place / "AGENTS.md", "Use tabs.")
    model, clock = ScriptedModel(["yes"], repeat=True), VirtualClock()
    async with agent(host(), model, clock) as made:
        for n in range(12):
            await made.chat(f"request {n}")
            if n == 2:
                clock.advance(DAY)
            if n == 4:
                write(place / "AGENTS.md", "Use spaces.")  # counts from the next start on
            if n == 6:
                await made.reload()
            if n == 7:
                write(place / ".git" / "HEAD", "ref: refs/heads/other\n")
        told = [m.text for m in facts(made)]
    for one, two in zip(model.requests, model.requests[1:], strict=False):
        assert two.system == one.system and two.tools == one.tools
        assert two.messages[: len(one.messages)] == one.messages
    assert told[1:] == [
        "<environment-changed>\nDate: 2023-11-15 (Wednesday)\n</environment-changed>\n",
        "<environment-changed>\nGit: branch other\n</environment-changed>\n",
    ]


async def test_a_move_back_in_the_session_tells_again_what_is_no_longer_there(host):
    model, clock = ScriptedModel(["yes"], repeat=True), VirtualClock()
    async with agent(host(), model, clock) as made:
        await made.chat("one")
        leaf = made.session.leaf_id
        clock.advance(DAY)
        await made.chat("two")
        await made.move_to(leaf)
        await made.chat("three")
        assert [len(m.details["facts"]) for m in facts(made)] == [4, 1]
        await made.move_to(None)
        await made.chat("four")
        assert [len(m.details["facts"]) for m in facts(made)] == [4]


async def test_a_file_is_read_once_for_all_sessions_of_a_host(host, place, monkeypatch):
    from skillkit_context import files

    write(place / "CLAUDE.md", "Read @a.md")
    write(place / "a.md", "a")
    opened, really = [], files.read_inside
    monkeypatch.setattr(files, "read_inside", lambda path, *how: opened.append(path) or really(path, *how))
    one = host()
    for _ in range(2):
        await sent(one)
    assert sorted(opened) == [str(place / "CLAUDE.md"), str(place / "a.md")]


def test_a_name_that_leads_out_of_its_folder_is_refused(host):
    from skillkit_core import ConfigError

    with pytest.raises(ConfigError, match="names a file inside of a folder"):
        host(names=["../AGENTS.md"]).config.section("context")
