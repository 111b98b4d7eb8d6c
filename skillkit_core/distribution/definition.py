"""``distribution.yaml``: what a distribution says, read and checked without importing the package it lies in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import ConfigError, UnknownName, close_matches
from ..host.discovery import EntryPoint
from ..settings.documents import Document, read_document

__all__ = ["Distribution", "load_distribution", "read_distribution"]

_KEYS = ("schema_version", "name", "core", "extends", "plugins", "policy", "overrides", "defaults")
_POLICY = ("only_listed",)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution.

    Attributes:
        name: its name. path: its file.
        plugins: plugin names, in order, the extended distribution's first.
        config: sections of configuration by plugin, below everything the user sets.
        defaults: core settings, below everything the user sets.
        overrides: kind of item (``adapters``, ``tools``, ...) to name to the plugin that has it.
        only_listed: other installed plugins do not run.
    """

    name: str
    path: Path
    plugins: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    only_listed: bool = False


def _expect(document: Document, key: str, value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise ConfigError(f"must be {what}, not {value!r}", where=document.where(key))
    return value


def _no_unknown(document: Document, given: Mapping[str, Any], known: Sequence[str], prefix: str = "") -> None:
    for key in given:
        if key not in known:
            close = close_matches(str(key), known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            raise ConfigError(f"unknown key {key!r}", where=document.where(f"{prefix}{key}"), hint=hint)


def _plugins(document: Document, given: Any) -> tuple[list[str], dict[str, Any]]:
    names: list[str] = []
    config: dict[str, Any] = {}
    for i, item in enumerate(_expect(document, "plugins", given, list, "a list")):
        if isinstance(item, str):
            name = item
        else:
            _expect(document, f"plugins.{i}", item, dict, "a plugin's name or a mapping with 'id'")
            _no_unknown(document, item, ("id", "config"), f"plugins.{i}.")
            name = _expect(document, f"plugins.{i}.id", item.get("id"), str, "a plugin's name")
            if item.get("config") is not None:
                config[name] = _expect(document, f"plugins.{i}.config", item["config"], dict, "a mapping")
        if name in names:
            raise ConfigError(f"plugin {name!r} is listed twice", where=document.where(f"plugins.{i}"))
        names.append(name)
    return names, config


def _in_range(version: str, wanted: str) -> bool:
    """Whether a plain release number fits a comma list of ``>= > <= < == !=`` bounds."""

    def key(text: str) -> tuple[int, ...]:
        numbers = [int(n) for n in re.findall(r"\d+", text)]
        return tuple((*numbers, 0, 0, 0)[:3])

    compare = {
        ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
        "<": lambda a, b: a < b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    }  # fmt: skip
    for part in filter(None, (p.strip() for p in wanted.split(","))):
        match = re.fullmatch(r"(>=|<=|==|!=|>|<)\s*([0-9.]+)", part)
        if match is None:
            raise ValueError(part)
        if not compare[match[1]](key(version), key(match[2])):
            return False
    return True


def read_distribution(
    path: Path, installed: Sequence[EntryPoint] = (), cache: Path | None = None, _seen: tuple[str, ...] = ()
) -> Distribution:
    """Read ``distribution.yaml`` at ``path`` and what it extends.

    Raises:
        ConfigError: names file, line and YAML path.
    """
    document = read_document(path, cache)
    if document is None:
        raise ConfigError("there is no such file", where=str(path))
    data = document.data
    _no_unknown(document, data, _KEYS)
    if data.get("schema_version") != 1:
        raise ConfigError("must be 1", where=document.where("schema_version"))
    name = _expect(document, "name", data.get("name"), str, "a name")
    core = _expect(document, "core", data.get("core", ""), str, "a version range")
    try:
        fits = _in_range(__version__, core)
    except ValueError as error:
        raise ConfigError(f"{error} is not a version bound", where=document.where("core")) from None
    if not fits:
        raise ConfigError(f"wants skillkit-core {core}, this is {__version__}", where=document.where("core"))
    names, config = _plugins(document, data.get("plugins", []))
    policy = _expect(document, "policy", data.get("policy", {}), dict, "a mapping")
    _no_unknown(document, policy, _POLICY, "policy.")
    only = _expect(document, "policy.only_listed", policy.get("only_listed", False), bool, "true or false")
    defaults = _expect(document, "defaults", data.get("defaults", {}), dict, "a mapping")
    overrides = _expect(document, "overrides", data.get("overrides", {}), dict, "a mapping")
    for kind, chosen in overrides.items():
        _expect(document, f"overrides.{kind}", chosen, dict, "a mapping of names to plugins")
    found = Distribution(name, path, tuple(names), config, defaults, overrides, only)
    base_name = data.get("extends")
    if base_name is None:
        return found
    if base_name in (*_seen, name):
        raise ConfigError("extends itself", where=document.where("extends"))
    try:
        base = load_distribution(base_name, installed, cache, (*_seen, name))
    except UnknownName as error:
        raise ConfigError(str(error), where=document.where("extends")) from None
    return Distribution(
        name,
        path,
        (*base.plugins, *(p for p in names if p not in base.plugins)),
        {**base.config, **config},
        {**base.defaults, **defaults},
        {**base.overrides, **overrides},
        only or base.only_listed,
    )


def load_distribution(
    name: str, installed: Sequence[EntryPoint], cache: Path | None = None, _seen: tuple[str, ...] = ()
) -> Distribution:
    """The installed distribution called ``name``, or the one in the file that ``name`` is the path of.

    Raises:
        UnknownName: no such distribution. ConfigError: its file is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return read_distribution(Path(name), installed, cache, _seen)
    for entry in installed:
        if entry.name == name:
            path = locate(entry)
            if path is None:
                raise ConfigError(
                    "has no distribution.yaml", where=f"distribution {name!r} ({entry.distribution} {entry.version})"
                )
            return read_distribution(path, installed, cache, _seen)
    raise UnknownName("distribution", name, [e.name for e in installed])


def locate(entry: EntryPoint) -> Path | None:
    """The ``distribution.yaml`` in the package that the entry point names."""
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec(entry.value)
    for place in (found.submodule_search_locations or ()) if found else ():
        path = Path(place) / "distribution.yaml"
        if path.is_file():
            return path
    return None
