"""One rule and one call, as other plugins ask about it."""

import pytest
import skillkit_permissions.plugin


@pytest.mark.parametrize(
    ("rule", "tool", "args", "about"),
    [
        ("Bash(git *)", "Bash", {"command": "git push"}, True),
        ("Bash(git:*)", "bash", {"command": "ls && git push"}, True),
        ("Bash(git *)", "Bash", {"command": "FOO=1 git push"}, True),
        ("Bash(rm *)", "Bash", {"command": "echo $(rm -rf /)"}, True),
        ("Bash(git *)", "Bash", {"command": "npm test"}, False),
        ("Bash(git *)", "Bash", {"command": "echo 'unclosed"}, True),
        ("Bash(", "Edit", {"file_path": "a.ts"}, True),
        ("Edit(*.ts)", "Write", {"file_path": "a.ts"}, True),
        ("Write(*.ts)", "Edit", {"file_path": "a.ts"}, False),
        ("Read(*.ts)", "Edit", {"file_path": "a.ts"}, False),
        ("Edit(src/**)", "Edit", {"file_path": "src/a/b.py"}, True),
        ("Edit(src/**)", "Edit", {"file_path": "b.py"}, False),
        ("mcp__fs__*", "mcp__fs__write", {}, True),
        ("mcp__fs", "mcp__git__log", {}, False),
        ("Bash", "Bash", {"command": "ls"}, True),
    ],
)
def test_a_rule_is_about_a_call_that_it_would_forbid(make_host, skillkit_home, rule, tool, args, about):
    host = make_host(("permissions", skillkit_permissions.plugin))
    check = host.registry("rule_checks").get("permissions")
    assert check(rule, tool, args, {}, skillkit_home.cwd) is about
