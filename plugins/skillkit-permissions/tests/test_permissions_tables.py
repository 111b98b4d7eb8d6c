"""The tables of programs say only what their readers understand."""

import re

import pytest
from skillkit_permissions import git_tables, tables
from skillkit_permissions.decide import decide
from skillkit_permissions.programs import Program, known, plain_name

OPTIONS = {"flags", "values", "joined", "output", "input", "lists", "moves", "lines", "runs", "ends", "leaves"}
KEYS = {"is", "like", "files", "wraps", "before", "launches"} | OPTIONS
TAGS = set(re.findall(r"- ``([a-z-]+)``: ", Program.__doc__ or ""))
GIT_TAGS = {"plain", "read-only", "runs", "shows", "writes"}
WORDS = {"files": {"read", "write", "search", "copy", "fetch", "look"}, "wraps": {"same", "other"}}


def test_every_row_has_known_keys_and_words():
    assert len(TAGS) > 15
    for name, row in tables.PROGRAMS.items():
        assert set(row) <= KEYS, name
        assert set(row.get("is", "").split()) <= TAGS, name
        for key, words in WORDS.items():
            assert row.get(key, next(iter(words))) in words, name
    for name, row in git_tables.GIT.items():
        assert set(row) <= {"is", "but", "like", "files"} | OPTIONS, name
        assert set(row.get("is", "").split()) <= GIT_TAGS, name


def test_an_option_takes_a_value_or_none():
    for name in (*tables.PROGRAMS, *(f"git {sub}" for sub in git_tables.GIT)):
        program = known(name)
        row = git_tables.GIT.get(name[4:], {}) if name.startswith("git ") else tables.PROGRAMS[name]
        both = program.valued & {o for o in program.options if o in row.get("flags", "").split()}
        assert both == set(), name


def test_a_program_is_like_one_of_the_table():
    for name, row in tables.PROGRAMS.items():
        assert row.get("like", name) in tables.PROGRAMS, name


def test_a_program_that_is_not_in_the_tables_has_no_facts():
    assert known("nobody-knows-it") == known("nor-this-one") and not known("nobody-knows-it").tags


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("python3.11", "python"),
        ("pypy3.9", "python"),
        ("gcc-12", "gcc"),
        ("clang-15", "gcc"),
        ("gawk", "awk"),
        ("ls", "ls"),
    ],
)
def test_a_version_or_another_name_of_a_program_has_its_options(name, plain):
    assert plain_name(name) == plain


def test_a_rule_with_a_star_covers_no_script_of_a_version_of_an_interpreter(tmp_path):
    request = {"tool": "Bash", "args": {"command": "pypy3.9 -c pass"}, "cwd": str(tmp_path), "root": str(tmp_path),
               "home": str(tmp_path), "mode": "ask"}  # fmt: skip
    assert decide({"allow": ["Bash(pypy3.9:*)"]}, request)["decision"] == "ask"


def test_a_program_runs_without_a_question_only_where_all_of_its_options_are_known():
    for name in (*tables.PROGRAMS, *(f"git {sub}" for sub in git_tables.GIT)):
        program = known(name)
        if "plain" in program.tags and plain_name(name) != "find":
            assert "read-only" in program.tags and (program.complete or "speaks" in program.tags), name
