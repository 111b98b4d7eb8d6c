"""``distribution.yaml``: the file of a distribution, read and checked without importing its package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from os.path import join
from typing import Any, NamedTuple

from .. import __version__
from ..descriptors import KINDS
from ..errors import ConfigError, UnknownName, close_matches
from ..program import PREFIX
from ..settings.config import CORE_KEYS, Layer
from ..settings.documents import Document, read_document
from .discovery import EntryPoint, find_beside, preferred

_KEYS = ("schema_version", "name", "core", "extends", "command", "plugins", "policy", "overrides", "defaults")


class Policy(NamedTuple):
    """The rules of a distribution. Whoever extends the distribution can only narrow them.

    Attributes:
        only_listed: other installed plugins do not run.
        required: plugins without which nothing runs.
        deny: plugins that never run.
        require_lock: nothing runs where what is installed is not what was locked.
        may_leave: a person may switch off listed plugins, and choose another distribution with the distribution's own command.
    """

    only_listed: bool = False
    required: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    require_lock: bool = False
    may_leave: bool = True


class Distribution(NamedTuple):
    """A distribution.

    Attributes:
        name: name of the distribution.
        path: path of its file.
        plugins: names of the plugins in order, the extended distribution's first.
        layers: layers of settings below all settings of the user, the extended distribution's first.
        overrides: kind of item (``adapters``, ``tools``, ...) to name to the plugin whose item the name means.
        policy: its rules.
        command: what its own command has of its own: ``home``, ``prefix``, ``help``.
        family: its name, after those of the distributions that it extends.
    """

    name: str
    path: str
    plugins: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    overrides: Mapping[str, Mapping[str, str]] = {}
    policy: Policy = Policy()
    command: Mapping[str, str] = {}
    family: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """The beginning of the variables of its command."""
        return f"{self.command['prefix']}_" if "prefix" in self.command else PREFIX

    def own_environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return environment variables as its command takes them: with its own folders and prefix."""
        own = {PREFIX + key.removeprefix(self.prefix): v for key, v in environ.items() if key.startswith(self.prefix)}
        others = {key: value for key, value in environ.items() if not key.startswith(PREFIX)}
        home = {"SKILLKIT_NAME": self.command["home"]} if "home" in self.command else {}
        return {**others, **own, **home}


