"""The context files and prompt files of a host: read once, so that all requests of its sessions begin alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_markdown import Folder, markdown_files

from skillkit_core.settings.trust import Trust

from .files import LeftOut, Loaded, Reader, Section, load, project_root
from .settings import DEFAULTS, Settings, names_inside

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = [
    "PROMPTS",
    "Workspace",
    "described_parts",
    "instructions_text",
    "prompts_text",
    "settings_of",
    "shown_path",
    "workspace_of",
]

PROMPTS = ".skillkit/prompts"
_MOST_PROMPTS = 100
_INTRODUCTION = (
    "These files hold instructions of the project and of the user for the work in this folder. "
    "Where two disagree, the {} counts."
)


def settings_of(host: Host) -> Settings:
    """Return the section ``context``.

    Raises:
        ConfigError: a value does not fit.
    """
    found: Settings = host.config.section("context", DEFAULTS)
    return found


def _with_project(settings: Settings, project: Mapping[str, Any]) -> Settings:
    """Return ``settings`` as the configuration of a project, which nobody has checked, would change them."""
    own = project.get("context")
    if not isinstance(own, Mapping):
        return settings
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
    try:
        changed = replace(settings, **given)
        if all(type(value) is type(getattr(settings, name)) for name, value in given.items()):
            names_inside((*changed.names, *changed.imports_in))
            return changed
    except (TypeError, ValueError, AttributeError):
        pass
    return settings  # the project's configuration is refused, too


@dataclass(slots=True)
class Workspace:
    """What was read for one host with one set of settings.

    Attributes:
        reader: the texts that were read.
        parts: the paths that count in a folder, by folder and settings.
        loaded: the context files; ``None``: not read yet.
        prompts: the prompt files; ``None``: not read yet.
    """

    settings: Settings
    withheld: Sequence[str] | None
    reader: Reader
    parts: dict[tuple[str, Settings], dict[str, Path]] = field(default_factory=dict)
    loaded: Loaded | None = None
    prompts: Loaded | None = None


_WORKSPACES: WeakKeyDictionary[Host, Workspace] = WeakKeyDictionary()


def _read_for(host: Host, settings: Settings) -> Workspace:
    """Return what was read for a host, or an empty workspace if its settings or its trust have changed."""
    kept = _WORKSPACES.get(host)
    withheld = host.plan.withheld  # another list each time that something changes, or was looked at again
    if kept is None or kept.settings != settings or kept.withheld is not withheld:
        kept = _WORKSPACES[host] = Workspace(settings, withheld, Reader(settings.max_file))
    return kept


def workspace_of(host: Host) -> Workspace:
    """Return the context files and prompt files of a host, which are read at the first call.

    Raises:
        ConfigError: a value of the section ``context`` does not fit.
    """
    _ = host.withheld  # before anything is kept, because it may end the trust in a file
    kept = _read_for(host, settings_of(host))
    if kept.loaded is None:
        kept.loaded = load(
            host.cwd,
            kept.settings,
            home=_home(host),
            config_dir=host.config_dir,
            trusted=partial(_counts, host),
            reader=kept.reader,
            name=partial(shown_path, host),
        )
        kept.prompts = _load_prompts(host, kept)
    return kept


def _home(host: Host) -> Path:
    return Path(host.environ.get("HOME") or "~").expanduser()


def _counts(host: Host, folder: Path, path: Path) -> bool:
    """Return whether a file that ``folder`` brings has been seen by the user, and is as it was then."""
    if folder == Path(os.path.realpath(host.cwd)):
        return host.trusts(path)
    trust, file = Trust(host.data_dir), os.path.relpath(path, folder)
    changed, seen = trust.changed(folder), trust.parts(folder)
    return host.withheld is not None and changed is not None and file not in changed and (seen is None or file in seen)


def shown_path(host: Host, path: Path) -> str:
    """Return how a path is told: relative to the project's root, or to ``~``."""
    root, home = project_root(Path(os.path.realpath(host.cwd)), settings_of(host)), Path(os.path.realpath(_home(host)))
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)


