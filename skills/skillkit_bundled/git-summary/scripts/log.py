"""Action `log`: the latest commits of a git repository, a line for each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from itertools import islice

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Problem, Result, count, folder as existing_folder, run, shown, whole  # noqa: E402
from dates import moment  # noqa: E402
from history import ask, commits  # noqa: E402


def log(values: Mapping[str, str]) -> Result:
    """List the newest commits of the current branch, merges too."""
    name = values["path"]
    folder = existing_folder(name)
    below = ask(folder, "rev-parse", "--show-prefix") != ""
    limit = whole(values, "limit", 10)
    if not ask(folder, "rev-parse", "--verify", "--quiet", "HEAD", quiet=True):
        raise Problem(f"there is no commit in {shown(name)} yet")
    now = datetime.now().astimezone()
    since, until = (moment(values[bound], now) if bound in values else None for bound in ("since", "until"))
    author = values.get("author", "")
    wanted = commits(folder, since, until, author, below, merges=True)
    found = list(islice(wanted, limit))
    bounded = bool({"since", "until", "author"} & set(values))
    more = sum(1 for _ in wanted) if bounded else 0
    first = f"{count(len(found) + more, 'commit')} in {'this repository' if name == '.' else shown(name)}"
    first += f" by {shown(author)}" if author else ""
    first += "".join(f" {bound} {values[bound]}" for bound in ("since", "until") if bound in values)
    lines = [first + (f", the latest {limit}:" if more else ":")] if bounded else []
    lines += [f"{c.id[:10]}  {c.date[:16].replace('T', ' ')}  {shown(c.name)}: {shown(c.subject[:200])}" for c in found]
    return {
        "answer": "\n".join(lines),
        "path": name,
        "commits": [
            {"id": c.id, "author": shown(c.name), "date": c.date, "subject": shown(c.subject[:200]),
             "paths": [shown(path) for path, _, _ in c.changes[:50]]}
            for c in found
        ],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(run(log, positional=["path"], options=["since", "until", "author", "limit"]))
