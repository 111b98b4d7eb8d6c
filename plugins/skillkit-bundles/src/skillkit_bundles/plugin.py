"""The plugin ``bundles``: what bundles of other hosts bring, ``skillkit bundles``, ``marketplace`` and ``import``.

On a machine without bundles it registers its commands and its section, and nothing else: no run calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.contracts.skill_loader import SkillSource

_FOLDER = ".skillkit/bundles"
_LOCK = ".skillkit/skillkit-bundles.lock"


def _any(host: Host) -> bool:
    """Return whether a bundle may count here. Nothing is read or imported for it."""
    if host.config.raw("bundles.dirs") or (host.config_dir / "skillkit-bundles.lock").exists():
        return True
    return (host.cwd / _LOCK).exists()


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``bundles``."""
    register(ConfigSection("bundles", "skillkit_bundles.config:BundlesConfig"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit bundles``, ``skillkit marketplace`` and ``skillkit import``."""
    register(Command("bundles", "skillkit_bundles.cli:bundles", "Add, show and update bundles of other hosts."))
    register(Command("marketplace", "skillkit_bundles.market_cli:marketplace", "Add marketplaces, search in them."))
    register(
        Command(
            "import", "skillkit_bundles.import_cli:import_", "Take over the settings of Claude Code, Codex, Copilot."
        )
    )


@hookimpl
def register_skill_sources(register: Callable[[SkillSource], None], host: Host) -> None:
    """Offer the skills of bundles."""
    if _any(host):
        from .bringing import skill_sources

        for source in skill_sources(host):
            register(source)


@hookimpl
def register_skill_loaders(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the reader of bundles' skills."""
    if _any(host):
        register(Factory("bundles", "skillkit_bundles.bringing:Loader", "skills of bundles"))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None], host: Host) -> None:
    """Offer the commands of bundles, and ``/bundles``, where the plugin ``commands`` is there."""
    if _any(host):
        from skillkit_commands import SlashCommand, SlashCommandSet

        register(
            SlashCommand("bundles", "List the bundles.", "skillkit_bundles.slash:list_bundles", while_running=True)
        )
        register(SlashCommandSet("commands of bundles", "skillkit_bundles.slash:bundle_commands"))


@hookimpl(optionalhook=True)
def register_agent_sources(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the agents of bundles, where the plugin ``subagents`` is there."""
    if _any(host):
        register(Factory("bundles", "skillkit_bundles.bringing:Agents"))


@hookimpl(optionalhook=True)
def register_mcp_servers(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the servers of bundles, where the plugin ``mcp`` is there."""
    if _any(host):
        register(Factory("bundles", "skillkit_bundles.bringing:Servers"))


@hookimpl(optionalhook=True)
def register_shell_hooks(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the hooks of bundles that were consented to, where the plugin ``shell-hooks`` is there."""
    if _any(host):
        register(Factory("bundles", "skillkit_bundles.bringing:ShellHooks"))


@hookimpl(optionalhook=True)
def register_shell_paths(register: Callable[[Factory], None], host: Host) -> None:
    """Put the programs of bundles on the path of commands, where the plugin ``bash`` is there."""
    if _any(host):
        register(Factory("bundles", "skillkit_bundles.bringing:Programs"))


@hookimpl(optionalhook=True)
def register_permission_rules(register: Callable[[Factory], None], host: Host) -> None:
    """Let what a command allows run without a question while its turn lasts, where the plugin ``permissions`` is there."""
    if _any(host):
        register(Factory("commands of bundles", _granted))


def _granted(host: Host) -> Callable[[AgentRunner], Sequence[tuple[str, Mapping[str, Sequence[str]]]]]:
    from .errands import granted

    return granted


@hookimpl(optionalhook=True)
def explain(agent: AgentRunner) -> Sequence[Any]:
    """Name the bundles that counted in a turn, where the plugin ``why`` is there."""
    if not _any(agent.host):
        return ()
    from .installed import counting
    from .report import explained

    rows = [explained(bundle, len(one.waiting)) for one, bundle in counting(agent.host)]
    if not rows:
        return ()
    from skillkit_why import Section

    return (Section("Bundles", rows),)


def listed(host: Host) -> Sequence[Mapping[str, str]]:
    """Return a row for each bundle, for ``skillkit plugins list``."""
    if not _any(host):
        return ()
    from .installed import bundles_of, listed_row

    return [listed_row(one) for one in bundles_of(host)]


@hookimpl
def project_content(register: Callable[..., None], folder: str) -> None:
    """Name the bundles of a project, and what they would run."""
    register(_FOLDER, partial(_described, folder))
    register(_LOCK)


def _described(folder: str) -> list[str]:
    place = Path(folder, _FOLDER)
    if not place.is_dir():
        return []
    from .formats.reading import read_bundle
    from .report import summary

    found = [one for one in sorted(place.iterdir()) if not one.name.startswith(".")]
    return [line for one in found for line in summary(one.name, read_bundle(one).bundle)]
