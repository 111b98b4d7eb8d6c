"""The bundles of a host: those that are installed, which of them count here, and what was consented to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core.cli.output import escaped, short_path
from skillkit_core.errors import ConfigError, UsageError

from .books import LockedBundle, State, read_state
from .formats.reading import read_bundle
from .model import Bundle, Hook, Problem
from .places import Place, places
from .report import brings, bundle_data, counted, problem_data
from .running import consent_digest, missing_programs

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Installed", "any_bundle", "bundles_of", "counting", "data_folder", "options_of"]


@dataclass(frozen=True, slots=True)
class Installed:
    """A bundle on this machine.

    Attributes:
        where: ``user``, ``project``, or ``folder`` for one that the setting ``bundles.dirs`` names.
        place: where it is installed; ``None`` for a folder.
        locked: its entry in the lock file; ``None`` for a folder.
        bundle: what was read; ``None``: it does not load.
        problems: what was noticed when it was read.
        enabled: whether somebody wants it here.
        trusted: whether what comes from there counts.
        waiting: its hooks that nobody consented to, by digest.
        consented: its hooks that may run, by digest.
    """

    name: str
    where: Literal["user", "project", "folder"]
    root: Path
    place: Place | None
    locked: LockedBundle | None
    bundle: Bundle | None
    problems: tuple[Problem, ...]
    enabled: bool
    trusted: bool
    waiting: dict[str, Hook]
    consented: dict[str, Hook]

    @property
    def counts(self) -> bool:
        """Whether anything of it has an effect here."""
        return self.bundle is not None and self.enabled and self.trusted

    @property
    def state(self) -> str:
        """One or two words: ``enabled``, ``disabled``, ``not trusted``, ``broken``."""
        if self.bundle is None:
            return "broken"
        if not self.enabled:
            return "disabled"
        return "enabled" if self.trusted else "not trusted"


def any_bundle(host: Host) -> bool:
    """Return whether a bundle may count here; nothing is read for it."""
    return bool(host.config.raw("bundles.dirs")) or any(place.lock_path.exists() for place in places(host).values())


def bundles_of(host: Host) -> tuple[Installed, ...]:
    """Return the bundles of a host. They are read once, and again when a lock file or the person's state has changed."""
    key = _key(host)
    kept = host.state("bundles").get("installed")
    if kept is None or kept[0] != key:
        kept = host.state("bundles")["installed"] = (key, tuple(_all(host)))
        for one in kept[1]:
            _note(host, one)
            _note_missing(host, one, kept[1])
    found: tuple[Installed, ...] = kept[1]
    return found


def _note(host: Host, one: Installed) -> None:
    """Tell ``skillkit plugins doctor`` of a bundle that does not load, and of hooks that wait for a person."""
    if one.bundle is None and one.enabled:
        why = "; ".join(str(problem) for problem in one.problems if problem.fatal)
        host.note("bundles", f"the bundle {one.name} does not load: {why}", stage="bundles")
    elif one.counts and one.waiting:
        text = f"{len(one.waiting)} of the hooks of the bundle {one.name} do not run before somebody consents to them"
        host.note("bundles", text, stage="bundles", remedy=f"skillkit bundles consent {one.name}")


def _note_missing(host: Host, one: Installed, every: Iterable[Installed]) -> None:
    """Tell ``skillkit plugins doctor`` of bundles that a bundle needs and nobody has installed."""
    here = {other.bundle.name for other in every if other.bundle is not None}
    for name in one.bundle.dependencies if one.counts and one.bundle is not None else ():
        if name not in here:
            text = f"the bundle {one.name} needs the bundle {name}, which is not installed"
            host.note("bundles", text, stage="bundles", remedy=f"skillkit bundles show {one.name}")


def counting(host: Host) -> list[tuple[Installed, Bundle]]:
    """Return the bundles that have an effect here; the first of a name: the project's, the user's, a folder."""
    found: dict[str, tuple[Installed, Bundle]] = {}
    order = {"project": 0, "user": 1, "folder": 2}
    for one in sorted(bundles_of(host), key=lambda one: order[one.where]):
        if one.counts and one.bundle is not None:
            found.setdefault(one.bundle.name, (one, one.bundle))
    return list(found.values())


def _key(host: Host) -> tuple[Any, ...]:
    files = [place.lock_path for place in places(host).values()] + [host.data_dir / "bundles" / "state.json"]
    withheld = host.withheld
    return (host.config, None if withheld is None else tuple(withheld), *(_stamp(path) for path in files))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def _all(host: Host) -> Iterator[Installed]:
    try:
        state = read_state(host)
    except ConfigError as error:
        host.note("bundles", str(error), stage="bundles")
        state = State()
    for place in places(host).values():
        try:
            lock = place.lock()
        except ConfigError as error:
            host.note("bundles", str(error), stage="bundles")
            continue
        trusted = place.kind == "user" or host.trusts(place.folder)
        for name, locked in lock.bundles.items():
            yield _one(host, state, name, place, locked, trusted)
    for text in host.config.get("bundles.dirs") or ():
        yield _folder(host, state, host.cwd / Path(text).expanduser())


def _one(host: Host, state: State, name: str, place: Place, locked: LockedBundle, trusted: bool) -> Installed:
    here = state.projects.get(str(host.cwd.resolve()), {})
    enabled = here.get(name, state.enabled.get(name, locked.enabled))
    reading = read_bundle(place.folder / name, locked.dialect, name=name, entry=locked.entry)
    waiting, consented = _hooks(state, reading.bundle)
    return Installed(
        name, place.kind, place.folder / name, place, locked, reading.bundle, reading.problems, enabled, trusted, waiting,
        consented,
    )  # fmt: skip


