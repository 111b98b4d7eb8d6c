"""The folder that one works in: what it brings is asked about before the first request, in each command that a person begins."""

import pytest

SKILL = "---\nname: tally\ndescription: Count the entries of a ledger.\n---\nCount them.\n"
COMMANDS = ("chat", "tui", "run")
ASKED = "ne[v]er ask here: "


@pytest.fixture
def repository(skillkit_home):
    """A repository as it was cloned: context file, skill, servers, settings."""
    folder = skillkit_home.cwd
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    (folder / ".skillkit" / "skills" / "tally").mkdir(parents=True)
    (folder / ".skillkit" / "skills" / "tally" / "SKILL.md").write_text(SKILL)
    (folder / ".skillkit" / "config.yaml").write_text("limits: {turns: 7}\n")
    return folder


@pytest.fixture
def begin(skillkit_cli, llm_server):
    """``begin("chat", answers, words)`` begins a conversation, answers what is asked, and returns what the model was sent."""
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")

    def begin_(command, *answers, cwd=None, before="", more=()):
        from skillkit_testkit import Reply

        llm_server.script(Reply(text="The answer stands."))
        env = {"NO_COLOR": "1", "OPENAI_API_KEY": "key-of-the-tests"}
        known = len(llm_server.requests)
        with skillkit_cli.terminal(command, *asked, *more, "hello", env=env, cwd=cwd) as terminal:
            terminal.send(before)
            for answer in answers:
                terminal.wait_for(ASKED)
                terminal.send(answer)
            terminal.wait_for("The answer stands.")
            if command == "run":  # its end has written the answer
                assert terminal.wait() == 0
        begin_.seen = terminal.text
        return llm_server.requests[known]

    return begin_


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_clone_brings_is_shown_and_counts_after_a_yes_in_this_very_conversation(begin, repository, command):
    request = begin(command, "y\n")
    assert "Use tabs." in request.system and "tally" in request.raw.decode()
    for part in ("AGENTS.md", ".skillkit/skills", ".skillkit/config.yaml", "limits.turns: 7"):
        assert part in begin.seen
    begin(command)
    assert ASKED not in begin.seen, "it is as it was seen"


@pytest.mark.sample(1, each="command")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("no", ["n\n", "\n", "try another way, yes\n"])
def test_whatever_is_no_yes_lets_nothing_count_and_is_asked_again(begin, repository, command, no):
    for _ in range(2):
        request = begin(command, no)
        assert "Use tabs." not in request.raw.decode() and "tally" not in request.raw.decode()


def test_never_is_kept_and_what_does_not_count_is_said_in_one_line(begin, repository):
    begin("run", "v\n")
    request = begin("run")
    assert "Use tabs." not in request.raw.decode() and ASKED not in begin.seen
    assert "does not count: .skillkit/skills, AGENTS.md; 'skillkit config trust'" in " ".join(begin.seen.split())


def test_what_was_typed_before_the_question_answers_nothing(begin, repository):
    assert "Use tabs." not in begin("run", "\n", before="y\ny\n").raw.decode()


