"""Policy: which plugins run, and in which order; decided before anything is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import UnknownName, UsageError
from .discovery import EntryPoint

__all__ = ["Decision", "Selection", "decide", "preferred", "unknown_plugin"]


class Selection(NamedTuple):
    """What the user asked for.

    Attributes:
        only: exactly these plugins (``--plugins a,b`` or ``SKILLKIT_PLUGINS``); ``None``: no restriction.
        only_origin: where ``only`` comes from, for messages.
        enable, disable: plugin name to where that was said (``-P x``, ``-P no:x``, ``file:line``).
        only_default: nothing but what the distribution lists.
    """

    only: tuple[str, ...] | None = None
    only_origin: str = "--plugins"
    enable: Mapping[str, str] = {}
    disable: Mapping[str, str] = {}
    only_default: bool = False


class Decision(NamedTuple):
    """Whether an installed plugin runs, and why."""

    entry: EntryPoint
    enabled: bool
    reason: str
    duplicate_of: EntryPoint | None = None

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.entry.name


def unknown_plugin(name: str, known: Iterable[str], origin: str) -> UnknownName:
    """The error for a plugin that ``origin`` names and nobody installed."""
    error = UnknownName("plugin", name, known)
    error.where = origin
    return error


def preferred(entries: Sequence[EntryPoint]) -> EntryPoint:
    """Of several distributions that offer one name: ``skillkit-<name>`` itself, else the first by name.

    A stranger cannot take over ``permissions`` by choosing a distribution name that sorts early.
    """
    for entry in entries:
        if entry.distribution == f"skillkit-{entry.name}":
            return entry
    return min(entries, key=lambda e: e.sort_key)


def decide(
    entries: Iterable[EntryPoint],
    selection: Selection,
    listed: Sequence[str] = (),
    only_listed: bool = False,
    distribution: str | None = None,
) -> list[Decision]:
    """Decide every installed plugin. The order is: as the distribution lists them, then distribution name, then name.

    Args:
        listed: plugin names of the distribution, in its order.
        only_listed: the distribution allows nothing else.

    Raises:
        UnknownName: ``selection`` wants a plugin that is not installed; ``where`` says who named it.
        UsageError: only the default plugins are wanted, and no distribution says which these are.
    """
    by_name: dict[str, list[EntryPoint]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    wanted = dict.fromkeys(selection.only or (), selection.only_origin) | dict(selection.enable)
    for asked, origin in wanted.items():
        if asked not in by_name:
            raise unknown_plugin(asked, by_name, origin)
    if selection.only_default and distribution is None:
        raise UsageError(
            "--only-default-plugins needs a distribution", hint="install one, or name it with --distribution"
        )
    position = {name: i for i, name in enumerate(listed)}
    out: list[Decision] = []
    for name, same in by_name.items():
        chosen = preferred(same)
        enabled, reason = _verdict(name, selection, position, only_listed, distribution)
        for entry in same:
            if entry is chosen:
                out.append(Decision(entry, enabled, reason))
            else:
                why = f"the name is taken by {chosen.distribution} {chosen.version}"
                out.append(Decision(entry, False, why, duplicate_of=chosen))
    out.sort(key=lambda d: (position.get(d.name, len(position)), d.entry.sort_key))
    return out


def _verdict(
    name: str, selection: Selection, position: Mapping[str, int], only_listed: bool, distribution: str | None
) -> tuple[bool, str]:
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
    if only_listed:
        return False, f"not listed by distribution {distribution!r}"
    return True, "installed"
