"""``plugins.enabled`` and ``plugins.disabled`` of the user's ``config.yaml``, changed without losing a comment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.errors import ConfigError, UnknownName, UsageError
from skillkit_core.settings.documents import write_whole

if TYPE_CHECKING:
    from skillkit_core import Host

LISTS = {True: "enabled", False: "disabled"}


class Switched(NamedTuple):
    """A plugin after it was switched.

    Attributes:
        name: the plugin.
        enabled: it runs from now on.
        reason: why, as ``plugins list`` says.
        changed: the file was changed for it.
    """

    name: str
    enabled: bool
    reason: str
    changed: bool


def switch(state: Any, names: Sequence[str], on: bool) -> list[Switched]:
    """Write into the user's configuration that plugins run, or do not.

    The names leave the other list. They join their own one only where the plugins would not do as they are told without it.

    Args:
        state: the state of the command line, which makes hosts.

    Raises:
        UnknownName: there is no such plugin.
        UsageError: the distribution's policy denies it. The file is as it was.
    """
    host: Host = state.host
    path = host.config_dir / "config.yaml"
    before = {d.name: d.enabled for d in host.decisions if d.duplicate_of is None}
    for name in names:
        if name not in before:
            raise UnknownName("plugin", name, before)
    names = list(dict.fromkeys(names))
    original = path.read_text() if path.is_file() else None
    changed: set[str] = set()
    try:
        changed |= write_list(path, LISTS[not on], remove=names)
        verdicts = _decisions(state)
        changed |= write_list(path, LISTS[on], add=[name for name in names if verdicts[name].enabled is not on])
        verdicts = _decisions(state)
        for name in names:
            if verdicts[name].enabled is not on:
                stays = "does not run" if on else "runs"
                raise UsageError(f"{name!r} still {stays}: {verdicts[name].reason}", hint="nothing was changed")
    except BaseException:
        if changed:
            _restore(path, original)
        raise
    return [Switched(name, on, verdicts[name].reason, name in changed) for name in names]


def _decisions(state: Any) -> dict[str, Any]:
    """Return what a host that starts now decides."""
    host: Host = state.new_host()
    try:
        return {d.name: d for d in host.decisions if d.duplicate_of is None}
    finally:
        host.close()


def _restore(path: Path, original: str | None) -> None:
    if original is None:
        path.unlink(missing_ok=True)
    else:
        write_whole(str(path), original)


def write_list(path: Path, key: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> set[str]:
    """Change a list of the section ``plugins`` of a file, and return the names for which it had to be changed."""
    from yaml import YAMLError, safe_load

    from .yaml_list import changed

    text = path.read_text() if path.is_file() else ""
    try:
        new = changed(text, "plugins", key, add, remove)
        before = (safe_load(text) or {}).get("plugins") or {}
    except YAMLError as error:
        raise ConfigError("is not YAML", where=str(path), hint="'skillkit config show' names the line") from error
    except ValueError as error:
        raise ConfigError(str(error), where=str(path), hint=f"write 'plugins: {{{key}: [NAME]}}' yourself") from error
    if new == text:
        return set()
    write_whole(str(path), new)
    had = before.get(key) or ()
    return {*(name for name in add if name not in had), *(name for name in remove if name in had)}
