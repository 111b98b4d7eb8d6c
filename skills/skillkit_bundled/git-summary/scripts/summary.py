"""Action `summary`: what changed in a git repository since a date, by author."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import (  # noqa: E402
    Result,
    count,
    fitting,
    folder as existing_folder,
    run,
    shown,
    table,
    whole,
)
from dates import moment  # noqa: E402
from history import Author, Commit, ask, commits  # noqa: E402

SINCE = "last week"
MOST_PATHS = 10
MOST_SUBJECTS = 20
MOST_AUTHORS = 100
SHOWN_AUTHORS = 15
SHOWN_SUBJECTS = 4


def summary(values: Mapping[str, str]) -> Result:
    """Read the log of the current branch and sum it up."""
    name = values["path"]
    folder = existing_folder(name)
    inside = ask(folder, "rev-parse", "--show-prefix")
    now = datetime.now().astimezone()
    asked = values.get("since") or SINCE
    asked_until = values.get("until")
    since = moment(asked, now)
    until = moment(asked_until, now) if asked_until else None
    limit = whole(values, "limit", 20, minimum=0)
    history = _History()
    if ask(folder, "rev-parse", "--verify", "--quiet", "HEAD", quiet=True):
        for commit in commits(folder, since, until, values.get("author", ""), below=inside != ""):
            history.add(commit, limit)
    when = f"since {since:%Y-%m-%d %H:%M}" if since else "ever"
    when += f" ({asked})" if since and not asked[0].isdigit() else ""
    when += f" until {until:%Y-%m-%d %H:%M}" if until else ""
    authors = sorted(history.authors.values(), key=lambda author: (-author.commits, author.name.casefold()))
    return {
        "answer": "\n".join(_answer(name, when, history, authors)),
        "path": name,
        "branch": ask(folder, "branch", "--show-current") or None,
        "since": since.isoformat(timespec="seconds") if since else None,
        "until": until.isoformat(timespec="seconds") if until else None,
        "commits": history.commits,
        "files": len(history.paths),
        "added": history.added,
        "removed": history.removed,
        "authors": fitting([_record(author) for author in authors[:MOST_AUTHORS]]),
        "paths": [{"path": shown(path), "changes": times} for path, times in history.paths.most_common(MOST_SUBJECTS)],
        "latest": [
            {
                "id": commit.id[:12],
                "author": shown(commit.name),
                "date": commit.date,
                "subject": shown(commit.subject[:200]),
            }
            for commit in history.latest
        ],
    }


class _History:
    """The running sums."""

    def __init__(self) -> None:
        self.commits = self.added = self.removed = 0
        self.paths: Counter[str] = Counter()
        self.authors: dict[str, Author] = {}
        self.latest: list[Commit] = []

    def add(self, commit: Commit, limit: int) -> None:
        """Take in one commit; authors are told apart by mail address, after the repository's mailmap."""
        author = self.authors.setdefault(commit.email.casefold() or commit.name, Author(commit.name, commit.email))
        self.commits += 1
        author.commits += 1
        for path, added, removed in commit.changes:
            self.paths[path] += 1
            author.paths[path] += 1
            author.added += added
            author.removed += removed
            self.added += added
            self.removed += removed
        if len(author.subjects) < MOST_SUBJECTS:
            author.subjects.append(commit.subject[:200])
        if len(self.latest) < limit:
            self.latest.append(commit)


def _record(author: Author) -> Result:
    return {
        "name": shown(author.name),
        "email": shown(author.email),
        "commits": author.commits,
        "files": len(author.paths),
        "added": author.added,
        "removed": author.removed,
        "paths": [{"path": shown(path), "changes": times} for path, times in author.paths.most_common(MOST_PATHS)],
        "subjects": [shown(subject) for subject in author.subjects],
    }


def _answer(name: str, when: str, history: _History, authors: list[Author]) -> list[str]:
    where = "this repository" if name == "." else shown(name)
    if not history.commits:
        return [f"no commits in {where} {when}"]
    lines = [
        f"{count(history.commits, 'commit')} by {count(len(authors), 'author')} in {where} {when}: "
        f"{count(len(history.paths), 'file')}, +{history.added:,} -{history.removed:,} lines",
        "",
    ]
    rows = [
        [author.name, f"{author.commits:,}", f"{len(author.paths):,}", f"+{author.added:,}", f"-{author.removed:,}",
         ", ".join(path for path, _ in author.paths.most_common(2))]
        for author in authors[:SHOWN_AUTHORS]
    ]  # fmt: skip
    header = ["author", "commits", "files", "added", "removed", "mostly in"]
    lines.append(table(header, rows, numeric=header[1:5], widest=60))
    if len(authors) > SHOWN_AUTHORS:
        lines.append(f"... and {len(authors) - SHOWN_AUTHORS:,} more authors")
    for author in authors[:5]:
        lines += [
            "",
            f"{shown(author.name)}:",
            *(f"  {shown(subject)}" for subject in author.subjects[:SHOWN_SUBJECTS]),
        ]
        if author.commits > SHOWN_SUBJECTS:
            lines.append(f"  ... and {author.commits - SHOWN_SUBJECTS:,} more")
    return lines


if __name__ == "__main__":
    sys.exit(run(summary, positional=["path"], options=["since", "until", "author", "limit"]))
