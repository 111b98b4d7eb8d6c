"""Files that decide what runs later: one list, for edits and for commands, at any depth and in any spelling."""

import pytest
from skillkit_permissions.decide import decide
from skillkit_process import PROTECTED
from skillkit_sandbox import SandboxPolicy


@pytest.fixture
def outcome(tmp_path):
    (tmp_path / "work").mkdir()

    def get(tool, args, allow=(), root="work"):
        place = str(tmp_path / root)
        request = {
            "tool": tool,
            "args": args,
            "cwd": place,
            "root": place,
            "home": str(tmp_path),
            "mode": "accept-edits",
        }
        return decide({"allow": list(allow)}, request)["decision"]

    return get


@pytest.mark.parametrize("path", [*PROTECTED, ".git", ".git/objects/x", ".git/refs/heads/main"])
def test_an_edit_of_what_decides_what_runs_asks_where_others_do_not(outcome, path):
    assert outcome("edit", {"path": "src/git/config.py"}) == "allow"
    for spelled in (path, f"deep/er/{path}", f"{path}/below", path.upper(), f"./x/../{path}"):
        assert outcome("edit", {"path": spelled}) == "ask", spelled
        assert outcome("bash", {"command": f"echo x > {spelled}"}, ["Bash(echo:*)"]) == "ask", spelled


def test_a_link_to_such_a_file_is_one_and_a_project_below_such_a_folder_is_none(outcome, tmp_path):
    (tmp_path / "work" / "harmless").symlink_to(tmp_path / "work" / ".vscode")
    assert outcome("edit", {"path": "harmless/tasks.json"}) == "ask"
    (tmp_path / ".claude" / "worktrees" / "one").mkdir(parents=True)
    assert outcome("edit", {"path": "a.py"}, root=".claude/worktrees/one") == "allow"
    assert outcome("edit", {"path": ".claude/settings.json"}, root=".claude/worktrees/one") == "ask"


def test_names_that_only_look_alike_are_edited(outcome):
    for path in (".github/x.yml", ".gitignore", "profile", "claude/x", "my.bashrc", ".config/app.toml"):
        assert outcome("edit", {"path": path}) == "allow", path


def test_the_sandbox_protects_the_same_list():
    assert tuple(path.removesuffix("?") for path in SandboxPolicy().protect) == PROTECTED
