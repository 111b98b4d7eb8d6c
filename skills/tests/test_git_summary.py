"""Real repositories: who changed what since when, whatever their files, authors and configuration are called."""

import os
import shutil
import subprocess
from datetime import datetime, timedelta

import pytest
from hypothesis import given, strategies as st

NOW = datetime.now().astimezone()


class Repository:
    """A repository made with git."""

    def __init__(self, path):
        self.path = path
        self.git("init", "-q", "-b", "main", ".")

    def git(self, *words, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.path), "GIT_CONFIG_NOSYSTEM": "1", **variables}
        subprocess.run(["git", *words], cwd=self.path, env=environment, check=True, capture_output=True)

    def commit(self, subject, days_ago, author="Ada", **files):
        for name, content in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(content)
        when = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
        person = {"NAME": author, "EMAIL": f"{author.lower()}@example.org", "DATE": when}
        names = {f"GIT_{role}_{kind}": value for role in ("AUTHOR", "COMMITTER") for kind, value in person.items()}
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, **names)


@pytest.fixture
def repository(workspace):
    made = Repository(workspace.path)
    made.commit("Ancient", 400, a="1\n")
    made.commit("Last month's work", 20, author="Grace", **{"src/x.py": "1\n2\n3\n"})
    made.commit("Fix x", 2, **{"src/x.py": "1\n2\n", "docs/é.md": "text\n"})
    made.commit("Write y", 1, author="Grace", **{"src/y.py": "1\n"})
    return made


def test_the_last_week_is_the_default(workspace, repository):
    result = workspace.result("git-summary", "summary")
    assert (result["commits"], result["files"], result["added"], result["removed"]) == (2, 3, 2, 1)
    assert [(author["name"], author["commits"]) for author in result["authors"]] == [("Ada", 1), ("Grace", 1)]
    assert result["branch"] == "main"
    assert [commit["subject"] for commit in result["latest"]] == ["Write y", "Fix x"]
    assert "2 commits by 2 authors in this repository since" in result["answer"]
    assert "docs/é.md" in result["answer"]


@pytest.mark.parametrize(
    ("given_", "commits"),
    [
        ({"since": "last month"}, 3),
        ({"since": "3 days ago"}, 2),
        ({"since": "ever"}, 4),
        ({"since": "ever", "until": "a week ago"}, 2),
        ({"since": (NOW - timedelta(days=30)).date().isoformat()}, 3),
        ({"since": "two years ago", "author": "GRACE"}, 2),
        ({"since": "ever", "path": "src"}, 3),
        ({"since": "the last 3 days"}, 2),
        ({"since": "past year", "until": "5 days ago"}, 1),
        ({}, 2),
        ({"since": "ever", "author": "grace and ada"}, 4),
    ],
)
def test_times_authors_and_folders_narrow_it(workspace, repository, given_, commits):
    assert workspace.result("git-summary", "summary", **given_)["commits"] == commits


def test_the_log_has_the_latest_commits_first_and_counts_those_of_a_time(workspace, repository):
    last = workspace.result("git-summary", "log", limit=1)
    assert [commit["subject"] for commit in last["commits"]] == ["Write y"]
    assert last["answer"].count("\n") == 0
    all_of_them = workspace.result("git-summary", "log", since="ever", limit=1)
    assert all_of_them["answer"].startswith("4 commits in this repository")