@pytest.mark.sample(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_only_the_file_that_changed_is_asked_about_and_the_rest_counts(begin, repository, skillkit_cli, command):
    skillkit_cli("config", "trust", "--yes").ok()
    (repository / "AGENTS.md").write_text("Use spaces.\n")  # git pull
    request = begin(command, "n\n")
    assert "tally" in request.raw.decode() and "spaces" not in request.raw.decode()
    assert "-Use tabs." in begin.seen and "+Use spaces." in begin.seen and "name: tally" not in begin.seen
    assert "Use spaces." in begin(command, "y\n").system
    begin(command)
    assert ASKED not in begin.seen


def test_one_file_is_let_in_and_another_one_is_not(begin, repository, skillkit_cli):
    skillkit_cli("config", "trust", "--yes").ok()
    (repository / "AGENTS.md").write_text("Use spaces.\n")
    skill = repository / ".skillkit" / "skills" / "tally" / "SKILL.md"
    skill.write_text(SKILL.replace("Count the entries", "Falsify the entries"))
    request = begin("chat", "n\n", "y\n")
    assert "Use spaces." in request.system and "Falsify" not in request.raw.decode()


def test_the_folders_above_are_asked_about_from_the_top_of_the_repository(begin, repository):
    below = repository / "src" / "app"
    below.mkdir(parents=True)
    (below / "AGENTS.md").write_text("Test first.\n")
    request = begin("run", "y\n", "y\n", cwd=below)
    assert "Use tabs." in request.system and "Test first." in request.system
    begin("run", cwd=below)
    assert ASKED not in begin.seen


def test_nothing_is_asked_where_a_folder_brings_nothing(begin, skillkit_home):
    begin("run")
    assert ASKED not in begin.seen and "does not count" not in begin.seen


def test_nothing_is_asked_without_a_terminal_or_with_json(begin, repository, skillkit_cli):
    piped = skillkit_cli("run", "what is 15% of 80").ok()
    lines = [line for line in piped.stderr.splitlines() if "not count" in line]
    assert any("AGENTS.md" in line for line in lines) and any(".skillkit/config.yaml" in line for line in lines)
    with skillkit_cli.terminal("run", "--json", "what is 15% of 80") as terminal:
        assert terminal.wait() == 0 and ASKED not in terminal.text


def test_doctor_names_what_does_not_count(repository, skillkit_cli):
    told = " ".join(skillkit_cli("doctor").stdout.split())
    assert "AGENTS.md of this folder does not count" in told and ".skillkit/skills of this folder" in told
    skillkit_cli("config", "trust", "--yes").ok()
    assert "of this folder" not in skillkit_cli("doctor").stdout
    (repository / "AGENTS.md").write_text("Use spaces.\n")
    told = " ".join(skillkit_cli("doctor").stdout.split())
    assert "AGENTS.md of this folder does not count" in told and ".skillkit/skills of this folder" not in told


# --- sessions of this folder, and of others ---------------------------------------------------------------------------


@pytest.fixture
def elsewhere(begin, skillkit_home):
    """A folder with a session, beside one without."""
    begin("run")
    (other := skillkit_home.path / "other").mkdir()
    return other


@pytest.mark.sample(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_going_on_with_a_session_of_another_folder_is_asked_about(begin, elsewhere, command, skillkit_cli, llm_server):
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    known = len(llm_server.requests)
    for answer in ("n\n", "\n", "try another way\n"):
        env = {"OPENAI_API_KEY": "key-of-the-tests"}
        with skillkit_cli.terminal(command, *asked, "--continue", "and now?", cwd=elsewhere, env=env) as terminal:
            terminal.wait_for(f"The latest one is of {skillkit_cli.home.cwd}: hello")
            terminal.wait_for("[y]es, [N]o: ")
            terminal.send(answer)
            assert terminal.wait() == 2 and "no session to continue" in terminal.text
    assert len(llm_server.requests) == known


def test_after_a_yes_the_session_of_the_other_folder_goes_on_here(elsewhere, skillkit_cli, llm_server):
    from skillkit_testkit import Reply

    llm_server.script(Reply(text="It goes on."))
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    env = {"OPENAI_API_KEY": "key-of-the-tests"}
    with skillkit_cli.terminal("chat", *asked, "--continue", "and now?", cwd=elsewhere, env=env) as terminal:
        terminal.wait_for("[y]es, [N]o: ")
        terminal.send("y\n")
        terminal.wait_for("It goes on.")
    assert "The answer stands." in llm_server.requests[-1].raw.decode()


def test_without_a_terminal_a_session_of_another_folder_is_named_and_not_taken(elsewhere, skillkit_cli):
    refused = skillkit_cli("run", "--continue", "what is 15% of 80", cwd=elsewhere)
    assert refused.exit_code == 2 and refused.stdout == ""
    assert "this folder has no session to continue" in refused.stderr and str(skillkit_cli.home.cwd) in refused.stderr


# --- /trust -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def conversation(repository, skillkit_cli, llm_server):
    """An agent in the repository with all plugins, and a person who answers by script."""
    from contextlib import asynccontextmanager

    from skillkit_core import AgentConfig, AgentRunner, Host

    @asynccontextmanager
    async def open_(person):
        from skillkit_testkit import Reply

        llm_server.script(*[Reply(text="Yes.")] * 4)
        config = AgentConfig(
            provider="openai", api="openai-chat", base_url=llm_server.openai_url, model="any", api_key="key-of-the-tests",
            ui=person,
        )  # fmt: skip
        host = Host(cwd=repository, settings={"watch.settle": 0.05})
        async with AgentRunner(config, host=host, session="new") as agent:
            yield agent
        await host.aclose()

    return open_


async def typed(agent, line, person):
    from skillkit_commands import SlashCommands

    commands = SlashCommands(agent)
    return await commands.run(commands.match(line), person)


async def test_trust_inside_a_conversation_lets_in_what_the_folder_brings(conversation, llm_server):
    from skillkit_core.testing import ScriptedUser

    person = ScriptedUser({"counts": False}, {"counts": True})
    async with conversation(person) as agent:
        await agent.chat("hello")
        assert "Nothing more counts" in await typed(agent, "/trust", person)
        await agent.chat("and now?")
        assert "Use tabs." not in llm_server.requests[-1].raw.decode()
        assert "from the next start on" in await typed(agent, "/trust", person)
        assert any("AGENTS.md" in text and "tally" in text for _, text in person.notices)
        await agent.chat("and then?")
        assert "Use tabs." in llm_server.requests[-1].system and "tally" in llm_server.requests[-1].raw.decode()
        assert await typed(agent, "/trust", person) == "All that this folder brings counts."


async def test_trust_asks_file_by_file_about_what_changed_meanwhile(conversation, repository, skillkit_cli, llm_server):
    from skillkit_core.testing import ScriptedUser

    skillkit_cli("config", "trust", "--yes").ok()
    skill = repository / ".skillkit" / "skills" / "tally" / "SKILL.md"
    person = ScriptedUser({"counts": False}, {"counts": True})
    async with conversation(person) as agent:
        await agent.chat("hello")
        (repository / "AGENTS.md").write_text("Use spaces.\n")
        skill.write_text(SKILL.replace("Count the entries", "Weigh the entries"))
        await typed(agent, "/trust", person)
        assert [survey.text for survey in person.surveys] == [
            f"Let {file} count as it is now?" for file in (".skillkit/skills/tally/SKILL.md", "AGENTS.md")
        ]
        assert any("-description: Count" in text and "+description: Weigh" in text for _, text in person.notices)
        await agent.chat("and now?")
        assert "Use spaces." in llm_server.requests[-1].system
        assert "Weigh" not in llm_server.requests[-1].raw.decode()
        assert "Count the entries" in llm_server.requests[-1].raw.decode(), "the version that was seen stays"


async def test_a_skill_that_the_person_edits_is_taken_in_by_trust_without_a_restart(
    conversation, repository, skillkit_cli, llm_server, monkeypatch
):
    import asyncio

    from skillkit_core.testing import ScriptedUser

    monkeypatch.setattr("skillkit_skill_tools.plugin.QUIET", 0.05)
    heard = asyncio.Queue()

    class Person(ScriptedUser):
        async def notify(self, text, level="info"):
            heard.put_nowait(text)

    async def hear(part):
        while part not in (text := await asyncio.wait_for(heard.get(), 60)):
            pass
        return text

    skillkit_cli("config", "trust", "--yes").ok()
    skill = repository / ".skillkit" / "skills" / "tally" / "SKILL.md"
    person = Person({"counts": True})
    async with conversation(person) as agent:
        await agent.open()
        while "skillkit_skill_tools.sessions" not in __import__("sys").modules:
            await asyncio.sleep(0)
        skill.write_text(SKILL.replace("Count the entries", "Weigh the entries"))
        assert "skill 'tally' stays as it was until /trust" in await hear("stays as it was")
        await agent.chat("hello")
        assert "Count the entries" in llm_server.requests[-1].raw.decode()
        await typed(agent, "/trust", person)
        assert await hear("reloaded") == "1 skill reloaded: tally"
        await agent.chat("and now?")
        assert "Weigh the entries" in llm_server.requests[-1].raw.decode()