def _folder(host: Host, state: State, folder: Path) -> Installed:
    """Return a bundle that the configuration names by its folder: it counts as it is, and its hooks are asked about, too."""
    reading = read_bundle(folder)
    name = reading.bundle.name if reading.bundle is not None else folder.name
    enabled = state.projects.get(str(host.cwd.resolve()), {}).get(name, state.enabled.get(name, True))
    waiting, consented = _hooks(state, reading.bundle)
    return Installed(
        name, "folder", folder, None, None, reading.bundle, reading.problems, enabled, True, waiting, consented
    )


def _hooks(state: State, bundle: Bundle | None) -> tuple[dict[str, Hook], dict[str, Hook]]:
    waiting: dict[str, Hook] = {}
    consented: dict[str, Hook] = {}
    for hook in bundle.hooks if bundle is not None else ():
        digest = consent_digest(bundle, hook) if bundle is not None else ""
        (consented if digest in state.consents else waiting)[digest] = hook
    return waiting, consented


def data_folder(host: Host, name: str) -> Path:
    """Return the folder in which a bundle keeps what outlives updates; it is made when it is asked for."""
    folder = host.data_dir / "bundles" / "data" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def options_of(host: Host, bundle: Bundle) -> dict[str, str]:
    """Return the answers to the questions of a bundle as texts: those that were given, else their defaults."""
    given = read_state(host).options.get(bundle.name, {})
    found: dict[str, str] = {}
    for key, about in bundle.options.items():
        value = given.get(key, about.get("default"))
        if value is not None:
            found[key] = _as_text(value)
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def named_bundle(host: Host, name: str) -> Installed:
    """Return the installed bundle of a name; the project's before the user's.

    Raises:
        UnknownName: there is none.
    """
    from skillkit_core.errors import UnknownName

    order = {"project": 0, "user": 1, "folder": 2}
    found = sorted((one for one in bundles_of(host) if one.name == name), key=lambda one: order[one.where])
    if not found:
        raise UnknownName("bundle", name, [one.name for one in bundles_of(host)])
    return found[0]


def set_option(host: Host, bundle: Bundle, key: str, text: str) -> None:
    """Keep the answer to a question of a bundle.

    Raises:
        UnknownName: the bundle does not ask it.
        UsageError: the answer does not fit, or is a secret.
    """
    from skillkit_core.errors import UnknownName

    from .books import changing

    about = bundle.options.get(key)
    if about is None:
        raise UnknownName("question of the bundle", key, list(bundle.options))
    if about.get("sensitive"):
        variable = f"CLAUDE_PLUGIN_OPTION_{key.upper()}"
        raise UsageError(
            f"{key!r} is a secret, which is not kept in a file",
            hint=f"set the variable {variable}, or keep it with 'skillkit auth'",
        )
    with changing(host) as state:
        state.options.setdefault(bundle.name, {})[key] = _typed(about, key, text)


def _typed(about: Any, key: str, text: str) -> str | bool | float | list[str]:
    kind = about.get("type", "string")
    if about.get("multiple"):
        return [one.strip() for one in text.split(",") if one.strip()]
    if kind == "boolean":
        if text.lower() not in ("true", "false", "yes", "no"):
            raise UsageError(f"{key!r} must be true or false")
        return text.lower() in ("true", "yes")
    if kind == "number":
        try:
            number = float(text)
        except ValueError:
            raise UsageError(f"{key!r} must be a number") from None
        low, high = about.get("min"), about.get("max")
        if (isinstance(low, (int, float)) and number < low) or (isinstance(high, (int, float)) and number > high):
            raise UsageError(f"{key!r} must lie between {low} and {high}")
        return number
    return text


def installed_data(one: Installed, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return an installed bundle as JSON."""
    source = one.locked.source.model_dump() if one.locked is not None else None
    return {
        "name": one.name,
        "where": one.where,
        "path": str(one.root),
        "state": one.state,
        "source": source,
        "marketplace": one.locked.marketplace if one.locked is not None else None,
        "resolved": one.locked.resolved if one.locked is not None else "",
        "digest": one.locked.digest if one.locked is not None else None,
        "consented": list(one.consented),
        "waiting": list(one.waiting),
        "bundle": bundle_data(one.bundle, {**one.consented, **one.waiting}, missing_programs(one.bundle, environ))
        if one.bundle is not None
        else None,
        "problems": [problem_data(p) for p in one.problems],
    }


def listed_row(one: Installed) -> dict[str, str]:
    """Return an installed bundle as a line of a listing."""
    what = brings(one.bundle) if one.bundle is not None else next((str(p) for p in one.problems if p.fatal), "")
    return {
        "bundle": escaped(one.name),
        "version": escaped((one.bundle.version or "") if one.bundle is not None else ""),
        "state": one.state,
        "where": one.where,
        "brings": escaped(what),
        "consent": f"{counted(len(one.waiting), 'hook')} wait" if one.waiting else "",
    }


def shown_source(one: Installed) -> str:
    """Return where an installed bundle came from, on one line."""
    if one.locked is None:
        return short_path(str(one.root))
    source = one.locked.source
    market = f"{one.locked.marketplace}: " if one.locked.marketplace else ""
    commit = f" at {one.locked.resolved[:12]}" if one.locked.resolved else ""
    below = f" ({source.subfolder})" if source.subfolder else ""
    return f"{market}{source.place}{below}{commit}"
