"""The merged configuration: its layers, its validated sections, and the origin of each value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError, PluginError, close_matches

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..config import Limits, RetryPolicy
    from ..descriptors import ConfigSection


CORE_KEYS = (
    "model", "provider", "api", "base_url", "system_prompt", "thinking", "distribution", "runtime",
    "compactor", "plugins", "session", "limits", "retry", "tools",
)  # fmt: skip
_NOT_SETTINGS = frozenset({"SKILLKIT_HOME", "SKILLKIT_DEBUG", "SKILLKIT_PLUGINS", "SKILLKIT_TRACE"})
_ABSENT = object()
_USER = re.compile(r"((?<=://)[^/\s]+|[^/\s:@]+:[^/\s]+)@")
_QUERY = re.compile(r"(?<=://)([^?#\s]*)[?#]\S+")


def _itself(key: str) -> str:
    return key


class Layer(NamedTuple):
    """One source of settings. ``where(key)`` returns the place of the value of a dotted key, for errors and ``config show``."""

    name: str
    data: Mapping[str, Any]
    where: Callable[[str], str] = _itself


class _Variable(str):
    """The text of an environment variable. A setting that is a list takes the text as a list with commas."""

    __slots__ = ()


def environment_layer(environ: Mapping[str, str], sections: Iterable[str] = ()) -> Layer:
    """Return the layer of environment variables: ``SKILLKIT_BASH__TIMEOUT=5`` sets ``bash.timeout``.

    A list is written with commas, the dash of a section's name as an underscore. An empty variable counts as not set.
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


