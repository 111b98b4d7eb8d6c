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
    skillkit_home.write_config("permissions:\n  allow: [Edit]\n")
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
    report = skillkit_cli("sessions", "rewind", session).ok().stdout
    assert report.splitlines()[1:] == ["Restored a.py", "Restored b.py"]
    assert {p.name: p.read_text() for p in skillkit_home.cwd.iterdir()} == {"a.py": "answer = 41\n"}


def test_without_permission_a_model_can_read_and_not_change(skillkit_home, llm_server, ask):
    patch = "*** Begin Patch\n*** Add File: b\n+x\n*** End Patch"
    ask(
        Reply(tool_calls=[Call("write", {"path": "a", "content": "x"}), Call("apply_patch", {"patch": patch})]),
        Reply(text="I may not."),
    )
    assert {"read", "grep", "glob", "ls", "write", "edit", "apply_patch"} <= set(llm_server.requests[0].tool_names)
    for result, path in zip(llm_server.requests[1].tool_results, "ab", strict=True):
        assert f"no rule covers changing {path}" in result.text
    assert not list(skillkit_home.cwd.iterdir())


def test_a_patch_is_judged_by_the_paths_in_it_and_searching_leaves_out_what_may_not_be_read(
    skillkit_home, llm_server, ask
):
    skillkit_home.write_config("permissions:\n  allow: ['Edit(src/**)']\n  deny: ['Read(secret/**)']\n")
    (skillkit_home.cwd / "secret").mkdir()
    (skillkit_home.cwd / "secret" / "key").write_text("needle\n")
    (skillkit_home.cwd / "open").write_text("needle\n")

    def patch(path):
        return Call("apply_patch", {"patch": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"})

    ask(
        Reply(
            tool_calls=[
                patch("src/a"),
                patch("other/a"),
                Call("grep", {"pattern": "needle"}),
                Call("glob", {"pattern": "**"}),
            ]
        ),
        Reply(text="done"),
    )
    inside, outside, grep, glob = [r.text for r in llm_server.requests[1].tool_results]
    assert (skillkit_home.cwd / "src" / "a").read_text() == "x\n", inside
    assert "no rule covers changing other/a" in outside and not (skillkit_home.cwd / "other").exists()
    assert "open" in grep and "secret" not in grep and "secret" not in glob
