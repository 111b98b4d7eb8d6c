"""Prompt files on the disk, through the command line and the Python API."""

import pytest
import skillkit_commands.plugin
from skillkit_commands import SlashCommands

from skillkit_core import AgentRunner, Host

REVIEW = """---
description: Review a change.
argument-hint: "[FILE]"
model: opus
---
Review $1 for $ARGUMENTS[1]: $ARGUMENTS. It costs \\$5.
"""


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def host(tmp_path):
    (tmp_path / "work").mkdir()
    made = Host(
        plugins=[("commands", skillkit_commands.plugin)], discover=False, cwd=tmp_path / "work",
        environ={"SKILLKIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
    )  # fmt: skip
    yield made
    made.close()


async def asked(host, line):
    async with AgentRunner(host=host) as agent:
        commands = SlashCommands(agent)
        return (await commands.run(commands.match(line))).text


async def test_a_file_of_the_user_is_a_command_with_its_arguments_in_place(host):
    write(host.config_dir, "commands/review.md", REVIEW)
    assert await asked(host, "/review 'a b.py' bugs") == "Review a b.py for bugs: 'a b.py' bugs. It costs $5."


async def test_text_that_was_put_in_is_never_searched_again(host):
    write(host.config_dir, "commands/say.md", "Say $1 and $2")
    assert await asked(host, "/say '$2' '$ARGUMENTS'") == "Say $2 and $ARGUMENTS"


async def test_arguments_of_a_file_without_places_follow_its_text(host):
    write(host.config_dir, "commands/plain.md", "# Do it\nwell")
    assert await asked(host, "/plain and fast") == "# Do it\nwell\n\nand fast"
    assert await asked(host, "/plain") == "# Do it\nwell"


async def test_a_folder_is_part_of_the_name_and_claude_code_files_count(host, tmp_path):
    write(tmp_path, ".claude/commands/fix/types.md", "Fix the types.")
    assert await asked(host, "/fix:types") == "Fix the types."


@pytest.mark.smoke
def test_files_of_a_project_count_once_it_is_trusted(skillkit_cli, skillkit_home):
    write(skillkit_home.cwd, ".claude/commands/deploy.md", "Deploy it.")
    write(skillkit_home.cwd, ".skillkit/commands/model.md", "Not the model.")
    before = skillkit_cli("commands", "list", "--json").ok().json
    assert "deploy" not in {c["name"] for c in before["commands"]}
    assert "skillkit config trust" in skillkit_cli("commands", "list").ok().stderr
    assert ".claude/commands\n  prompt file deploy.md\n" in skillkit_cli("config", "trust").ok().stdout
    after = {c["name"]: c for c in skillkit_cli("commands", "list", "--json").ok().json["commands"]}
    assert after["deploy"] == {
        "name": "deploy", "arguments": "[TEXT]", "help": "Deploy it.", "origin": "project:claude",
    }  # fmt: skip
    assert after["model"]["origin"] == "commands" and after["model@project"]["help"] == "Not the model."
    write(skillkit_home.cwd, ".claude/commands/deploy.md", "Deploy it elsewhere.")
    changed = skillkit_cli("commands", "list", "--json").ok()
    assert ".claude/commands/deploy.md changed" in changed.stderr
    names = {c["name"] for c in changed.json["commands"]}
    assert "deploy" not in names and "model@project" in names


def test_what_is_wrong_with_a_file_is_listed_with_its_reason(skillkit_cli, skillkit_home, tmp_path):
    folder = skillkit_home.config_dir / "commands"
    write(folder, "empty.md", "---\ndescription: x\n---\n")
    write(folder, "odd.md", "---\ndescription: [a\n---\nText")
    write(folder, "uses.md", "---\nallowed-tools: Bash\nmodel: opus\n---\nText")
    write(folder, "BAD!.md", "Text")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    write(folder, "huge.md", "x" * 300_000)
    (folder / "link.md").symlink_to(write(tmp_path, "secret.md", "Secret"))
    write(skillkit_home.path, ".claude/commands/uses.md", "Other")
    found = skillkit_cli("commands", "list", "--json").ok().json
    problems = {f["path"].rsplit("/", 1)[1]: (f["usable"], f["problems"][0]) for f in found["problems"]}
    other = next(f for f in found["problems"] if "/.claude/" in f["path"])
    assert other["problems"][0].startswith("hidden by ") and not other["usable"]
    assert problems["empty.md"] == (False, "it is empty")
    assert problems["odd.md"][0] and problems["odd.md"][1] == "line 2: a value needs quotes and was read as text"
    assert problems["BAD!.md"] == (False, "its name cannot be typed as a command: use letters, digits and -")
    assert not problems["latin.md"][0] and "cannot be read" in problems["latin.md"][1]
    assert problems["huge.md"] == (False, "it is larger than 256 KiB")
    assert problems["link.md"] == (False, "it is a link out of its folder")
    assert {c["name"] for c in found["commands"]} >= {"odd", "uses"}
    assert "no effect here: allowed-tools, model" in skillkit_cli("commands", "list").ok().stderr
