"""Arguments of an action: checked and turned into the types that the action declares (ACT-1).

Their patterns are matched by RE2: its time grows with the text alone, whatever the pattern is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from skillkit_core.errors import ToolError
from skillkit_core.skills import ActionArg

__all__ = [
    "ArgumentError",
    "BadValue",
    "PatternError",
    "coerce",
    "coerce_value",
    "inside",
    "pattern_found",
    "pattern_problem",
]

_TRUE = frozenset(("true", "yes", "on", "1"))
_FALSE = frozenset(("false", "no", "off", "0"))
_MEMORY = 8 << 20  # of one pattern


class BadValue(ValueError):
    """A value that does not fit its type; the text says why."""


class ArgumentError(ToolError):
    """Arguments that an action cannot run with; ``code`` is ``missing-argument:a``, ``invalid-argument:a`` or such."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def coerce(args: Sequence[ActionArg], given: Mapping[str, Any], workspace: Path) -> dict[str, Any]:
    """``given`` in the declared types, with defaults, in the order of declaration.

    Secret arguments are left out: they reach the program through its environment.

    Args:
        args: the declarations.
        given: what a model, a person or a program wants; text is turned into the declared type where it can be.
        workspace: where ``file`` arguments must lie, by their real path.

    Raises:
        ArgumentError: one is missing, unknown, ill-typed, not among its enum, or a file outside the workspace.
    """
    known = {a.name: a for a in args}
    for name in given:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ArgumentError(f"unknown-argument:{name}", f"unknown argument {name!r}; {takes}")
    out: dict[str, Any] = {}
    for arg in args:
        value = given.get(arg.name)
        if value is None:
            value = arg.default
        if value is None:
            if arg.required and not arg.secret:
                raise ArgumentError(f"missing-argument:{arg.name}", f"argument {arg.name!r} is missing")
            continue
        try:
            out[arg.name] = _fit(arg, value, workspace)
        except BadValue as e:
            raise ArgumentError(f"invalid-argument:{arg.name}", f"argument {arg.name!r}: {e}") from None
    return out


def coerce_value(kind: str, value: Any) -> Any:
    """``value`` as ``kind`` (string, integer, number, boolean, file, json, array).

    Raises:
        BadValue: it is not one.
    """
    if kind == "json":
        return _json(value)
    if kind == "array":
        return [coerce_value("string", v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    if kind == "boolean":
        return _boolean(value)
    if kind in ("integer", "number"):
        return _number(kind, value)
    if isinstance(value, (list, tuple, Mapping)):
        raise BadValue(f"expected text, got {type(value).__name__}")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "\0" in text:
        raise BadValue("text cannot hold a NUL character")
    return text


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise BadValue(f"expected true or false, got {value!r}")


def _number(kind: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadValue(f"expected {kind}, got {value!r}")
    try:
        number = float(value)
        if kind == "integer":
            return int(value) if isinstance(value, (int, str)) else _whole(value)
    except (ValueError, OverflowError):
        raise BadValue(f"expected {kind}, got {value!r}") from None
    if not math.isfinite(number):
        raise BadValue(f"expected a finite number, got {value!r}")
    return value if isinstance(value, (int, float)) else int(number) if re.fullmatch(r"[-+]?\d+", value) else number


def _whole(value: float) -> int:
    if not value.is_integer():
        raise ValueError(value)
    return int(value)


def _json(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise BadValue(f"not JSON: {e}") from None
    return value


def _fit(arg: ActionArg, value: Any, workspace: Path) -> Any:
    value = coerce_value(arg.type, value)
    for one in value if arg.type == "array" else (value,):
        _check(arg, one)
    if arg.type == "file":
        inside(str(value), workspace)
        return f"./{value}" if value.startswith("-") else value
    return value


def _check(arg: ActionArg, value: Any) -> None:
    if arg.enum and value not in arg.enum:
        raise BadValue(f"{value!r} is not one of {', '.join(map(str, arg.enum))}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if arg.minimum is not None and value < arg.minimum:
            raise BadValue(f"{value} is below {arg.minimum}")
        if arg.maximum is not None and value > arg.maximum:
            raise BadValue(f"{value} is above {arg.maximum}")
    if arg.pattern is not None and isinstance(value, str):
        try:
            fits = pattern_found(arg.pattern, value)
        except PatternError as e:
            raise BadValue(str(e)) from None
        if not fits:
            raise BadValue(f"{value!r} does not match {arg.pattern}")


def inside(value: str, workspace: Path, base: Path | None = None) -> Path:
    """The real path of ``value``, a path in the workspace; relative ones start at ``base`` (default: the workspace).

    Raises:
        BadValue: it is empty, or lies outside, links followed.
    """
    if not value:
        raise BadValue("the path is empty")
    root = workspace.resolve()
    try:
        real = ((base or root) / value).resolve()
    except (OSError, RuntimeError, ValueError) as e:
        raise BadValue(f"{value!r} is no usable path: {e}") from None
    if not real.is_relative_to(root):
        raise BadValue(f"{value!r} is outside the workspace {root}")
    return real


class PatternError(ValueError):
    """A pattern that cannot be used; the text says why."""


def pattern_found(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text.

    Raises:
        PatternError: RE2 cannot match it.
    """
    return _compiled(pattern).search(text) is not None


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern cannot be matched, or ``None``."""
    try:
        _compiled(pattern)
    except PatternError as error:
        return str(error)
    return None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # not imported for skills without patterns

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    # what Python writes as \Z is \z in RE2; an escaped backslash before the letter is none of it
    ours = re.sub(r"\\(.)", lambda m: r"\z" if m[1] == "Z" else m[0], pattern, flags=re.S)
    try:
        return re2.compile(ours, options=options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0] if error.args else b""
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise PatternError(
            f"the pattern {pattern!r} cannot be matched: {text}; look-around and backreferences cannot be used"
        ) from None