# --- prompt files ---------------------------------------------------------------------------------------------------


def _load_prompts(host: Host, kept: Workspace) -> Loaded:
    """Return a section for each Markdown file of the prompt folders, by name; a project's file hides the user's."""
    cwd = Path(os.path.realpath(host.cwd))
    sections: dict[str, Section] = {}
    left_out: list[LeftOut] = []
    left = kept.settings.max_total
    inside = {"project": (cwd,), "user": (_home(host), host.config_dir)}
    for folder in (Folder("project", cwd / PROMPTS, host.trusts), Folder("user", host.config_dir / "prompts")):
        for path in markdown_files(folder.path, most=_MOST_PROMPTS):
            if not folder.counts(path):
                left_out.append(LeftOut(path, "untrusted"))
            elif path.name in sections:
                left_out.append(LeftOut(path, "duplicate"))
            elif isinstance(
                found := kept.reader.read(path, [Path(os.path.realpath(f)) for f in inside[folder.origin]]), str
            ):
                left_out.append(LeftOut(path, found))
            elif left < (size := len(found[0].encode())):
                left_out.append(LeftOut(path, "size"))
            else:
                left -= size
                sections[path.name] = Section(path, folder.origin, found[0].strip(), found[1])  # type: ignore[arg-type]
    return Loaded(tuple(sections[name] for name in sorted(sections)), tuple(left_out))


def prompts_text(host: Host) -> str | None:
    """Return the prompt files as a part of the system prompt."""
    prompts = workspace_of(host).prompts
    return "\n\n".join(_whole(section) for section in prompts.sections) if prompts and prompts.sections else None


def instructions_text(host: Host) -> str | None:
    """Return the context files as a part of the system prompt."""
    kept = workspace_of(host)
    if kept.loaded is None or not kept.loaded.sections:
        return None
    first = _INTRODUCTION.format("first" if kept.settings.order == "nearest-first" else "last")
    files = (
        f'<file path="{shown_path(host, section.path)}">\n{_whole(section)}\n</file>'
        for section in kept.loaded.sections
    )
    return "\n\n".join([first, *files])


def _whole(section: Section) -> str:
    return f"{section.text}\n[The rest was left out, because it is too long.]" if section.truncated else section.text


# --- trust ----------------------------------------------------------------------------------------------------------


def described_parts(
    host: Host, folder: str, project: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """Yield what counts in a folder once it is trusted, each path with what describes it to the user.

    A path that does not exist counts, too: a file that appears there has not been seen.
    """
    settings = settings_of(host)
    kept = _read_for(host, settings)
    for one in dict.fromkeys((settings, _with_project(settings, project))):
        if (folder, one) not in kept.parts:
            kept.parts[folder, one] = _parts(host, kept, folder, one)
        for part, path in kept.parts[folder, one].items():
            yield part, partial(_described, path)


def _parts(host: Host, kept: Workspace, folder: str, settings: Settings) -> dict[str, Path]:
    """Return the context files of one folder and their imports, relative to the folder, and its folder of prompt files."""
    here = Path(os.path.realpath(folder))
    loaded = load(here, settings, home=_home(host), trusted=_seen, reader=kept.reader, folders=[here])
    named = [*(here / name for name in settings.names), *loaded.imported, here / PROMPTS]
    root = project_root(here, settings)
    return {os.path.relpath(path, here): path for path in named if path.is_relative_to(root)}


def _seen(folder: Path, path: Path) -> bool:
    return True


def _described(path: Path) -> list[str]:
    """Return a line for a context file, or for each prompt file of a folder."""
    if path.is_dir():
        return [f"section of the system prompt: {file.name}" for file in markdown_files(path, most=_MOST_PROMPTS)]
    return [f"instructions for models, {path.stat().st_size:,} bytes"] if path.is_file() else []
