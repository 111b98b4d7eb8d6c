"""The merged configuration: its layers, its validated sections, and the origin of each value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os.path import expanduser, join
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin

from ..errors import ConfigError, Diagnostic, PluginError, close_matches
from .paths import relative_directories

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..config import Limits, RetryPolicy
    from ..descriptors import ConfigSection


CORE_KEYS = (
    "model", "provider", "api", "base_url", "system_prompt", "thinking", "distribution", "runtime",
    "compactor", "plugins", "session", "limits", "retry", "tools",
)  # fmt: skip
_NOT_SETTINGS = frozenset(f"SKILLKIT_{name}" for name in ("HOME", "DEBUG", "NAME", "PLUGINS", "TRACE", "WEB_TOKEN"))
_SHAPES = {
    "model_type": "a mapping of settings", "dict_type": "a mapping of settings", "list_type": "a list",
    "tuple_type": "a list", "set_type": "a list", "frozen_set_type": "a list", "path_type": "a path",
}  # fmt: skip
_ABSENT = object()
_USER = re.compile(r"((?<=://)[^/\s]+|[^/\s:@]+:[^/\s]+)@")
_QUERY = re.compile(r"(?<=://)([^?#\s]*)[?#]\S+")
_REQUIRED = ("plugins", "required")


class Layer(NamedTuple):
    """One source of settings.

    Attributes:
        where: returns the place of the value of a dotted key, for errors and ``config show``.
        base: the directory at which relative paths start; empty: the workspace.
    """

    name: str
    data: Mapping[str, Any]
    where: Callable[[str], str] = str
    base: str = ""

    def list_of(self, section: str, key: str) -> list[Any]:
        """Return the items that the layer gives a setting that is a list, also as the text of a variable."""
        given = self.data.get(section)
        found = given.get(key) if isinstance(given, Mapping) else None
        return split_list(found) if isinstance(found, str) else list(found) if isinstance(found, (list, tuple)) else []


class _Variable(str):
    """The text of an environment variable. A setting that is a list takes the text as JSON, or as a list with commas."""

    __slots__ = ()


def environment_layer(environ: Mapping[str, str], sections: Iterable[str] = ()) -> Layer:
    """Return the layer of environment variables: ``SKILLKIT_BASH__TIMEOUT=5`` sets ``bash.timeout``.

    A list is written with commas or as JSON, the dash of a section's name as an underscore. An empty variable counts as not set.
    Variables that are no setting (``SKILLKIT_HOME``, ``SKILLKIT_PLUGINS``) are left out.

    Args:
        sections: names of sections. A variable cannot spell a dash, so that a section with a dash needs its name here.
    """
    spelled = {name.replace("-", "_"): name for name in sections if "-" in name}
    data: dict[str, Any] = {}
    names: dict[str, str] = {}
    for variable in sorted(environ):
        if not variable.startswith("SKILLKIT_") or variable in _NOT_SETTINGS or not environ[variable]:
            continue
        parts = variable.removeprefix("SKILLKIT_").lower().split("__")
        if len(parts) == 1 and parts[0] not in CORE_KEYS:
            # Other programs use the prefix too.
            continue
        parts[0] = spelled.get(parts[0], parts[0])
        names[".".join(parts)] = variable
        _put(data, parts, _Variable(environ[variable]))
    return Layer("environment", data, lambda key: _variable(key, names))


def odd_variables(environ: Mapping[str, str], sections: Iterable[str] = ()) -> Iterator[str]:
    """Return a line for each variable that sets nothing but looks as if it did. Plugins read ``_URL`` and ``_TOKEN`` as secrets.

    Args:
        sections: the names of the sections of plugins.
    """
    for name in relative_directories(environ):
        yield f"{name} is ignored: {environ[name]!r} is no absolute path"
    known = {*(f"SKILLKIT_{key.upper()}" for key in CORE_KEYS), *_NOT_SETTINGS}
    odd = sorted(n for n in environ.keys() - known if environ[n] and re.match(r"SKILLKIT_(?!.*(__|_URL$|_TOKEN$))", n))
    if not odd:
        return
    groups = [n.upper().replace("-", "_") for n in ("plugins", "session", "limits", "retry", "tools", *sections)]
    for variable in odd:
        name = variable.removeprefix("SKILLKIT_")
        meant = [name.replace(f"{group}_", f"{group}__", 1) for group in groups if name.startswith(f"{group}_")]
        meant = meant or close_matches(name, [n.removeprefix("SKILLKIT_") for n in known], 1, cutoff=0.7)
        if meant:
            yield f"{variable} sets nothing; did you mean SKILLKIT_{meant[0]}?"


def _variable(key: str, names: Mapping[str, str]) -> str:
    while key:
        for name, variable in names.items():
            if name == key or name.startswith(f"{key}."):
                return variable
        key = key.rpartition(".")[0]
    return "the environment"


def flag_layer(values: Mapping[str, Any]) -> Layer:
    """Return the layer of values that the command line or an application gives, by dotted key. ``None`` means not given."""
    data: dict[str, Any] = {}
    for key, value in values.items():
        if value is not None:
            _put(data, key.split("."), value)
    return Layer("flags", data, lambda key: f"flag for {key}")


def _put(data: dict[str, Any], parts: Sequence[str], value: Any) -> None:
    for part in parts[:-1]:
        inner = data.get(part)
        if not isinstance(inner, dict):
            inner = data[part] = {}
        data = inner
    data[parts[-1]] = value


def _get(data: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        if isinstance(data, Mapping) and part in data:
            data = data[part]
        elif isinstance(data, (list, tuple)) and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
        else:
            return _ABSENT
    return data


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(low)
    for key, value in high.items():
        old = out.get(key)
        out[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return out


def _marked(value: Any) -> str:
    """Return ``true`` or ``false`` for the value of ``plugins.NAME`` that says whether a plugin is isolated, else nothing."""
    said = str(value["isolated"]).lower() if isinstance(value, Mapping) and value.keys() == {"isolated"} else ""
    return said if said in ("true", "false") else ""


def section_model(section: ConfigSection) -> Any:
    """Return the pydantic model of a section, made of its dataclass where it is one; raise as :func:`section_kind`."""
    from .sections import model_of

    kind = section_kind(section)
    return model_of(kind) if hasattr(kind, "__dataclass_fields__") else kind


def section_kind(section: ConfigSection) -> Any:
    """Return the dataclass or the pydantic model of a section, as it is declared.

    Raises:
        PluginError: the model cannot be imported, or is neither.
    """
    from ..descriptors import load_object

    try:
        kind = load_object(section.model)
    except ImportError as error:
        raise PluginError(f"its model cannot be loaded: {error}", where=f"section {section.name!r}") from error
    if not hasattr(kind, "model_validate") and not hasattr(kind, "__dataclass_fields__"):
        where = f"section {section.name!r}"
        raise PluginError(f"{section.model!r} is neither a pydantic model nor a dataclass", where=where)
    return kind


def masked(value: Any, key: str = "") -> Any:
    """Return a setting as people may see it: without users and queries of URLs, and without values of headers and queries."""
    if isinstance(value, Mapping):
        return {name: masked(inner, f"{key}.{name}") for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(inner, f"{key}.") for inner in value]
    if not {"headers", "query"}.isdisjoint(key.split(".")[:-1]):
        return "***"
    return _QUERY.sub(r"\1?***", _USER.sub("***@", value)) if isinstance(value, str) else value


class Config:
    """The configuration of a host.

    Args:
        layers: lowest first.
        sections: returns the sections that plugins declared.
        installed: returns the plugins that are installed, and of each why nobody asked it for its section, "" where it
            failed. Such a section is no mistake. ``None``: the plugin was asked.
        cwd: the directory at which the relative paths of variables and flags start.
        whence: returns which package brings a kind of item with a name.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        sections: Callable[[], Mapping[str, ConfigSection]] = dict,
        installed: Callable[[], Mapping[str, str | None]] = dict,
        cwd: str = "",
        whence: Callable[[str, str], str | None] = lambda kind, name: None,
    ) -> None:
        self.layers = list(layers)
        self._whence = whence
        self._sections = sections
        self._installed = installed
        self._cwd = cwd
        self._valid: dict[str, Any] = {}
        self._checked = False
        self._data: dict[str, Any] | None = None
        self._limits: dict[Limits, Limits] = {}

    def put_below(self, layers: Sequence[Layer]) -> None:
        """Add layers below the present ones."""
        self.layers[:0] = layers
        self._data = None

    @property
    def data(self) -> Mapping[str, Any]:
        """All layers merged, not validated. ``plugins.required`` adds up: no layer takes away what another one needs."""
        if self._data is None:
            data: dict[str, Any] = {}
            required: list[Any] = []
            for layer in self.layers:
                data = _merge(data, layer.data)
                required += layer.list_of(*_REQUIRED)
            given = _get(data, _REQUIRED)
            if required and (given is _ABSENT or given is None or isinstance(given, (list, _Variable))):
                plugins = data.get("plugins") or {}
                data["plugins"] = {**plugins, "required": list(dict.fromkeys(required))}
            if isinstance(plugins := data.get("plugins"), Mapping):
                named = isinstance(plugins.get("isolate", []), (list, _Variable))
                isolated = {"isolate": [*self.isolated]} if named else {}
                data["plugins"] = {name: v for name, v in plugins.items() if not _marked(v)} | isolated
            self._data = data
        return self._data

    @property
    def isolated(self) -> Mapping[str, str]:
        """The plugins that run in processes of their own, each with where that is set. They add up; a project's do not count."""
        found: dict[str, str] = {}
        for layer in (one for one in self.layers if one.name != "project"):
            given = layer.data.get("plugins")
            marked = given.items() if isinstance(given, Mapping) else ()
            found |= {str(name): layer.where("plugins.isolate") for name in layer.list_of("plugins", "isolate")}
            found |= {name: layer.where(f"plugins.{name}.isolated") for name, v in marked if _marked(v) == "true"}
        return found

    def raw(self, key: str) -> Any:
        """Return the value of a dotted key before validation, ``None`` when no layer sets it."""
        found = _get(self.data, key.split("."))
        return None if found is _ABSENT else found

    def origin(self, key: str, item: str | None = None) -> str | None:
        """Return the place of a dotted key in the highest layer that sets it, ``None`` when no layer does.

        Args:
            item: what the value of the layer must hold.
        """
        layer = self._layer(key.split("."), item)
        return None if layer is None else str(layer.where(key))

    def base(self, key: str) -> str:
        """Return the directory at which a relative path at a dotted key starts: that of the file that sets it."""
        layer = self._layer(key.split("."))
        return (layer.base if layer is not None else "") or self._cwd

    def _layer(self, parts: Sequence[str], item: str | None = None) -> Layer | None:
        found = ((layer, _get(layer.data, parts)) for layer in reversed(self.layers))
        return next((x for x, value in found if value is not _ABSENT and (item is None or item in (value or ()))), None)

    def section(self, name: str, default: Any = _ABSENT) -> Any:
        """Return the validated section of plugin ``name``, ``None`` when the plugin declared none.

        Args:
            default: returned when nothing is set or declared; then the section's model is not imported.

        Raises:
            ConfigError: a value does not fit. The error names file, line and path.
            PluginError: the section itself is broken.
        """
        given = self.data.get(name)
        if given is None and default is not _ABSENT:
            return default
        if name not in self._valid:
            declared = self._sections().get(name)
            if declared is None:
                return None if default is _ABSENT else default
            self._valid[name] = self._made(section_kind(declared), {} if given is None else given, name)
        return self._valid[name]

    @property
    def core(self) -> Any:
        """The validated :class:`~skillkit_core.settings.schema.CoreSettings`."""
        if "" not in self._valid:
            from .schema import CoreSettings

            self._valid[""] = self._made(CoreSettings, {k: v for k, v in self.data.items() if k in CORE_KEYS}, "")
        return self._valid[""]

    def get(self, key: str, default: Any = None) -> Any:
        """Return a validated value by dotted key, for example ``limits.turns`` or ``skills.dirs``."""
        head, _, rest = key.partition(".")
        found: Any = (self._valid.get("") or self.core) if head in CORE_KEYS else self.section(head)
        for part in (key if head in CORE_KEYS else rest).split("."):
            if found is None or not part:
                break
            found = found.get(part) if isinstance(found, Mapping) else getattr(found, part, None)
        return default if found is None else found

    def limits(self, own: Limits | None = None) -> Limits:
        """Return the limits of a run. Of a limit that both the configuration and the agent set, the lower value counts.

        Args:
            own: the agent's limits; ``None``: the agent has none of its own.
        """
        if own is not None and own not in self._limits:
            self._limits[own] = type(own)(**{n: self._lower(n, getattr(own, n)) for n in own.__dataclass_fields__})
        return self.core.limits if own is None else self._limits[own]

    def _lower(self, bound: str, own: Any) -> Any:
        """Return the lower one of an agent's own limit and the configured one."""
        configured = self.get(f"limits.{bound}") if self.origin(f"limits.{bound}") is not None else None
        return own if configured is None else configured if own is None else min(own, configured)

    def retry(self, own: RetryPolicy | None = None) -> RetryPolicy:
        """Return the agent's ``own`` retry policy as a whole, else the configured one."""
        return self.core.retry if own is None else own

    def check(self) -> list[Diagnostic]:
        """Validate everything: the keys of the core, every section, and that there are no unknown keys.

        Return a warning for each section of a plugin that does not run, but not where a distribution alone sets it. A section
        that its own plugin broke is passed over, because the writer of the configuration made no mistake.

        Raises:
            ConfigError: the first mistake.
        """
        if self._checked:
            return []
        sections, installed = self._sections(), self._installed()
        idle = {name: why for name, why in installed.items() if why is not None and name not in sections}
        known = {*CORE_KEYS, *sections, *idle}
        found: dict[str, Diagnostic] = {}
        for layer in self.layers:
            for key, value in layer.data.items():
                name, where, remedy = str(key), layer.where(str(key)), "enable the plugin, or remove the section"
                why = idle.get(name) if value and layer.name != "distribution" else None
                if key not in known:
                    close, own = close_matches(name, known, 1), key in installed or not isinstance(value, Mapping)
                    if own or close_matches(name, known, 1, cutoff=0.75):
                        hint = f"did you mean {close[0]!r}?" if close else "no plugin that runs has such a section"
                        hint = f"'skillkit plugins info {name}' names its section" if key in installed else hint
                        raise ConfigError(f"unknown setting {key!r}", where=where, hint=hint)
                    way = self._whence("config", name) or "install the package that brings it"
                    why, remedy = "not installed", f"{way}, or remove the section"
                if why:
                    message = f"{where}: the section does not count, because the plugin is {why}"
                    found.setdefault(name, Diagnostic(name, "config", message, remedy, severity="warning"))
        _ = self.core
        for name in (name for name in sections if name in self.data):  # defaults are read when they are needed
            with suppress(PluginError):
                self.section(name)
        self._checked = True
        return list(found.values())

    def _made(self, kind: Any, given: Any, prefix: str) -> Any:
        """Return settings as their pydantic model, or as their dataclass, for which pydantic sees only what is not plain."""
        if not hasattr(kind, "__dataclass_fields__"):
            return self._validate(kind, given, prefix)
        from .sections import model_of, plain_values, values_of

        found = plain_values(kind, given, partial(self._base, prefix)) if isinstance(given, Mapping) else None
        return values_of(kind, self._validate(model_of(kind), given, prefix)) if found is None else found

    def _base(self, prefix: str, key: str) -> str:
        return self.base(f"{prefix}.{key}" if prefix else key)

    def _validate(self, model: type[BaseModel], given: Any, prefix: str) -> BaseModel:
        from pydantic import ValidationError

        if isinstance(given, Mapping):
            given = _prepared(model, given, partial(self._base, prefix))
        try:
            return model.model_validate(given)
        except ValidationError as error:
            found = [(_keys(given, e), e) for e in error.errors(include_url=False)]
            keys, problem = max(found, key=lambda f: len(f[0]))  # of a union the member that came furthest
            raise self._explain(".".join([*([prefix] if prefix else []), *keys]), problem, model) from None
        except Exception as error:
            owner = f"section {prefix!r}" if prefix else "the core's settings"
            raise PluginError(f"its validation failed: {type(error).__name__}: {error}", where=owner) from error

    def _explain(self, path: str, problem: Mapping[str, Any], model: type[BaseModel]) -> ConfigError:
        where, given = self._place(path), masked(problem.get("input"), path)
        shown = repr(given) if len(repr(given)) < 60 else repr(given)[:57] + "..."
        if isinstance(given, Mapping | list):  # it may hold secrets below keys that do not say so
            shown = "a mapping" if isinstance(given, Mapping) else "a list"
        if wanted := _SHAPES.get(problem["type"]):
            return ConfigError(f"must be {wanted}, not {shown}", where=where)
        if problem["type"] == "extra_forbidden":
            name = path.rpartition(".")[2]
            close = close_matches(name, _field_names(model), 1)
            hint = f"did you mean {close[0]!r}?" if close else None
            return ConfigError(f"unknown setting {name!r}", where=where, hint=hint)
        if problem["type"] == "value_error":  # of a validator, which says what is wrong
            return ConfigError(problem["msg"].removeprefix("Value error, "), where=where)
        message = problem["msg"][:1].lower() + problem["msg"][1:]
        return ConfigError(f"{message}, not {shown}", where=where)

    def _place(self, path: str) -> str:
        """Return where the highest layer sets ``path``, or else the longest part of ``path`` that any layer sets."""
        parts = path.split(".")
        for n in range(len(parts), 0, -1):
            if (layer := self._layer(parts[:n])) is not None:
                return str(layer.where(path))
        return path

    def values(self) -> Iterator[tuple[str, Any, str]]:
        """Yield every setting, sorted: its key, effective value and origin (``default`` where no layer sets it)."""
        rows: list[tuple[str, Any, str]] = []
        rows.extend(self._rows("", self.core))
        for name in self._sections():
            with suppress(PluginError):
                rows.extend(self._rows(name, self.section(name)))
        yield from sorted(rows, key=lambda r: r[0])

    def _rows(self, prefix: str, section: Any) -> Iterator[tuple[str, Any, str]]:
        for name in _fields(section):
            key = f"{prefix}.{name}" if prefix else name
            value = getattr(section, name)
            if _fields(value):
                yield from self._rows(key, value)
            else:
                yield key, value, self.origin(key) or "default"


