"""``skillkit permissions check --lint``: rules that cover more than they seem."""

import json

import pytest

WIDE = {
    "Bash": "every command",
    "Bash(*)": "every command",
    "Bash(npm run test*)": "begins with 'test'",
    "Bash(ls*)": "begins with 'ls'",
    "Bash(git * main)": "in the place of the star",
    "Bash(python3.11:*)": "whatever a script says",
    "Bash(/usr/bin/bash *)": "whatever a script says",
    "Bash(sudo:*)": "any program that sudo starts",
    "Bash(xargs:*)": "any program that xargs starts",
    "Bash(uv run:*)": "any program that uv run starts",
    "Bash(git:*)": "every subcommand of git",
    "Bash(cargo:*)": "every subcommand of cargo",
    "Bash(ssh:*)": "any command that ssh carries",
    "Bash(kubectl exec:*)": "any command that kubectl exec carries",
    "WebFetch(domain:*.com)": "every host below com",
    "NotebookEdit(**)": ".git/hooks",
    "mcp__github": "every tool of the server github",
    "mcp__github__*": "every tool of the server github",
    "WebFetch": "every host",
    "WebFetch(domain:*)": "every host",
    "Edit": "start files of shells",
    "Edit(**)": ".git/hooks",
    "Edit(/**)": ".git/hooks",
    "Write(//**)": "outside the project",
    "Read": "outside the project",
    "Read(~/**)": "outside the project",
}
PLAIN = [
    "Bash(npm test)", "Bash(git status:*)", "Bash(git log *)", "Bash(python3 build.py)", "Bash(uv run pytest:*)", "Read(src/**)",
    "Edit(docs/**)", "WebFetch(domain:example.com)", "mcp__github__get_issue", "Bash(wc:*)", "Read(~/notes/**)",
]  # fmt: skip


def lint(skillkit_cli, home, **rules):
    home.write_config(json.dumps({"permissions": rules}))
    done = skillkit_cli("permissions", "check", "--lint", "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert done.exit_code == bool(found)
    return {row["rule"]: row["covers"] for row in found}


@pytest.mark.smoke
def test_rules_that_cover_more_than_they_seem_are_named_and_no_others(skillkit_cli, skillkit_home):
    found = lint(skillkit_cli, skillkit_home, allow=[*WIDE, *PLAIN])
    assert {rule: said in found.get(rule, "") for rule, said in WIDE.items()} == dict.fromkeys(WIDE, True)
    assert set(found) == set(WIDE)
    assert lint(skillkit_cli, skillkit_home, allow=PLAIN) == {}
    skillkit_home.write_config("permissions: {allow: ['Bash(npm test)']}\n")
    assert skillkit_cli("permissions", "check", "--lint").ok().stdout == "No rule covers more than it seems.\n"


def test_a_broad_rule_beside_one_that_denies_says_that_nothing_stands_behind_it(skillkit_cli, skillkit_home):
    skillkit_home.write_config("permissions: {allow: ['Bash(wc:*)'], deny: ['Read(.env)']}\nsandbox: {bash: off}\n")
    (skillkit_home.cwd / ".env").write_text("SECRET=1")
    done = skillkit_cli("permissions", "check", "--lint")
    assert done.exit_code == 1 and "allow Bash(wc:*)" in done.stdout and "nothing stands behind" in done.stdout
    assert "sandbox.bash is off" in skillkit_cli("permissions", "list").ok().stdout


def test_check_wants_a_tool_or_the_option(skillkit_cli):
    assert skillkit_cli("permissions", "check").exit_code == 2
    assert skillkit_cli("permissions", "check", "bash", "ls", "--lint").exit_code == 2
