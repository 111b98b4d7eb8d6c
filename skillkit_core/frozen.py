"""JSON values that nobody can change in place, so that messages and events are shared without copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

__all__ = ["FrozenDict", "FrozenList", "freeze", "thaw"]


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError("messages and events are immutable; return a changed copy from the handler instead")


class _Shared:
    """Base of immutable values, each of which is its own copy."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class FrozenDict(_Shared, dict[str, Any]):
    """A dict whose content cannot change, and which compares, prints and serialises as a dict."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(_Shared, list[Any]):
    """A list whose content cannot change, and which compares, prints and serialises as a list."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(len(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))


EMPTY = FrozenDict()
_SCALARS = frozenset({str, int, float, bool, type(None)})
_DONE = _SCALARS | {FrozenDict, FrozenList}


def freeze(value: Any) -> Any:
    """Return a JSON value with every dict and list in it immutable, and scalars and frozen values unchanged."""
    return value if type(value) in _DONE else copied(value)


def copied(value: Any) -> Any:
    """Return a frozen copy of a JSON value, so that not even ``dict.update(value, ...)`` changes what the copy holds."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, (dict, Mapping)):  # a look at the class first, because asking an abstract class is dear
        items = value.items()
        return FrozenDict({k if type(k) is str else str(k): v if type(v) in _SCALARS else copied(v) for k, v in items})
    return FrozenList([copied(v) for v in value]) if isinstance(value, (list, tuple)) else value


def thaw(value: Any) -> Any:
    """Return a plain copy of a frozen JSON value, which can be changed."""
    if isinstance(value, Mapping):
        return {k: thaw(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(v) for v in value]
    return value


def same_json(a: Any, b: Any) -> bool:
    """Return whether two JSON values are the same. ``True`` and ``1`` are not, nor are ``1`` and ``1.0``."""
    if isinstance(a, (dict, Mapping)) and isinstance(b, (dict, Mapping)):
        return a.keys() == b.keys() and all(same_json(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same_json(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)