def _keys(given: Any, problem: Mapping[str, Any]) -> list[str]:
    """Return the keys and indexes that lead to a problem; pydantic names members of unions among them."""
    keys = []
    for part in problem["loc"]:
        if isinstance(given, Mapping) and (part in given or problem["type"] == "missing"):
            given = given.get(part)
        elif isinstance(given, list | tuple) and isinstance(part, int):
            given = given[part]
        else:
            continue
        keys.append(str(part))
    return keys


def _fields(section: Any) -> Iterable[str]:
    kind: Any = type(section)  # of a value there are none
    return [*getattr(kind, "model_fields", ()), *getattr(kind, "__dataclass_fields__", ())]


def _field_names(model: Any) -> list[str]:
    models = [model]
    for one in models:  # it grows by the models below, also those of lists and mappings
        below = (kind for info in one.model_fields.values() for kind in _kinds(info.annotation))
        models += [kind for kind in below if hasattr(kind, "model_fields") and kind not in models]
    return [info.alias or name for one in models for name, info in one.model_fields.items()]


def _kinds(annotation: Any) -> list[Any]:
    return [annotation, *(kind for one in get_args(annotation) for kind in _kinds(one))]


def _is_list(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType):
        return any(_is_list(a) for a in get_args(annotation))
    return kind in (list, tuple, set, frozenset)


