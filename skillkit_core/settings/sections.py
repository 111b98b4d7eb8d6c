"""Settings that are a dataclass: their pydantic model, and their values without pydantic, which is slow to import."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from math import isfinite
from os.path import expanduser, join
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from pydantic import BaseModel

_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt,
    "min_length": lambda value, least: len(value) >= least,
}  # fmt: skip
_OURS = {"check", "of"}  # what is said of a setting, and is no argument of pydantic's


@cache
def _settings(values: Any) -> dict[str, tuple[Any, Mapping[str, Any], Any]]:
    """Return of each field of a dataclass its type, what is said of the setting, and its default or what makes it."""
    types = get_type_hints(values)
    found: dict[str, tuple[Any, Mapping[str, Any], Any]] = {}
    for one in fields(values):
        given = {"default_factory": one.default_factory, "default": one.default}
        found[one.name] = (types[one.name], one.metadata, {k: v for k, v in given.items() if v is not MISSING})
    return found


@cache
def model_of(values: Any) -> type[BaseModel]:
    """Return the pydantic model of a dataclass: its fields, their defaults, bounds, checks and descriptions."""
    from pydantic import ConfigDict, Field, create_model, field_validator

    from ..descriptors import load_object

    made: dict[str, Any] = {}
    checks: dict[str, Any] = {}
    for name, (kind, about, default) in _settings(values).items():
        if hasattr(kind, "__dataclass_fields__"):
            kind = model_of(kind)
            made[name] = (kind, kind())
            continue
        if (of := _in_dict(kind)) is not None:
            kind = dict[str, model_of(of)]  # type: ignore[misc]
        made[name] = (
            load_object(about.get("of", kind)),
            Field(**default, **{k: v for k, v in about.items() if k not in _OURS}),
        )
        if "check" in about and "of" not in about:
            checks[f"check_{name}"] = field_validator(name)(about["check"])
    config = ConfigDict(extra="forbid", frozen=True)
    model: Any = create_model(values.__name__, __config__=config, __doc__=values.__doc__, __validators__=checks, **made)
    if hasattr(values, "doctor"):
        model.doctor = values.doctor
    return model  # type: ignore[no-any-return]


def _in_dict(kind: Any) -> Any:
    """Return the dataclass of a mapping of settings by name, ``None`` of another type."""
    args = get_args(kind)
    return args[1] if get_origin(kind) is dict and hasattr(args[1], "__dataclass_fields__") else None


def values_of(values: Any, valid: BaseModel) -> Any:
    """Return the values of a valid model as the dataclass from which it was made."""
    found: dict[str, Any] = {}
    for name, (kind, *_) in _settings(values).items():
        value = getattr(valid, name)
        if hasattr(kind, "__dataclass_fields__"):
            value = values_of(kind, value)
        elif (of := _in_dict(kind)) is not None:
            value = {key: values_of(of, each) for key, each in value.items()}
        found[name] = value
    return values(**found)


class _NotPlain(Exception):
    """A value of which pydantic must say what it is, or what is wrong."""


def plain_values(values: Any, given: Mapping[str, Any], base: Callable[[str], str]) -> Any:
    """Return a dataclass with the settings ``given``, or ``None`` where one is unknown, out of bounds, or of another type.

    Args:
        base: returns the folder at which the relative path of a setting starts.
    """
    try:
        return _plain_values(values, given, base)
    except _NotPlain:
        return None


def _plain_values(values: Any, given: Mapping[str, Any], base: Callable[[str], str]) -> Any:
    known, found = _settings(values), dict[str, Any]()
    for name, value in given.items():
        if name not in known:
            raise _NotPlain
        kind, about, _ = known[name]
        if hasattr(kind, "__dataclass_fields__"):
            if value is not None:  # None: a group whose lines are all comments
                found[name] = _plain(kind, value, name, base)
            continue
        value = found[name] = _plain(kind, value, name, base)
        if value is not None and not all(ok(value, about[bound]) for bound, ok in _BOUNDS.items() if bound in about):
            raise _NotPlain
        if "check" in about:
            try:
                found[name] = about["check"](value)
            except ValueError:
                raise _NotPlain from None
    try:
        return values(**found)
    except TypeError:  # a value without a default is missing
        raise _NotPlain from None


def _plain(kind: Any, value: Any, name: str, base: Callable[[str], str]) -> Any:
    """Return a value that is of the very type of its setting; a path becomes absolute, as :class:`Config` does it."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for one in args:
            try:
                return _plain(one, value, name, base)
            except _NotPlain:
                continue
    elif kind in (str, int, bool, NoneType):
        if type(value) is kind:
            return value
    elif kind is float:
        if type(value) in (int, float) and isfinite(value):
            return float(value)
    elif kind is Path:
        if type(value) is str and value:
            return Path(join(base(name), expanduser(value)))
    elif origin is Literal:
        if type(value) is str and value in args:
            return value
    elif origin in (list, tuple) and type(value) is list:
        return origin(_plain(args[0], each, name, base) for each in value)
    elif origin is dict and isinstance(value, Mapping):
        return {_plain(str, k, name, base): _plain(args[1], v, f"{name}.{k}", base) for k, v in value.items()}
    elif hasattr(kind, "__dataclass_fields__") and isinstance(value, Mapping):
        return _plain_values(kind, value, lambda key: base(f"{name}.{key}"))
    raise _NotPlain
