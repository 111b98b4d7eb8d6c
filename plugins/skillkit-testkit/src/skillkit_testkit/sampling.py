"""Cases that repeat one rule: a plain run takes a sample of them, ``-m "slow or not slow"`` takes all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

import pytest

__all__ = ["mark_beyond_the_sample"]


def mark_beyond_the_sample(items: Sequence[pytest.Item]) -> None:
    """Mark ``slow`` what is no part of the sample of a test that is marked ``sample(number, each=None)``.

    ``number`` cases of the test stay, of each value of the parameter ``each`` if it is named. A hash of the names chooses them:
    the same in every run and every process, and not the first that somebody wrote.
    """
    groups: dict[tuple[str, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark is not None and isinstance(item, pytest.Function):
            each = mark.kwargs.get("each")
            value = "" if each is None else repr(item.callspec.params[each])
            groups[item.nodeid.partition("[")[0], value].append(item)
    for cases in groups.values():
        (number,) = next(cases[0].iter_markers("sample")).args
        for item in sorted(cases, key=_hash)[number:]:
            item.add_marker("slow")


def _hash(item: pytest.Item) -> tuple[int, str]:
    return crc32(item.name.encode()), item.name
