"""The plan of a host: distribution, settings and the plugins that run, decided before any plugin is imported."""

from __future__ import annotations

from _thread import RLock  # importing threading is slow, and listing plugins needs none
from collections.abc import Callable, Iterable, Mapping, Sequence
from os.path import abspath, commonpath, dirname, isfile, join, realpath
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..errors import ConfigError, Diagnostic, UnknownName, UsageError
from ..settings.config import Config, Layer, environment_layer, flag_layer, split_list
from ..settings.documents import read_document
from ..settings.paths import platform_paths
from ..settings.trust import PROJECT_CONFIG, Trust
from .discovery import DISTRIBUTIONS, PLUGINS, EntryPoint, package_tables, preferred, scan

if TYPE_CHECKING:
    from ..descriptors import ConfigSection
    from .distribution import Distribution, Policy


T = TypeVar("T")


class once(Generic[T]):
    """A property that is made when first asked for and then kept. Threads that ask meanwhile wait for the object's ``lock``."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, _: Any = None) -> T:
        with owner.lock:
            values = vars(owner)
            if self._name not in values:
                values[self._name] = self._make(owner)
            made: T = values[self._name]
            return made


class Selection(NamedTuple):
    """The user's choice of plugins.

    Attributes:
        only: the plugins that run, no others (``--plugins a,b`` or ``SKILLKIT_PLUGINS``); ``None``: no restriction.
        only_origin: origin of ``only``, for messages.
        enable: plugins to enable, each with the origin of the wish (``-P x``, ``file:line``).
        disable: plugins to disable, likewise (``-P no:x``).
        only_default: run only the plugins that the distribution lists.
    """

    only: tuple[str, ...] | None = None
    only_origin: str = "--plugins"
    enable: Mapping[str, str] = {}
    disable: Mapping[str, str] = {}
    only_default: bool = False


class Decision(NamedTuple):
    """The decision whether an installed plugin runs, and its reason."""

    entry: EntryPoint
    enabled: bool
    reason: str
    duplicate_of: EntryPoint | None = None

    @property
    def name(self) -> str:
        """Name of the plugin."""
        return self.entry.name


def unknown_plugin(name: str, known: Iterable[str], origin: str, hint: str | None = None) -> UnknownName:
    """Return the error for a plugin that ``origin`` names and nobody installed."""
    error = UnknownName("plugin", name, known, hint=hint)
    error.where = origin
    return error


def decide(
    entries: Iterable[EntryPoint],
    selection: Selection,
    listed: Sequence[str] = (),
    policy: Policy | None = None,
    distribution: str | None = None,
) -> list[Decision]:
    """Decide which installed plugins run, in the order of the distribution, then of distribution name, then of name.

    Args:
        listed: plugin names of the distribution, in its order.
        policy: the rules of the distribution.

    Raises:
        UnknownName: ``selection`` wants a plugin that is not installed; ``where`` says who named it.
        UsageError: only the default plugins are wanted, and no distribution lists them; or the policy forbids what is wanted.
    """
    by_name: dict[str, list[EntryPoint]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    wanted = dict.fromkeys(selection.only or (), selection.only_origin) | dict(selection.enable)
    for asked, origin in wanted.items():
        if asked not in by_name:
            raise unknown_plugin(asked, by_name, origin)
        if policy is not None and asked in policy.deny:
            raise UsageError(f"distribution {distribution!r} denies the plugin {asked!r}", where=origin)
    if selection.only_default and distribution is None:
        hint = "install one, or name it with --distribution"
        raise UsageError("--only-default-plugins needs a distribution", hint=hint)
    position = {name: i for i, name in enumerate(listed)}
    out: list[Decision] = []
    for name, same in by_name.items():
        chosen = preferred(same)
        enabled, reason = _verdict(name, selection, position, policy, distribution)
        if policy is not None and not policy.may_leave:
            own, _ = _verdict(name, Selection(), position, policy, distribution)
            if enabled != own and (own is False or name in position):
                what = f"lets nobody switch the plugin {name!r} {'on' if enabled else 'off'}"
                raise UsageError(f"distribution {distribution!r} {what}", where=reason)
        for entry in same:
            if entry is chosen:
                out.append(Decision(entry, enabled, reason))
            else:
                why = f"the name is taken by {chosen.distribution} {chosen.version}"
                out.append(Decision(entry, False, why, duplicate_of=chosen))
    out.sort(key=lambda d: (position.get(d.name, len(position)), d.entry.sort_key))
    return out


def _verdict(
    name: str, selection: Selection, position: Mapping[str, int], policy: Policy | None, distribution: str | None
) -> tuple[bool, str]:
    if policy is not None and name in policy.deny:
        return False, f"denied by distribution {distribution!r}"
    if name in selection.disable and name not in selection.enable:
        return False, f"disabled by {selection.disable[name]}"
    if name in selection.enable:
        return True, f"enabled by {selection.enable[name]}"
    if selection.only is not None:
        named = name in selection.only
        return named, f"named by {selection.only_origin}" if named else f"not named by {selection.only_origin}"
    if name in position:
        return True, f"listed by distribution {distribution!r}"
    if selection.only_default:
        return False, "not a default plugin (--only-default-plugins)"
    if policy is not None and policy.only_listed:
        return False, f"not listed by distribution {distribution!r}"
    return True, "installed"


class Plan:
    """The plan of a host. Each part is found when it is first asked for, and then kept.

    ``lock`` is that of the whole host: what is made when first asked for is made by one thread.

    Args:
        wanted: distribution that the caller named.
        discover: look for installed plugins at all.
        selection: the caller's choice of plugins.
        settings: configuration values above all layers, by dotted key.
        cwd: the workspace.
        environ: environment variables.
        sections: returns the configuration sections that plugins declare. Called when the configuration is validated.
        installed: returns the installed plugins, and of each why nobody asked it for its section. Called then, too.
        tell: called with a line for the person.
    """

    def __init__(
        self,
        wanted: str | None,
        discover: bool,
        selection: Selection,
        settings: Mapping[str, Any],
        cwd: str,
        environ: Mapping[str, str],
        sections: Callable[[], Mapping[str, ConfigSection]],
        installed: Callable[[], Mapping[str, str | None]],
        tell: Callable[[str], object],
    ) -> None:
        self.lock = RLock()
        self.paths = platform_paths(environ)
        self.settings = dict(settings)
        self.wanted = wanted
        self._discover = discover
        self.selection = selection
        self._cwd = cwd
        self._environ = environ
        self._sections = sections
        self._installed = installed
        self._tell = tell
        self._malformed: list[Diagnostic] = []
        self._withheld: list[str] | None = None
        self._looked = False
        # The parts of the trusted workspace that the user has seen.
        self.reviewed: set[str] | None = None
        self._distribution: Distribution | None = None
        self.locked = True  # what was not locked does not run, where the distribution says so
        self._missing: list[str] = []  # plugins that the distribution lists, and nobody installed

    @once
    def entries(self) -> Sequence[EntryPoint]:
        """Every SkillKit entry point of the installed distributions."""
        found = scan(problems=self._malformed) if self._discover else []
        if self._malformed:
            from .discovery import spare_pydantic

            spare_pydantic()
        return found

    @property
    def malformed(self) -> Sequence[Diagnostic]:
        """The problems of the entry points of installed distributions."""
        _ = self.entries
        return self._malformed

    def entries_of(self, group: str) -> list[EntryPoint]:
        """Return the entry points of one group."""
        return [e for e in self.entries if e.group == group]

    @property
    def withheld(self) -> list[str] | None:
        """What of the trusted workspace does not count, because the user has not seen it so; ``None``: nothing of it counts."""
        with self.lock:
            if not self._looked:
                self._looked = True
                trust = Trust(self.paths.data)
                changed = trust.changed(self._cwd)
                self.reviewed = trust.parts(self._cwd)
                self._withheld = None if changed is None else []
                if changed:
                    self.withhold(changed)
                elif changed is None and isfile(join(self._cwd, PROJECT_CONFIG)):
                    untrusted = "this folder is not trusted; see 'skillkit config trust'"
                    self._tell(f"{PROJECT_CONFIG} does not count: {untrusted}")
            return self._withheld

    def look_again(self) -> None:
        """Find out again what of the workspace counts, and tell the user nothing. The configuration stays as it was made."""
        tell, self._tell, self._looked = self._tell, str, False
        _ = self.withheld
        self._tell = tell

    def withhold(self, paths: Sequence[str]) -> None:
        """Let files and folders of the trusted workspace not count, and tell the user so, and what to do."""
        self._withheld = [*(self._withheld or ()), *paths]
        shown = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")
        self._tell(
            f"{self._cwd}: {shown} changed or came since the folder was trusted, and does not count until "
            "'skillkit config trust' has shown it"
        )

    def trusts(self, path: str) -> bool:
        """Return whether the user has seen the file or folder ``path`` of the workspace, with all in it, as it is."""
        if not (withheld := self.withheld):
            return withheld is not None
        here = _spellings(join(self._cwd, path))
        there = [name for one in withheld for name in _spellings(join(self._cwd, one))]
        return not any(commonpath((a, b)) in (a, b) for a in here for b in there)

    def pass_lock(self) -> None:
        """Let plugins load whatever the lock of the distribution says, for whoever writes one."""
        self.locked = False

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Set configuration values above all layers."""
        self.settings.update({k: v for k, v in settings.items() if v is not None})
        vars(self).pop("config", None)

    @once
    def config(self) -> Config:
        """The configuration: distribution, user's file, trusted project's file, environment, settings."""
        layers = [self._file_layer("user", join(self.paths.config, "config.yaml"))]
        project = self._file_layer("project", join(self._cwd, PROJECT_CONFIG)) if self.trusts(PROJECT_CONFIG) else None
        if project is not None and self.trusts(join(dirname(PROJECT_CONFIG), str(project.data.get("distribution")))):
            layers.append(project)
        layers.append(environment_layer(self._environ, (e.name for e in self.entries_of(PLUGINS))))
        layers.append(flag_layer(self.settings))
        config = Config([*filter(None, layers)], self._sections, self._installed, self._cwd, self.whence)
        name = self._distribution_name(config)
        if name is not None:
            from .distribution import load_distribution

            self._distribution = load_distribution(name, self.entries_of(DISTRIBUTIONS), self.paths.cache)
            config.put_below(self._distribution.layers)
        return config

    def _file_layer(self, name: str, path: str) -> Layer | None:
        document = read_document(path, self.paths.cache)
        return None if document is None else Layer(name, document.data, document.where, dirname(path))

    def _distribution_name(self, config: Config) -> str | None:
        """Return the distribution of the caller, else of the variable, trusted project or user, else the only installed one."""
        if not self._discover and self.wanted is None:
            return None
        if self.wanted:
            return self.wanted
        named = config.raw("distribution")
        if named is not None:
            is_file = str(named).endswith((".yaml", ".yml"))
            return join(config.base("distribution"), str(named)) if is_file else str(named)
        installed = {e.name: f"{e.name} ({e.distribution} {e.version})" for e in self.entries_of(DISTRIBUTIONS)}
        if len(installed) > 1:  # to run none of them would drop the policies of all
            what = f"several distributions are installed, and none is chosen: {', '.join(sorted(installed.values()))}"
            choice = f"write 'distribution: NAME' into {join(self.paths.config, 'config.yaml')}"
            hint = f"say --distribution NAME, {choice}, or use the command that a distribution brings"
            raise UsageError(what, hint=hint)
        return next(iter(installed), None)

    @property
    def distribution(self) -> Distribution | None:
        """The distribution that runs, or ``None``."""
        _ = self.config
        return self._distribution

    def seconds(self, key: str, default: float) -> float:
        """Return a time limit of the configuration before validation, ``default`` where the value is no positive number.

        Where a person may not switch off plugins, no limit is shorter: it would switch off what it interrupts.
        """
        try:
            value = float(self.config.raw(key))
        except (TypeError, ValueError):
            return default
        found = self.distribution
        return value if value > default or (value > 0 and (found is None or found.policy.may_leave)) else default

    @once
    def decisions(self) -> Sequence[Decision]:
        """The decision for every installed plugin, in order."""
        installed, found = self.entries_of(PLUGINS), self.distribution
        names, listed = {e.name for e in installed}, found.plugins if found else ()
        selection = self._complete(self.selection, names.union(listed))
        passed = selection.disable if selection.only is None else set(listed).difference(selection.only)
        self._missing = [name for name in listed if name not in names and name not in passed]
        for name in self._missing:
            from difflib import get_close_matches

            if found is not None and get_close_matches(name, names.difference(listed), 1, 0.8):
                raise unknown_plugin(name, names, found.path)
        return decide(installed, selection, listed, found.policy if found else None, found.name if found else None)

    def _complete(self, given: Selection, known: set[str]) -> Selection:
        """Return the caller's choice, completed by variables and files."""
        for name, origin in given.disable.items():
            if name not in known:
                raise unknown_plugin(name, known, origin)
        only, only_origin = given.only, given.only_origin
        variable = self._environ.get("SKILLKIT_PLUGINS")
        if only is None and variable:
            only, only_origin = tuple(split_list(variable)), "SKILLKIT_PLUGINS"
        enable, disable = dict(given.enable), dict(given.disable)
        for key, into in (("plugins.enabled", enable), ("plugins.disabled", disable)):
            for name in self._names(key):
                if name not in given.enable and name not in given.disable:
                    into[name] = self.config.origin(key) or key
        return Selection(only, only_origin, enable, disable, given.only_default)

    def _names(self, key: str) -> Sequence[str]:
        """Return a list of plugins from the configuration, checked at once: a plugin to be disabled must never run."""
        value = self.config.raw(key)
        if value is None:
            return ()
        if isinstance(value, str):
            value = split_list(value)
        wrong = [v for v in value if not isinstance(v, str)] if isinstance(value, (list, tuple)) else [value]
        if wrong:
            hint = "put it in quotes" if isinstance(wrong[0], (bool, int, float)) else None
            what = f"must be a list of plugin names, not {wrong[0]!r}"
            raise ConfigError(what, where=self.config.origin(key), hint=hint)
        return list(value)

    def whence(self, kind: str, name: str) -> str | None:
        """Return which package brings what is missing, and the command that lets it; ``None`` where no table knows."""
        tables = package_tables(self.entries)
        for package in (p for table in tables for p, brings in table.items() if name in brings.get(kind, ())):
            mine = [d for d in self.decisions if d.entry.distribution == package]
            if off := [d for d in mine if not d.enabled]:
                return f"{name!r} comes with the plugin {off[0].name!r}, which does not run: {self._off(off[0])}"
            way = ", of which 'skillkit plugins doctor' says more" if mine else f": skillkit plugins install {package}"
            return f"{name!r} comes with {package}{way}"
        return None

    def _off(self, decision: Decision) -> str:
        """Return what keeps a plugin from running, where that stands, and the command that lets it run, if one does."""
        found, reason = self.distribution, decision.reason
        where = f" ({found.path})" if found is not None and reason.endswith(f"distribution {found.name!r}") else ""
        own = reason.startswith((f"disabled by {join(self.paths.config, 'config.yaml')}", "not listed by"))
        may = own and (found is None or found.policy.may_leave)
        return f"{reason}{where}{f': skillkit plugins enable {decision.name}' if may else ''}"

    def problems(self) -> list[Diagnostic]:
        """Return the problems of the plan: malformed entry points, listed plugins that are missing, names taken twice."""
        off = {(d.entry.distribution, d.name) for d in self.decisions if not d.enabled}
        out = [p for p in self.malformed if (p.distribution, p.plugin) not in off]
        if (found := self.distribution) is not None:
            message, where = f"distribution {found.name!r} lists it, but it is not installed", "discovery"
            way = "install the package that brings it"
            out += [Diagnostic(n, where, message, self.whence("plugins", n) or way) for n in self._missing]
        for decision in self.decisions:
            if (other := decision.duplicate_of) is not None:
                entry = decision.entry
                said = f"two distributions offer this plugin name: {other.distribution} {other.version} counts, "
                said += f"{entry.distribution} {entry.version} does not"
                way_out = f"uninstall one of them: pip uninstall {entry.distribution}"
                out.append(Diagnostic(entry.name, "discovery", said, way_out, entry.distribution, entry.version))
        for name, where in self.config.isolated.items():
            if self._discover and name not in (known := {d.name for d in self.decisions}):  # another may be meant
                out.append(Diagnostic(name, "config", said := str(unknown_plugin(name, known, where))))
                self._tell(f"{said}; nothing of this name is isolated")
        return out


def _spellings(path: str) -> set[str]:
    """Return a path as it is said, and where it leads."""
    return {abspath(path), realpath(path)}