def test_commits_behind_an_older_one_are_counted_whatever_git_is_there(workspace, repository, monkeypatch):
    repository.commit("Out of order", 400, late="1\n")  # the newest commit has the oldest date
    expected = workspace.result("git-summary", "summary", since="last month")["commits"]
    assert expected == 3
    old = workspace.path / "old"
    old.mkdir()
    (old / "git").write_text(f"""#!/bin/sh
case "$*" in *" version") echo "git version 2.20.1"; exit;; *since-as-filter*) exit 129;; esac
exec {shutil.which("git")} "$@"
""")
    (old / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{old}:{os.environ['PATH']}")
    assert workspace.result("git-summary", "summary", since="last month")["commits"] == expected


def test_a_value_never_becomes_an_option(workspace, repository):
    for value in ("--output=pwned", "-p", "--exec=touch pwned", "; touch pwned", "$(touch pwned)"):
        assert "has committed here" in workspace.problem("git-summary", "summary", author=value)
        assert "not a time I know" in workspace.problem("git-summary", "summary", since=value)
        assert "not a time I know" in workspace.problem("git-summary", "summary", until=value)
        assert "there is no" in workspace.problem("git-summary", "summary", path=value)
    assert not (workspace.path / "pwned").exists()


@pytest.mark.parametrize("folder", ["--help", "-C", "a b", "new\nline"])
def test_a_folder_with_a_strange_name_is_only_a_folder(workspace, repository, folder):
    repository.commit("Strange", 0.1, **{f"{folder}/--x\ty\n": "1\n"})
    result = workspace.result("git-summary", "summary", path=folder)
    assert (result["commits"], result["files"]) == (1, 1)


def test_renames_binaries_and_odd_subjects_are_read(workspace, repository):
    repository.git("mv", "src/x.py", "src/z.py")
    repository.commit("Rename \x1b[31m \x02 and more", 0.5)
    (workspace.path / "image").write_bytes(bytes(range(256)))
    repository.commit("Binary", 0.4)
    result = workspace.result("git-summary", "summary", since="yesterday")
    paths = {record["path"] for record in result["paths"]}
    assert {"src/z.py", "image"} <= paths and "src/x.py" not in paths
    assert "\x1b" not in result["answer"]


def test_a_hostile_configuration_starts_nothing(workspace, repository):
    marker = workspace.path / "started"
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "gpg.program",
        "diff.x.textconv",
        "diff.x.command",
        "pager.log",
    ):
        repository.git("config", key, f"touch {marker}; cat")
    repository.git("config", "log.showSignature", "true")
    repository.git("config", "color.ui", "always")
    (workspace.path / ".gitattributes").write_text("* diff=x\n")
    repository.commit("Attributes", 0.1)
    marker.unlink(missing_ok=True)  # making the commit reads the configuration too
    assert workspace.result("git-summary", "summary")["commits"] == 3
    assert not marker.exists()


def test_an_empty_repository_has_no_commits(workspace):
    Repository(workspace.path)
    result = workspace.result("git-summary", "summary")
    assert result["commits"] == 0
    assert result["answer"].startswith("no commits in this repository since")


def test_a_bare_repository_is_read(workspace):
    source = workspace.path / "source"
    source.mkdir()
    Repository(source).commit("One", 1, a="1\n")
    subprocess.run(["git", "clone", "-q", "--bare", str(source), str(workspace.path / "bare.git")], check=True)
    assert workspace.result("git-summary", "summary", path="bare.git")["commits"] == 1


def test_what_is_no_repository_is_said(workspace):
    assert "not in a git repository" in workspace.problem("git-summary", "summary")
    workspace.write("file", "x")
    assert "not a folder" in workspace.problem("git-summary", "summary", path="file")


def test_an_unknown_time_is_a_problem(workspace, repository):
    assert "'v1.2' is not a time I know" in workspace.problem("git-summary", "summary", since="v1.2")


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(1, 99999),
       st.sampled_from(["minute", "hour", "day", "week", "fortnight", "month", "quarter", "year"]))  # fmt: skip
def test_a_time_ago_is_before_now_or_a_problem(load, now, number, unit):
    dates, command = load("git-summary", "dates"), load("git-summary", "command")
    now = now.astimezone()
    try:
        then = dates.moment(f"{number} {unit}s ago", now)
    except Exception as problem:
        assert type(problem).__name__ == command.Problem.__name__
    else:
        assert then < now
