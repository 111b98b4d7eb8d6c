"""A model works on files through ``skillkit run``, and the person takes it back."""

import pytest
from skillkit_testkit import Call, Reply


@pytest.fixture
def ask(skillkit_cli, llm_server):
    def run(*turns):
        llm_server.script(*turns)
        options = ["--provider", "anthropic", "--base-url", llm_server.url, "--model", "loop"]
        return (
            skillkit_cli("run", "--json", *options, "fix it", env={"ANTHROPIC_API_KEY": "sk-loopback-secret"}).ok().json
        )

    return run


def test_a_model_reads_edits_and_the_person_rewinds(skillkit_cli, skillkit_home, llm_server, ask):
    skillkit_home.write_config("tools:\n  allow: [edit, write]\n")
    (skillkit_home.cwd / "a.py").write_text("answer = 41\n")
    done = ask(
        Reply(tool_calls=[Call("grep", {"pattern": "answer"})]),
        Reply(
            tool_calls=[
                Call("edit", {"path": "a.py", "old": "41", "new": "42"}),
                Call("write", {"path": "b.py", "content": "b\n"}),
            ]
        ),
        Reply(text="Fixed."),
    )
    assert [r.text for r in llm_server.requests[1].tool_results] == ["a.py\n1:answer = 41"]
    assert (skillkit_home.cwd / "a.py").read_text() == "answer = 42\n"
    session = done["session"]
    report = skillkit_cli("files", "rewind", session).ok().stdout
    assert report.splitlines()[1:] == ["Restored a.py", "Restored b.py"]
    assert {p.name: p.read_text() for p in skillkit_home.cwd.iterdir()} == {"a.py": "answer = 41\n"}


def test_without_permission_a_model_can_read_and_not_write(skillkit_home, llm_server, ask):
    ask(Reply(tool_calls=[Call("write", {"path": "a", "content": "x"})]), Reply(text="I may not."))
    offered = set(llm_server.requests[0].tool_names)
    assert offered >= {"read", "grep", "glob", "ls"} and not offered & {"write", "edit", "apply_patch"}
    assert "write" in llm_server.requests[1].tool_results[0].text
    assert not (skillkit_home.cwd / "a").exists()
