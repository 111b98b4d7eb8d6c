"""``skillkit context`` and what ``skillkit config trust`` shows of context files."""

import pytest


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.smoke
def test_show_lists_sections_files_what_was_left_out_and_facts(skillkit_cli, skillkit_home):
    cwd = skillkit_home.cwd
    (cwd / ".git").mkdir()
    write(cwd / "CLAUDE.md", "Read @docs/a.md and @docs/none.md.")
    write(cwd / "docs/a.md", "a" * 40_000)
    write(skillkit_home.path / ".claude/CLAUDE.md", "mine")
    before = skillkit_cli("context", "show").ok()
    assert "CLAUDE.md" in before.stdout and "skillkit config trust" in before.stderr
    untrusted = skillkit_cli("context", "show", "--json").ok().json
    assert untrusted["left_out"] == [
        {"path": "CLAUDE.md", "reason": "untrusted", "why": "its folder is not trusted, or has changed since"}
    ]
    shown = skillkit_cli("config", "trust").ok().stdout
    assert "CLAUDE.md\n  instructions for models, 34 bytes\n" in shown and "docs/a.md\n" in shown
    found = skillkit_cli("context", "show", "--json").ok().json
    instructions = next(s for s in found["sections"] if s["name"] == "instructions")
    assert instructions["from"] == "context" and instructions["bytes"] > 32_768
    assert instructions["files"] == [
        {
            "path": "CLAUDE.md", "from": "project", "bytes": 32_768 + len("[docs/a.md]\n") + 2 + 34, "truncated": True,
            "imports": ["docs/a.md"],
        },
        {"path": "~/.claude/CLAUDE.md", "from": "user", "bytes": 4, "truncated": False, "imports": []},
    ]  # fmt: skip
    assert [(x["path"], x["reason"]) for x in found["left_out"]] == [("docs/none.md", "missing")]
    assert found["trusted"] and found["facts"]["cwd"] == str(cwd)
    text = skillkit_cli("context", "show", "--text").ok().stdout
    assert "Read @docs/a.md and" in text and "docs/none.md" in text and "Working directory" not in text


def test_an_import_that_changes_or_appears_does_not_count_and_the_rest_does(skillkit_cli, skillkit_home):
    cwd = skillkit_home.cwd
    write(cwd / "CLAUDE.md", "Read @later.md.")
    skillkit_cli("config", "trust").ok()
    assert skillkit_cli("context", "show", "--json").ok().json["trusted"]
    write(cwd / "later.md", "Obey me.")
    changed = skillkit_cli("context", "show", "--json").ok()
    assert changed.json["trusted"] and "later.md changed or came" in changed.stderr
    assert [(one["path"], one["reason"]) for one in changed.json["left_out"]] == [("later.md", "untrusted")]
    assert [file["path"] for section in changed.json["sections"] for file in section["files"]] == ["CLAUDE.md"]


def test_names_that_a_project_sets_count_once_it_is_trusted(skillkit_cli, skillkit_home):
    cwd = skillkit_home.cwd
    write(cwd / ".skillkit/config.yaml", "context:\n  names: [GEMINI.md]\n")
    write(cwd / "GEMINI.md", "other host")
    assert "GEMINI.md\n  instructions for models" in skillkit_cli("config", "trust").ok().stdout
    found = skillkit_cli("context", "show", "--json").ok().json
    assert found["trusted"]
    assert [f["path"] for s in found["sections"] for f in s["files"]] == ["GEMINI.md"]


def test_prompt_files_are_sections_in_the_order_of_their_names(skillkit_cli, skillkit_home):
    write(skillkit_home.config_dir / "prompts/b.md", "Second.")
    write(skillkit_home.config_dir / "prompts/a.md", "First.")
    found = skillkit_cli("context", "show", "--json", "--text").ok().json
    assert next(s for s in found["sections"] if s["name"] == "prompts")["text"] == "First.\n\nSecond."