def _is_path(annotation: Any) -> bool:
    from pathlib import Path

    return Path in _kinds(annotation)


def _rooted(value: Any, base: str) -> Any:
    """Return a path, or each one of a list, absolute: relative ones start at ``base``, ``~`` is the home directory."""
    if isinstance(value, (list, tuple)):
        return [_rooted(one, base) for one in value]
    return join(base, expanduser(value)) if isinstance(value, str) and value else value


def split_list(text: str) -> list[Any]:
    """Return the items of a list in a variable: JSON, or texts with commas between them."""
    if text.lstrip().startswith("["):
        import json

        with suppress(ValueError):
            return list(json.loads(text))
    return [part.strip() for part in text.split(",") if part.strip()]


def _inside(base: Callable[[str], str], group: str, key: str) -> str:
    return base(f"{group}.{key}")


def _prepared(model: Any, given: Mapping[str, Any], base: Callable[[str], str]) -> dict[str, Any]:
    """Return ``given`` with variables for list fields as lists, absolute paths, and without groups whose lines are all
    comments.
    """
    out = dict(given)
    for name, info in model.model_fields.items():
        value = out.get(name)
        if isinstance(value, _Variable) and _is_list(info.annotation):
            value = out[name] = split_list(value)
        if value is not None and _is_path(info.annotation):
            out[name] = _rooted(value, base(name))
        elif hasattr(info.annotation, "model_fields"):
            if isinstance(value, Mapping):
                out[name] = _prepared(info.annotation, value, partial(_inside, base, name))
            elif value is None:
                out.pop(name, None)
    return out
