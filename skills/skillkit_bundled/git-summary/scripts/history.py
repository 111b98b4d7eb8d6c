"""Reading `git log` as data, whatever the repository's configuration says and whatever its files are called."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

from command import Problem

# No configuration of a repository may start a program, open a pager, ask a question or fetch.
SAFE = [
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false",
    "-c", "core.pager=cat", "-c", "diff.external=", "-c", "core.quotePath=false", "-c", "protocol.allow=never",
]  # fmt: skip
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
START = "\x1e"
FIELDS = ["%H", "%aN", "%aE", "%aI", "%s", "%cI"]


@dataclass(slots=True)
class Commit:
    """One commit: who, when, what it says, and the lines added and removed by path (binary files count as zero)."""

    id: str
    name: str
    email: str
    date: str
    subject: str
    committed: str
    changes: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Author:
    """What one author did."""

    name: str
    email: str
    commits: int = 0
    added: int = 0
    removed: int = 0
    paths: Counter[str] = field(default_factory=Counter)
    subjects: list[str] = field(default_factory=list)


def command(words: Sequence[str]) -> list[str]:
    """Return the argument list of a git command."""
    return ["git", "--no-pager", *SAFE, *words]


def environment() -> dict[str, str]:
    """Return the variables that git gets."""
    return {**{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}, **ENVIRONMENT}


def ask(folder: Path, *words: str, quiet: bool = False) -> str:
    """Return what a short git command prints; raises `Problem` with git's own reason, or with `quiet` returns ""."""
    try:
        done = subprocess.run(command(words), cwd=folder, env=environment(), capture_output=True, check=False)
    except FileNotFoundError:
        raise Problem("git is not installed, or not on PATH") from None
    if done.returncode and not quiet:
        raise Problem(_reason(folder, done.stderr))
    return done.stdout.decode(errors="replace").strip()


def _reason(folder: Path, stderr: bytes) -> str:
    text = stderr.decode(errors="replace").strip()
    if "not a git repository" in text:
        return f"{folder} is not in a git repository"
    if "dubious ownership" in text:
        return f"git refuses {folder}: it belongs to another user (git config --global --add safe.directory <its path>)"
    first = text.splitlines()[0] if text else "git failed without a reason"
    return first.removeprefix("fatal: ")


def commits(
    folder: Path, since: datetime | None, until: datetime | None, author: str, below: bool, merges: bool = False
) -> Iterator[Commit]:
    """Yield the commits of the current branch, newest first; merges are left out unless `merges`.

    `--since` would stop at the first older commit, behind which there may be newer ones: clocks differ, and branches are
    rebased. A git without `--since-as-filter` (before 2.37) gives all commits, and the older ones are left out here.
    """
    words = ["log", "-z", *([] if merges else ["--no-merges"]), "--no-color",
             "--no-ext-diff", "--no-textconv", "--no-show-signature",
             "-M", "--numstat", "--date-order", f"--format={START}{'%x1f'.join(FIELDS)}%x1f"]  # fmt: skip
    if since:
        words += [f"--since-as-filter={since.isoformat(timespec='seconds')}"] if _filters(folder) else []
    if until:
        words.append(f"--until={until.isoformat(timespec='seconds')}")
    if author:
        words += _authors(folder, author)
    words += ["HEAD", "--", *(["."] if below else [])]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            command(words),
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process:
            assert process.stdout is not None
            for commit in _parsed(_split(process.stdout)):
                if not since or not commit.committed or datetime.fromisoformat(commit.committed) >= since:
                    yield commit
        if process.returncode:
            errors.seek(0)
            raise Problem(_reason(folder, errors.read()))


def _authors(folder: Path, text: str) -> list[str]:
    """Return the options that choose the commits of the authors that `text` names; an unknown one is a problem."""
    names = [name for name in re.split(r",\s*(?:and\s+)?|\s+(?:and|or)\s+", text.strip()) if name]
    exactly = ["--fixed-strings", "--regexp-ignore-case"]
    for name in names:
        if not ask(folder, "log", "-1", "--format=%H", *exactly, f"--author={name}", "HEAD"):
            raise Problem(
                f"nobody called {name!r} has committed here; name an author by a part of name or mail address"
            )
    return [*exactly, *(f"--author={name}" for name in names)]


def _filters(folder: Path) -> bool:
    """Return whether git knows `--since-as-filter`."""
    version = re.search(r"(\d+)\.(\d+)", ask(folder, "version"))
    return version is not None and (int(version[1]), int(version[2])) >= (2, 37)


def _split(stream: IO[bytes]) -> Iterator[str]:
    """Yield what stands between zero bytes."""
    rest = b""
    while block := stream.read(65_536):
        *whole, rest = (rest + block).split(b"\0")
        for part in whole:
            yield part.decode(errors="backslashreplace")
    if rest:
        yield rest.decode(errors="backslashreplace")


def _parsed(parts: Iterator[str]) -> Iterator[Commit]:
    current: Commit | None = None
    for part in parts:
        text = part.lstrip("\n")
        if text.startswith(START):
            if current:
                yield current
            fields = text[1:].split("\x1f")
            identity, name, email, date, subject, committed = (fields + [""] * len(FIELDS))[: len(FIELDS)]
            current = Commit(identity, name, email, date, subject, committed)
            text = fields[-1].lstrip("\n")
        if current is None or text.count("\t") < 2:
            continue
        added, removed, path = text.split("\t", 2)
        if not path:  # a rename: the old and the new name follow
            next(parts, "")
            path = next(parts, "")
        current.changes.append((path, int(added) if added.isdigit() else 0, int(removed) if removed.isdigit() else 0))
    if current:
        yield current
