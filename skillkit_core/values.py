"""Dataclasses that cost little to define: the standard library makes their methods when these are needed.

A start defines some hundred dataclasses, and makes a few values of some dozens of them. To readers, type checkers and
:mod:`dataclasses` these are dataclasses with slots; its other functions are here, too.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, field, fields, is_dataclass, replace
from functools import cache, partial
from inspect import get_annotations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]


class _Later:
    """An attribute of a class, or of the class that ``make`` returns, which is taken over when it is first asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, obj: Any, cls: type[Any]) -> Any:
        made = self._make()
        made = vars(made)[self._name] if isinstance(made, type) else made
        setattr(self._owner, self._name, made)
        return made.__get__(obj, cls) if hasattr(made, "__get__") else made


class _Init(_Later):
    """A constructor that is compiled when somebody looks at it, or after so many values that compiling is the cheaper way."""

    _values = 16
    _plan: list[tuple[str, Any, Any, Any]] | None = None

    def __get__(self, obj: Any, cls: type[Any]) -> Any:
        self._values -= obj is not None
        return super().__get__(obj, cls) if obj is None or self._values < 0 else partial(self._fill, obj)

    def _fill(self, obj: Any, /, *args: Any, **given: Any) -> None:
        if self._plan is None:
            found = fields(self._owner)
            self._names = tuple(field.name for field in found if field.init and not field.kw_only)
            self._taken = {field.name for field in found if field.init}
            self._plan = [(f.name, getattr(self._owner, f.name).__set__, f.default, f.default_factory) for f in found]
        values = dict(zip(self._names, args, strict=False))
        wrong = len(args) > len(self._names) or not self._taken.issuperset(given) or not values.keys().isdisjoint(given)
        values |= given
        for name, put, default, factory in self._plan:
            if name in values:
                put(obj, values[name])
            elif default is not MISSING or factory is not MISSING:
                put(obj, factory() if default is MISSING else default)
            else:
                wrong = wrong or name in self._taken
        if wrong:
            super().__get__(obj, self._owner)(*args, **given)  # it raises, in the words of Python
        elif hasattr(obj, "__post_init__"):
            obj.__post_init__()


def _fields(cls: Any, kinds: Mapping[str, Any], own: Mapping[str, Any], kw_only: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in cls.__mro__[:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in kinds.items():
        given = own.get(name, MISSING)
        one: Any = given if isinstance(given, Field) else field(default=given)
        one.name, one.type, one._field_type = name, kind, dataclasses._FIELD  # type: ignore[attr-defined]
        one.kw_only = kw_only if one.kw_only is MISSING else one.kw_only
        found[name] = one
    return found


def _refuse(self: Any, name: str, *value: Any) -> None:
    """Set or delete an attribute that is no field, which only a plain subclass may have."""
    if "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


_STATE = {"__getstate__": dataclasses._dataclass_getstate, "__setstate__": dataclasses._dataclass_setstate}  # type: ignore[attr-defined]
_FROZEN = {"__setattr__": _refuse, "__delattr__": _refuse, **_STATE}

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, slots: bool, kw_only: bool = False, **options: bool) -> Callable[[type], type]:
        """Return what makes a class a dataclass, as :func:`dataclasses.dataclass` does. ``slots`` is true."""

        def make(cls: type) -> type:
            space = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
            of_class = ("ClassVar", "typing.ClassVar")
            kinds = {name: kind for name, kind in get_annotations(cls).items() if not str(kind).startswith(of_class)}
            own = {name: space.pop(name) for name in kinds if name in space}

            @cache
            def standard() -> type:
                plain = type(cls.__name__, cls.__bases__, space | own | {"__annotations__": kinds})
                return dataclasses.dataclass(kw_only=kw_only, **options)(plain)

            eq = options.get("eq", True) and "__eq__" not in space
            hashed = eq and (options.get("frozen") or options.get("unsafe_hash"))
            lazy = ["__repr__", "__match_args__", *(["__eq__", "__hash__"] if hashed else ["__eq__"] if eq else [])]
            lazy += ["__replace__"] if sys.version_info >= (3, 13) else []
            made = {name: _Later(standard) for name in lazy} | {"__init__": _Init(standard)}
            made |= {"__dataclass_params__": SimpleNamespace(frozen=options.get("frozen", False))}
            made |= {"__hash__": None} if eq and not hashed else {}
            made["__dataclass_fields__"] = _Later(lambda: _fields(value, kinds, own, kw_only))
            inherited = {name for base in cls.__mro__[1:-1] for name in getattr(base, "__slots__", ())}
            made["__slots__"] = tuple(name for name in kinds if name not in inherited)
            value = type(cls)(cls.__name__, cls.__bases__, made | (_FROZEN if options.get("frozen") else {}) | space)
            return value

        return make
