"""Cases that repeat one rule: a plain run takes a sample of them, ``-m "slow or not slow"`` takes all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

import pytest

__all__ = ["mark_beyond_the_sample"]


def mark_beyond_the_sample(items: Sequence[pytest.Item]) -> None:
    """Mark ``slow`` what is no part of the sample of a test that is marked ``sample(number, each=None)``.

    ``number`` cases of the test stay, of each value of the parameter ``each`` if it is named; of a class that is marked, so many
    of all its tests. A hash of the names chooses them: the same in every run and process, and not the first that somebody wrote.
    """
    groups: dict[tuple[str, str, int], list[pytest.Function]] = defaultdict(list)
    for item in items:
        found = next(item.iter_markers_with_node("sample"), None)
        if found is not None and isinstance(item, pytest.Function) and not item.get_closest_marker("slow"):
            node, mark = found
            each, of = mark.kwargs.get("each"), item.nodeid.partition("[")[0] if node is item else node.nodeid
            value = "" if each is None else repr(item.callspec.params[each])
            groups[of, value, mark.args[0]].append(item)
    for (_, _, number), cases in groups.items():
        for item in sorted(cases, key=_hash)[number:]:
            item.add_marker("slow")


def _hash(item: pytest.Item) -> tuple[int, str]:
    return crc32(item.name.encode()), item.name
