"""A pipe or a device where a file of SkillKit's should be is an error in words; no command waits for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SECONDS = 30.0
COMMANDS = (
    ("config", "show"),
    ("doctor",),
    ("models", "list"),
    ("plugins", "list"),
    ("run", "what is 15% of 80"),
    ("run", "--continue", "what is 15% of 80"),
    ("sessions", "list"),
    ("sessions", "search", "percent"),
    ("sessions", "show", "stuck"),
    ("skills", "list"),
)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.sample(1)
@pytest.mark.parametrize("put", [os.mkfifo, endless])
def test_what_is_no_regular_file_among_the_sessions_holds_no_command_up(
    skillkit_cli: Any, put: Callable[[Path], None]
) -> None:
    """The others are listed, searched and gone on with."""
    skillkit_cli("run", "what is 15% of 80").ok()
    sessions = skillkit_cli.home.data_dir / "sessions"
    [known] = sessions.glob("*.jsonl")
    put(sessions / "stuck.jsonl")
    put(sessions / "sessions.db")
    for command in COMMANDS:
        result = skillkit_cli(*command, timeout=SECONDS)
        failing = command[:2] in (("sessions", "show"), ("sessions", "search"))
        assert result.exit_code == (1 if failing else 0), result
        assert "Traceback" not in result.stderr
    rows = {row["id"]: row for row in skillkit_cli("sessions", "list", "--json", timeout=SECONDS).ok().json}
    assert "error" not in rows[known.stem] and "it is no regular file" in rows["stuck"]["error"]
    for command in (("sessions", "list"), ("sessions", "search", "percent"), ("run", "what is 15% of 80")):
        result = skillkit_cli(*command, timeout=SECONDS, env={"SKILLKIT_SESSION__STORE": "sqlite"})
        assert "Traceback" not in result.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("put", [os.mkfifo, endless])
def test_a_list_of_trusted_folders_that_is_no_regular_file_is_named(
    skillkit_cli: Any, put: Callable[[Path], None]
) -> None:
    put(trusted := skillkit_cli.home.data_dir / "trusted.json")
    for command in COMMANDS:
        result = skillkit_cli(*command, timeout=SECONDS)
        assert "Traceback" not in result.stderr
        assert result.exit_code and f"{trusted}: cannot be read: it is no regular file" in result.stderr + result.stdout


@pytest.mark.sample(1)
@pytest.mark.parametrize("put", [os.mkfifo, endless])
def test_what_is_no_regular_file_in_the_cache_or_beside_a_skill_holds_no_command_up(
    skillkit_cli: Any, put: Callable[[Path], None]
) -> None:
    home = skillkit_cli.home
    config = home.config_dir / "config.yaml"
    config.write_text("limits: {turns: 3}\n")
    os.utime(config, (0, 0))
    skillkit_cli("config", "show").ok()
    [kept] = [
        p
        for p in (home.cache_dir / "documents").iterdir()
        if p.name.startswith(f"{config.stat().st_dev:x}-{config.stat().st_ino:x}")
    ]
    kept.unlink()
    put(kept)
    skill = home.config_dir / "skills" / "stuck"
    skill.mkdir(parents=True)
    put(skill / "SKILL.md")
    for command in COMMANDS[:5]:
        result = skillkit_cli(*command, timeout=SECONDS)
        assert result.exit_code == 0 or (command == ("doctor",) and "stuck/SKILL.md" in result.stdout), result