def _expect(document: Document, key: str, value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        shown = "missing" if value is None else repr(value)
        raise ConfigError(f"must be {what}, not {shown}", where=document.where(key))
    return value


def _no_unknown(document: Document, given: Iterable[str], known: Sequence[str], prefix: str = "") -> None:
    for key in given:
        if key not in known:
            close = close_matches(str(key), known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            raise ConfigError(f"unknown key {key!r}", where=document.where(f"{prefix}{key}"), hint=hint)


def _plugins(document: Document) -> tuple[list[str], dict[str, Any], dict[str, str]]:
    """Return the plugins in order, their settings, and the path of each plugin's settings in the document."""
    names: list[str] = []
    config: dict[str, Any] = {}
    places: dict[str, str] = {}
    for i, item in enumerate(_expect(document, "plugins", document.data.get("plugins", []), list, "a list")):
        if isinstance(item, str):
            name = item
        else:
            _expect(document, f"plugins.{i}", item, dict, "a plugin's name or a mapping with 'id'")
            _no_unknown(document, item, ("id", "config"), f"plugins.{i}.")
            name = _expect(document, f"plugins.{i}.id", item.get("id"), str, "a plugin's name")
            if item.get("config") is not None:
                config[name] = _expect(document, f"plugins.{i}.config", item["config"], dict, "a mapping")
                places[name] = f"plugins.{i}.config"
        if name in names:
            raise ConfigError(f"plugin {name!r} is listed twice", where=document.where(f"plugins.{i}"))
        names.append(name)
    return names, config, places


def _settings(document: Document, config: Mapping[str, Any], places: Mapping[str, str]) -> Layer:
    """Return the settings of a distribution as a layer whose places are the document's own paths."""
    defaults: Mapping[str, Any] = _expect(document, "defaults", document.data.get("defaults", {}), dict, "a mapping")
    _no_unknown(document, defaults, [k for k in CORE_KEYS if k != "distribution"], "defaults.")

    def where(key: str) -> str:
        head, dot, rest = key.partition(".")
        inside = f"{places[head]}{dot}{rest}" if head in places else f"defaults.{key}"
        return document.where(inside)

    return Layer("distribution", {**defaults, **config}, where, os.path.dirname(document.path))


def _policy(document: Document, base: Policy) -> Policy:
    given: Mapping[str, Any] = _expect(document, "policy", document.data.get("policy", {}), dict, "a mapping")
    _no_unknown(document, given, Policy._fields, "policy.")
    found: dict[str, Any] = {}
    for key, value in given.items():
        place, old = f"policy.{key}", getattr(base, key)
        if isinstance(old, bool):
            _expect(document, place, value, bool, "true or false")
            if value != old != Policy._field_defaults[key]:
                what = f"must stay {str(old).lower()}: the extended distribution says so, and policies only narrow"
                raise ConfigError(what, where=document.where(place))
            found[key] = value
        else:
            for i, name in enumerate(_expect(document, place, value, list, "a list of plugins")):
                _expect(document, f"{place}.{i}", name, str, "a plugin's name")
            found[key] = (*old, *value)
    return base._replace(**found)


def _command(document: Document) -> Mapping[str, str]:
    given: Mapping[str, str] = _expect(document, "command", document.data.get("command", {}), dict, "a mapping")
    _no_unknown(document, given, ("home", "prefix", "help"), "command.")
    for key, value in given.items():
        _expect(document, f"command.{key}", value, str, "a text")
        if key != "help" and not re.fullmatch(r"[A-Za-z][\w-]*", value):
            raise ConfigError(f"must be a name such as 'acme', not {value!r}", where=document.where(f"command.{key}"))
    return given


def in_range(version: str, wanted: str) -> bool:
    """Return whether a plain release number fits a comma list of ``>= > <= < == !=`` bounds."""

    def key(text: str) -> tuple[int, ...]:
        numbers = [int(n) for n in re.findall(r"\d+", text)]
        return tuple((*numbers, 0, 0, 0)[:3])

    have = key(version)
    for part in filter(None, (p.strip() for p in wanted.split(","))):
        match = re.fullmatch(r"(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)", part)
        if match is None:
            raise ValueError(part)
        bound = key(match[2])
        fits = {
            ">=": have >= bound, "<=": have <= bound, ">": have > bound,
            "<": have < bound, "==": have == bound, "!=": have != bound,
        }  # fmt: skip
        if not fits[match[1]]:
            return False
    return True


def _check_head(document: Document) -> str:
    """Check schema version and core range, and return the distribution's name."""
    data = document.data
    _no_unknown(document, data, _KEYS)
    version = data.get("schema_version")
    if version != 1 or isinstance(version, bool):
        raise ConfigError(f"must be 1, not {version!r}", where=document.where("schema_version"))
    name: str = _expect(document, "name", data.get("name"), str, "a name")
    core = _expect(document, "core", data.get("core", ""), str, "a version range in quotes")
    try:
        fits = in_range(__version__, core)
    except ValueError as error:
        hint = "write something like '>=0.1,<0.2'"
        raise ConfigError(f"{str(error)!r} is not a version bound", where=document.where("core"), hint=hint) from None
    if not fits:
        hint = "upgrade the package of the distribution, or skillkit-core"
        raise ConfigError(f"wants skillkit-core {core}, this is {__version__}", where=document.where("core"), hint=hint)
    return name


def _overrides(document: Document, plugins: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    overrides: Mapping[str, Any] = _expect(document, "overrides", document.data.get("overrides", {}), dict, "a mapping")
    if not overrides.keys() <= set(KINDS):
        from difflib import get_close_matches

        misspelt = [kind for kind in overrides if get_close_matches(str(kind), KINDS, 1, 0.75)]
        # Plugins, which are not imported yet, may define the other kinds.
        _no_unknown(document, misspelt, KINDS, "overrides.")
    for kind, chosen in overrides.items():
        _expect(document, f"overrides.{kind}", chosen, dict, "a mapping of names to plugins")
        for name, plugin in chosen.items():
            if plugin not in plugins:
                close = close_matches(str(plugin), plugins, 1)
                raise ConfigError(
                    f"{plugin!r} is not a plugin that this distribution lists",
                    where=document.where(f"overrides.{kind}.{name}"),
                    hint=f"did you mean {close[0]!r}?" if close else None,
                )
    return overrides


def read_distribution(
    path: str | os.PathLike[str],
    installed: Sequence[EntryPoint] = (),
    cache: str | os.PathLike[str] | None = None,
    _seen: tuple[str, ...] = (),
) -> Distribution:
    """Read the ``distribution.yaml`` at ``path`` and those that the file extends.

    Raises:
        ConfigError: a file is missing or wrong. The error names file, line and YAML path.
    """
    with suppress(OSError), open(path, "rb") as file:
        cache = None if b"require_lock" in file.read() else cache  # who may write the cache does not change a policy
    document = read_document(path, cache)
    if document is None:
        raise ConfigError("there is no such file", where=os.fspath(path))
    name = _check_head(document)
    names, config, places = _plugins(document)
    base = _base(document, name, installed, cache, _seen)
    policy = _policy(document, base.policy if base else Policy())
    for i, plugin in enumerate(names):
        if plugin in policy.deny:
            where = document.where(f"plugins.{i}")
            raise ConfigError(f"plugin {plugin!r} is denied", where=where, hint="policy.deny has it")
    plugins = tuple(dict.fromkeys(p for p in (*(base.plugins if base else ()), *names) if p not in policy.deny))
    overrides = {kind: dict(chosen) for kind, chosen in (base.overrides if base else {}).items()}
    for kind, chosen in _overrides(document, plugins).items():
        overrides.setdefault(kind, {}).update(chosen)
    layers = [*(base.layers if base else ()), _settings(document, config, places)]
    if own := policy.required[len(base.policy.required) if base else 0 :]:
        needs = {"plugins": {"required": list(own)}}
        layers.append(Layer("distribution", needs, lambda key: document.where("policy.required")))
    family = (*(base.family if base else ()), name)
    return Distribution(name, document.path, plugins, tuple(layers), overrides, policy, _command(document), family)


def _base(
    document: Document,
    name: str,
    installed: Sequence[EntryPoint],
    cache: str | os.PathLike[str] | None,
    seen: tuple[str, ...],
) -> Distribution | None:
    """Return the distribution that a document extends."""
    if document.data.get("extends") is None:
        return None
    wanted: str = _expect(document, "extends", document.data["extends"], str, "a distribution's name")
    if wanted in (*seen, name):
        raise ConfigError("extends itself", where=document.where("extends"))
    if wanted.endswith((".yaml", ".yml")):
        wanted = join(os.path.dirname(document.path), wanted)
    if len(seen) > 10:
        raise ConfigError("extends itself, or too many others", where=document.where("extends"))
    try:
        return load_distribution(wanted, installed, cache, (*seen, name))
    except UnknownName as error:
        raise ConfigError(error.message, where=document.where("extends"), hint=error.hint) from None


def load_distribution(
    name: str, installed: Sequence[EntryPoint], cache: str | os.PathLike[str] | None = None, _seen: tuple[str, ...] = ()
) -> Distribution:
    """Return the installed distribution called ``name``, or the one in the file whose path ``name`` is.

    Raises:
        UnknownName: there is no such distribution.
        ConfigError: the file of the distribution is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return read_distribution(name, installed, cache, _seen)
    same = [e for e in installed if e.name == name]
    if not same:
        raise UnknownName("distribution", name, [e.name for e in installed])
    entry = preferred(same)
    path = find_beside(entry, "distribution.yaml")
    if path is None:
        where, hint = f"distribution {name!r} ({entry.distribution} {entry.version})", "pip install --force-reinstall "
        raise ConfigError("has no distribution.yaml", where=where, hint=f"{hint}{entry.distribution}")
    return read_distribution(path, installed, cache, _seen)
