"""``plugins.enabled`` and ``plugins.disabled`` of the user's ``config.yaml``, changed without losing a comment."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.errors import ConfigError, SkillKitError, UnknownName, UsageError
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
    """Change a list of the section ``plugins``, and return the names for which it had to be changed."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.util import load_yaml_guess_indent

    text = path.read_text() if path.is_file() else ""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000  # no line is broken that is not broken now
    try:
        _, indent, offset = load_yaml_guess_indent(text)
        data = yaml.load(text)
    except YAMLError as error:
        raise ConfigError("is not YAML", where=str(path), hint="'skillkit config show' names the line") from error
    sequence = (indent or 4, 2 if offset is None else offset)
    yaml.indent(mapping=2 if indent is None else indent, sequence=sequence[0], offset=sequence[1])
    data = {} if data is None else data
    section = data.get("plugins") if isinstance(data, dict) else None
    listed = section.get(key) if isinstance(section, dict) else None
    if not isinstance(data, dict) or not isinstance(section, dict | None) or not isinstance(listed, list | None):
        raise ConfigError(f"plugins.{key} is not a list", where=str(path), hint=f"write 'plugins: {{{key}: [NAME]}}'")
    new = [name for name in add if name not in (listed or ())]
    old = [name for name in remove if name in (listed or ())]
    if new:
        if section is None:
            section = data["plugins"] = {}
        section.setdefault(key, []).extend(new)
    for name in old:
        assert listed is not None
        del listed[listed.index(name)]
    if old and not listed and section is not None:
        del section[key]
        if not section:
            del data["plugins"]
    if new or old:
        out = io.StringIO()
        if data:
            yaml.dump(data, out)
        written = out.getvalue()
        _check(path, text, written)
        write_whole(str(path), written)
    return {*new, *old}


def _check(path: Path, before: str, after: str) -> None:
    """Refuse to write what has lost a comment."""
    lost = [line for line in map(_comment, before.splitlines()) if line and line not in after]
    if lost:
        raise SkillKitError(f"the comment {lost[0]!r} would be lost", where=str(path), hint="change the file yourself")


def _comment(line: str) -> str:
    return line[line.index("#") :].strip() if line.lstrip().startswith("#") or " #" in line else ""