def misspelt_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that set nothing but look like one that does, each with that one."""
    known = [*(f"SKILLKIT_{key.upper()}" for key in CORE_KEYS), *sorted(_NOT_SETTINGS)]
    found: dict[str, str] = {}
    for variable in sorted(environ):
        if variable.startswith("SKILLKIT_") and variable not in known and "__" not in variable:
            close = close_matches(variable, known)
            if close and len(close[0]) > len("SKILLKIT_") + 2:
                found[variable] = close[0]
    return found


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


def section_model(section: ConfigSection) -> Any:
    """Return the pydantic model of a section.

    Raises:
        PluginError: the model cannot be imported, or is no pydantic model.
    """
    from ..descriptors import load_object

    try:
        model = load_object(section.model)
    except ImportError as error:
        raise PluginError(f"its model cannot be loaded: {error}", where=f"section {section.name!r}") from error
    if not hasattr(model, "model_validate"):
        raise PluginError(f"{section.model!r} is no pydantic model", where=f"section {section.name!r}")
    return model


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
        known: returns the names of the plugins that do not run. A section of such a plugin is no mistake.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        sections: Callable[[], Mapping[str, ConfigSection]] = dict,
        known: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.layers = list(layers)
        self._sections = sections
        self._known = known
        self._valid: dict[str, Any] = {}
        self._checked = False
        self._data: dict[str, Any] | None = None
        self._limits: dict[Limits | None, Limits] = {}
        self._retry: RetryPolicy | None = None

    def put_below(self, layers: Sequence[Layer]) -> None:
        """Add layers below the present ones."""
        self.layers[:0] = layers
        self._data = None

    @property
    def data(self) -> Mapping[str, Any]:
        """All layers merged, not validated."""
        if self._data is None:
            data: dict[str, Any] = {}
            for layer in self.layers:
                data = _merge(data, layer.data)
            self._data = data
        return self._data

    def raw(self, key: str) -> Any:
        """Return the value of a dotted key before validation, ``None`` when no layer sets it."""
        found = _get(self.data, key.split("."))
        return None if found is _ABSENT else found

    def origin(self, key: str) -> str | None:
        """Return the place of a dotted key in the highest layer that sets it, ``None`` when no layer does."""
        for layer in reversed(self.layers):
            if _get(layer.data, key.split(".")) is not _ABSENT:
                return str(layer.where(key))
        return None

    def section(self, name: str) -> Any:
        """Return the validated section of plugin ``name``, ``None`` when the plugin declared none.

        Raises:
            ConfigError: a value does not fit. The error names file, line and path.
            PluginError: the section itself is broken.
        """
        if name not in self._valid:
            declared = self._sections().get(name)
            if declared is None:
                return None
            given = self.data.get(name)
            self._valid[name] = self._validate(section_model(declared), {} if given is None else given, name)
        return self._valid[name]

    @property
    def core(self) -> Any:
        """The validated :class:`~skillkit_core.settings.schema.CoreSettings`."""
        if "" not in self._valid:
            from .schema import CoreSettings

            given = {k: v for k, v in self.data.items() if k in CORE_KEYS}
            self._valid[""] = self._validate(CoreSettings, given, "")
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
        found = self._limits.get(own)
        if found is None:
            from dataclasses import fields

            from ..config import Limits

            settings = self.core.limits
            if own is None:
                found = Limits(**{f.name: getattr(settings, f.name) for f in fields(Limits)})
            else:
                found = Limits(**{f.name: self._lower(f.name, getattr(own, f.name)) for f in fields(Limits)})
            self._limits[own] = found
        return found

    def _lower(self, bound: str, own: Any) -> Any:
        """Return the lower one of an agent's own limit and the configured one."""
        configured = self.get(f"limits.{bound}") if self.origin(f"limits.{bound}") is not None else None
        return own if configured is None else configured if own is None else min(own, configured)

    def retry(self, own: RetryPolicy | None = None) -> RetryPolicy:
        """Return the agent's ``own`` retry policy as a whole, else the configured one."""
        if own is not None:
            return own
        if self._retry is None:
            from dataclasses import fields

            from ..config import RetryPolicy

            settings = self.core.retry
            self._retry = RetryPolicy(**{f.name: getattr(settings, f.name) for f in fields(RetryPolicy)})
        return self._retry

    def check(self) -> None:
        """Validate the core's keys and every section, and refuse unknown keys.

        A section whose model is broken is passed over, because its plugin made the mistake.

        Raises:
            ConfigError: the first thing that is wrong.
        """
        if self._checked:
            return
        sections = self._sections()
        known = {*CORE_KEYS, *sections, *self._known()}
        for layer in self.layers:
            for key in layer.data:
                if key not in known:
                    close = close_matches(str(key), known, 1)
                    hint = f"did you mean {close[0]!r}?" if close else "no plugin that runs has such a section"
                    raise ConfigError(f"unknown setting {key!r}", where=layer.where(str(key)), hint=hint)
        _ = self.core
        for name in sections:
            with suppress(PluginError):
                self.section(name)
        self._checked = True

    def _validate(self, model: type[BaseModel], given: Any, prefix: str) -> BaseModel:
        from pydantic import ValidationError

        if isinstance(given, Mapping):
            given = _prepared(model, given)
        try:
            return model.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = ".".join([*([prefix] if prefix else []), *(str(p) for p in first["loc"])])
            raise self._explain(path, first, model) from None
        except Exception as error:
            owner = f"section {prefix!r}" if prefix else "the core's settings"
            raise PluginError(f"its validation failed: {type(error).__name__}: {error}", where=owner) from error

    def _explain(self, path: str, problem: Mapping[str, Any], model: type[BaseModel]) -> ConfigError:
        where, given = self._place(path), masked(problem.get("input"), path)
        if problem["type"] in ("model_type", "dict_type"):
            return ConfigError(f"must be a mapping of settings, not {given!r}", where=where)
        if problem["type"] == "extra_forbidden":
            name = path.rpartition(".")[2]
            close = close_matches(name, _field_names(model), 1)
            hint = f"did you mean {close[0]!r}?" if close else None
            return ConfigError(f"unknown setting {name!r}", where=where, hint=hint)
        message = problem["msg"][:1].lower() + problem["msg"][1:]
        shown = repr(given)
        return ConfigError(f"{message}, not {shown if len(shown) < 60 else shown[:57] + '...'}", where=where)

    def _place(self, path: str) -> str:
        """Return where the highest layer sets ``path``, or else the longest part of ``path`` that any layer sets."""
        parts = path.split(".")
        for n in range(len(parts), 0, -1):
            for layer in reversed(self.layers):
                if _get(layer.data, parts[:n]) is not _ABSENT:
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
        for name in type(section).model_fields:
            key = f"{prefix}.{name}" if prefix else name
            value = getattr(section, name)
            if hasattr(type(value), "model_fields"):
                yield from self._rows(key, value)
            else:
                yield key, value, self.origin(key) or "default"


def _field_names(model: Any) -> list[str]:
    names: list[str] = []
    for name, info in model.model_fields.items():
        names.append(name)
        if hasattr(info.annotation, "model_fields"):
            names.extend(_field_names(info.annotation))
    return names


def _is_list(annotation: Any) -> bool:
    from types import UnionType
    from typing import Union, get_args, get_origin

    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType):
        return any(_is_list(a) for a in get_args(annotation))
    return kind in (list, tuple, set, frozenset)


def _prepared(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``given`` with the variables of list fields as lists, without groups whose lines are all commented out."""
    out = dict(given)
    for name, info in model.model_fields.items():
        value = out.get(name)
        if isinstance(value, _Variable) and _is_list(info.annotation):
            out[name] = [part.strip() for part in value.split(",") if part.strip()]
        elif hasattr(info.annotation, "model_fields"):
            if isinstance(value, Mapping):
                out[name] = _prepared(info.annotation, value)
            elif value is None:
                out.pop(name, None)
    return out
