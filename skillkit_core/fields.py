"""Checks of the fields of values by their annotations, so that a wrong type is an error where a program makes the value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from .errors import UsageError

Seconds: TypeAlias = Annotated[float, "a number of seconds"]
Schema: TypeAlias = Annotated[Mapping[str, Any], "a mapping, which is a JSON Schema"]

_Rule: TypeAlias = tuple[Callable[[Any], bool], str]
_rules: dict[type, dict[str, tuple[Any, _Rule | None]]] = {}


def check_fields(value: Any, of: str = "") -> None:
    """Check the fields of a dataclass instance or a named tuple against their annotations.

    ``Annotated[type, words]`` gives the words of the error, and ``Annotated[type, words, check]`` also calls ``check``. A tuple
    may be given as a list, names as any collection of texts, a float as an int, an int never as a bool. An annotation is read
    when a value other than the field's default is given for the first time.

    Args:
        value: the instance.
        of: name of the instance in the message.

    Raises:
        UsageError: a value does not fit.
    """
    cls = type(value)
    rules = _rules.get(cls)
    if rules is None:
        rules = _rules[cls] = _defaults(cls)
    for name, (default, rule) in rules.items():
        given = getattr(value, name)
        if given is default:
            continue
        if rule is None:
            rule = _rule(_annotation(cls, name))
            rules[name] = (default, rule)
        fits, wanted = rule
        if not fits(given):
            found = repr(given) if isinstance(given, str) else f"of type {type(given).__name__}"
            raise UsageError(f"{of and of + ': '}{name} is {found}; it must be {wanted}")


def _defaults(cls: Any) -> dict[str, tuple[Any, _Rule | None]]:
    none = object()  # equals no value of a field
    if issubclass(cls, tuple):
        return {name: (cls._field_defaults.get(name, none), None) for name in cls._fields}
    from dataclasses import MISSING, fields  # not needed to list plugins, and slow to import

    return {f.name: (none if f.default is MISSING else f.default, None) for f in fields(cls)}


def is_number(value: Any) -> bool:
    """Return whether ``value`` is an int or a float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class _Names(dict[str, Any]):
    """The names of a module. The public names of the package stand in for those that the module imports for type checkers."""

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(import_module(__package__), name)
        except AttributeError:
            raise KeyError(name) from None  # a builtin


def _annotation(cls: Any, name: str) -> Any:
    """Return the type that a field's annotation means. Other annotations, whose types may not be imported yet, are not read."""
    kind = cls.__annotations__[name] if issubclass(cls, tuple) else cls.__dataclass_fields__[name].type
    text = getattr(kind, "__forward_arg__", kind)
    if not isinstance(text, str):
        return text
    names = _Names()
    for owner in reversed(cls.__mro__):
        names.update(vars(sys.modules[owner.__module__]))
    return eval(text, {}, names)  # noqa: S307 - an annotation in the code of a class


_PLAIN: Mapping[Any, _Rule] = {
    Any: (lambda value: True, "anything"),
    bool: (lambda value: isinstance(value, bool), "a bool"),
    int: (lambda value: isinstance(value, int) and not isinstance(value, bool), "an int"),
    float: (is_number, "a number"),
    NoneType: (lambda value: value is None, "None"),
}


def _rule(kind: Any) -> _Rule:
    """Return whether a value fits a type, and the type in words."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin is Annotated:
        (fits, _), (words, *checks) = _rule(args[0]), kind.__metadata__
        return (lambda value: fits(value) and all(check(value) for check in checks)) if checks else fits, words
    if origin in (Union, UnionType):
        return _either([_rule(arg) for arg in args])
    if origin is Literal:
        words = " or ".join(args) if len(args) < 3 else f"one of {', '.join(args)}"
        return (lambda value: isinstance(value, str) and value in args), words
    if origin in (Mapping, dict):
        if args == (str, str):
            return _is_texts, "a mapping of str to str"
        return (lambda value: isinstance(value, Mapping)), "a mapping"
    if origin in (tuple, frozenset, set, Sequence):
        return _collection(origin, args[0])
    if origin in (Callable, type):
        return callable, "a function" if origin is Callable else "a class"
    return (lambda value: isinstance(value, kind)), f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"


def _either(rules: list[_Rule]) -> _Rule:
    words = " or ".join(dict.fromkeys(wanted for _, wanted in rules if wanted != "None"))
    if len(rules) == 2:
        (one, _), (other, _) = rules
        return (lambda value: one(value) or other(value)), words
    return (lambda value: any(fits(value) for fits, _ in rules)), words


def _is_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)


def _collection(origin: type, item: Any) -> _Rule:
    """Return the rule of a tuple or set. A text is no collection of names, because its letters would be taken for names."""
    taken, fits = (tuple, list, set, frozenset) if item is str else (tuple, list), _rule(item)[0]
    words = "a collection of names" if item is str else f"a {origin.__name__} of {item.__name__}"
    return (lambda value: isinstance(value, taken) and all(fits(each) for each in value)), words
