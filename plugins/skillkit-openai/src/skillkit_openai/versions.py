"""A mapping that never changes and still grows in constant time, for the calls and items that a conversion remembers.

A new dict for each of ten thousand calls is quadratic work. All versions of this mapping share one dict instead, which belongs
to the newest. An older version knows what the next newer one changed, and makes a dict of its own when somebody reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

__all__ = ["Versions"]

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Any = object()


class Versions(Mapping[K, V], Generic[K, V]):
    """An immutable mapping in the order in which its keys came.

    Reading and :meth:`plus` take constant time in the newest version. The first look at an older one copies the mapping.
    """

    __slots__ = ("_items", "_newer")

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        self._items: dict[K, V] | None = dict(items or {})
        self._newer: tuple[Versions[K, V], K, V] | None = None  # the next version, a key, and its value in this version

    def plus(self, key: K, value: V) -> Versions[K, V]:
        """Return this mapping with ``value`` under ``key``. A key that was there keeps its place."""
        items = self._read()
        if not items:  # of all streams that begin: it leads to none of them
            return Versions({key: value})
        newer: Versions[K, V] = Versions.__new__(Versions)
        newer._items, newer._newer = items, None
        self._items, self._newer = None, (newer, key, items.get(key, _ABSENT))
        items[key] = value
        return newer

    def _read(self) -> dict[K, V]:
        items = self._items
        if items is not None:
            return items
        changes: list[tuple[K, V]] = []
        version = self
        while version._newer is not None:
            version, key, before = version._newer
            changes.append((key, before))
        items = dict(version._read())
        for key, before in reversed(changes):
            if before is _ABSENT:
                del items[key]
            else:
                items[key] = before
        self._items, self._newer = items, None
        return items

    def get(self, key: K, default: Any = None) -> Any:
        """Return the value under ``key``, or ``default``."""
        items = self._items  # asked for with every delta
        return (self._read() if items is None else items).get(key, default)

    def __getitem__(self, key: K) -> V:
        items = self._items
        return (self._read() if items is None else items)[key]

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._read()))  # a newer version may come while somebody iterates

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"Versions({self._read()!r})"
