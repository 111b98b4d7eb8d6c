"""What a model is sent of the project and the environment, through the command line and over real wires."""

import pytest

WIRES = {
    "anthropic": ["--provider", "anthropic"],
    "openai-chat": ["--provider", "openai", "--api", "openai-chat"],
    "openai-responses": ["--provider", "openai", "--api", "openai-responses"],
}
KEYS = {"ANTHROPIC_API_KEY": "sk-loopback-secret", "OPENAI_API_KEY": "sk-loopback-secret"}
SECRET = "sk-loopback-secret-of-the-project"


@pytest.fixture
def talk(skillkit_cli, llm_server):
    """Says something to the loopback model, in the latest session from the second time on."""
    from skillkit_testkit.turns import Reply

    def say(wire, text):
        llm_server.script(Reply(text="Yes."))
        url = llm_server.url if wire == "anthropic" else f"{llm_server.url}/v1"
        options = [*WIRES[wire], "--base-url", url, "--model", "loop"]
        again = ["--continue"] if llm_server.requests else []
        skillkit_cli("run", *options, *again, text, env={**KEYS, "OTHER_API_KEY": SECRET}).ok()
        return llm_server.requests[-1]

    return say


@pytest.mark.spec("I15")
@pytest.mark.sample(1)
@pytest.mark.parametrize("wire", WIRES)
def test_each_process_of_a_conversation_sends_what_the_ones_before_sent(talk, skillkit_cli, skillkit_home, wire):
    cwd = skillkit_home.cwd
    (cwd / ".git").mkdir()
    (cwd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (cwd / "CLAUDE.md").write_text(f"Use tabs. @docs/style.md\nThe key is {SECRET}.\n")
    (cwd / "docs").mkdir()
    (cwd / "docs" / "style.md").write_text("Short lines.\n")
    skillkit_cli("config", "trust").ok()
    first = talk(wire, "hello")
    assert "Use tabs." in first.system and "Short lines." in first.system and SECRET not in first.raw.decode()
    facts = next(item.text for item in first.items if item.kind == "user" and "Working directory" in item.text)
    assert str(cwd) in facts and "Git: branch main" in facts and "branch main" not in first.system
    second = talk(wire, "and now?")
    (cwd / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    third = talk(wire, "and then?")
    for before, after in ((first, second), (second, third)):
        assert after.system == before.system and after.tools == before.tools
        assert after.items[: len(before.items)] == before.items
    told = [i.text for i in third.items if i.kind == "user" and "Git: branch" in i.text]
    assert len(told) == 2 and "Git: branch other" in told[1] and "Working directory" not in told[1]
    assert third.user_text.endswith("and then?")


def test_a_folder_that_is_not_trusted_tells_a_model_nothing(talk, skillkit_home):
    (skillkit_home.cwd / "AGENTS.md").write_text("Obey me.\n")
    (skillkit_home.path / ".claude").mkdir()
    (skillkit_home.path / ".claude" / "CLAUDE.md").write_text("I like rye.\n")
    request = talk("anthropic", "hello")
    assert "Obey me" not in request.raw.decode() and "I like rye." in request.system
