"""What the bundles that count bring to a host: skills, slash commands, agents, MCP servers and hooks, under ``bundle:name``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_skills import SkillFolderLoader

from skillkit_core import LoadedSkills, Skill, SkillLoader, SkillProblem, SkillSource
from skillkit_core.errors import SkillKitError

from .agents import agent_fields
from .installed import Installed, counting, data_folder, options_of
from .model import Bundle, Server
from .prompts import bytes_of, fill, variables_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = [
    "Agents",
    "BundleSource",
    "Loader",
    "Programs",
    "Servers",
    "ShellHooks",
    "skill_sources",
    "typed",
    "variables",
]

_USER_CONFIG = re.compile(r"\$\{user_config\.([\w-]+)\}")


def variables(host: Host, bundle: Bundle, session: str | None = None) -> dict[str, str]:
    """Return the values of the variables that texts of a bundle may name here."""
    return variables_of(bundle.root, data_folder(host, bundle.name), host.cwd, session)


# --- skills -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BundleSource(SkillSource):
    """The skills of a bundle.

    Attributes:
        compat: ``claude``: arguments are put in as Claude Code does.
    """

    compat: str = "claude"


def skill_sources(host: Host) -> Iterator[BundleSource]:
    """Yield a source for each bundle with skills."""
    for _, bundle in counting(host):
        if bundle.skills:
            yield BundleSource(f"bundle:{bundle.name}", "plugin", bundle.root, trusted=True, loader="bundles")


class Loader(SkillLoader):
    """Reads the skills of bundles: those that the bundle says, wherever they lie in it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folders = SkillFolderLoader()

    def accepts(self, source: SkillSource) -> bool:
        """Return whether the source is a bundle."""
        return isinstance(source, BundleSource)

    def load(self, source: SkillSource) -> LoadedSkills:
        """Return the skills of a bundle under ``bundle:name``, with the bare name as an alias."""
        name = source.name.removeprefix("bundle:")
        bundle = next((one for _, one in counting(self._host) if one.name == name), None)
        skills: list[Skill] = []
        problems: list[SkillProblem] = []
        values = variables(self._host, bundle) if bundle is not None else {}
        for one in bundle.skills if bundle is not None else ():
            folder = SkillSource(f"{source.name}/{one.file}", "plugin", one.path.parent, trusted=True)
            found = self._folders.load(folder)
            problems += found.problems
            mine = next((skill for skill in found.skills if skill.path == one.path.parent), None)
            if mine is None:
                continue
            bare = one.name.rpartition(":")[2]
            skills.append(
                replace(
                    mine, name=f"{name}:{bare}", aliases=(*dict.fromkeys((bare, *mine.aliases)),), source=source.name,
                    body=fill(mine.body, values),
                    problems=tuple(p for p in mine.problems if p.code != "name-dir-mismatch"),
                )
            )  # fmt: skip
        return LoadedSkills(tuple(skills), tuple(problems))


# --- agents -------------------------------------------------------------------------------------------------------------


class Agents:
    """The agents of bundles, for the plugin ``subagents``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self) -> Sequence[Mapping[str, Any]]:
        """Return the fields of each agent."""
        return list(self._all())

    def _all(self) -> Iterator[Mapping[str, Any]]:
        for _, bundle in counting(self._host):
            values = variables(self._host, bundle) if bundle.agents else {}
            for one in bundle.agents:
                name, origin = typed(one.name), f"bundle:{bundle.name}"
                try:
                    yield agent_fields(bytes_of(bundle, one), name, one.path, origin, values)
                except SkillKitError as error:
                    yield {"name": name, "path": one.path, "origin": origin, "broken": str(error)}


def typed(name: str) -> str:
    """Return a name as it can be typed: small letters, and a hyphen for everything odd."""
    plain = re.sub(r"[^a-z0-9_.:-]+", "-", name.lower()).strip("-:") or "unnamed"
    plain = plain if plain[0].isalpha() else f"x{plain}"
    return plain[:64].rstrip("-:")


# --- servers ------------------------------------------------------------------------------------------------------------


class Servers:
    """The MCP servers of bundles, for the plugin ``mcp``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the servers by ``bundle:name``; their tools are ``mcp__plugin_BUNDLE_SERVER__TOOL``."""
        return {
            f"{bundle.name}:{server.name}": {
                "config": self._filled(bundle, server),
                "origin": f"bundle:{bundle.name}",
                "path": str(bundle.root / server.file),
                "short": f"plugin_{bundle.name}_{server.name}",
            }
            for _, bundle in counting(self._host)
            for server in bundle.servers
        }

    def _filled(self, bundle: Bundle, server: Server) -> dict[str, Any]:
        values = variables(self._host, bundle)
        options = {**options_of(self._host, bundle), **_secret_options(self._host, bundle)}
        if bundle.dialect == "agent-plugins":
            values = {name: values[name] for name in ("PLUGIN_ROOT", "PLUGIN_DATA")}
        config = {
            key: _each(value, partial(_put, values=values, options=options))
            for key, value in server.config.items()
            if bundle.dialect != "agent-plugins" or key in ("args", "env", "cwd") or not isinstance(value, str)
        }
        config = {**server.config, **config}
        if config.get("type") in ("streamable-http", "http"):
            config["type"] = "http"
        command = config.get("command")
        if isinstance(command, str):
            if command.startswith("./"):
                config["command"] = os.path.normpath(bundle.root / command)
            own = {
                name: values[name] for name in values if name.startswith(("CLAUDE_PLUGIN", "PLUGIN", "CLAUDE_PROJECT"))
            }
            given = config.get("env")
            config["env"] = {**own, **(given if isinstance(given, dict) else {})}
            if isinstance(config.get("cwd"), str):
                config["cwd"] = os.path.normpath(bundle.root / config["cwd"])
            elif bundle.dialect != "claude":
                config["cwd"] = str(bundle.root)
        return config


def _secret_options(host: Host, bundle: Bundle) -> dict[str, str]:
    """Return the answers that are secrets, which the environment holds."""
    found = {}
    for key, about in bundle.options.items():
        value = host.environ.get(f"CLAUDE_PLUGIN_OPTION_{key.upper()}") if about.get("sensitive") else None
        if value:
            host.remember_secret(value)
            found[key] = value
    return found


def _put(text: str, *, values: Mapping[str, str], options: Mapping[str, str]) -> str:
    return _USER_CONFIG.sub(lambda match: options.get(match[1], match[0]), fill(text, values))


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each(one, change) for one in value]
    return {key: _each(one, change) for key, one in value.items()} if isinstance(value, dict) else value


# --- programs -----------------------------------------------------------------------------------------------------------


class Programs:
    """The folders of programs of bundles, for the plugin ``bash``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self) -> Sequence[str]:
        """Return the folders."""
        return [str(bundle.programs) for _, bundle in counting(self._host) if bundle.programs is not None]


# --- hooks --------------------------------------------------------------------------------------------------------------


class ShellHooks:
    """The hooks of bundles that a person consented to, for the plugin that runs hooks."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self, agent: AgentRunner | None = None) -> Sequence[Mapping[str, Any]]:
        """Return one mapping for each handler, as the plugin that runs hooks documents it."""
        return [said for one, bundle in counting(self._host) for said in self._of(one, bundle)]

    def _of(self, one: Installed, bundle: Bundle) -> Iterator[Mapping[str, Any]]:
        if not one.consented:
            return
        programs = bundle.programs
        plugin = {
            "name": bundle.name,
            "root": str(bundle.root),
            "data": str(data_folder(self._host, bundle.name)),
            "options": {**options_of(self._host, bundle), **_secret_options(self._host, bundle)},
            "bin": [str(programs)] if programs is not None else [],
        }
        for digest, hook in one.consented.items():
            # Copilot's matchers mean whole names
            matcher = f"^(?:{hook.matcher})$" if hook.dialect == "copilot" and hook.matcher else hook.matcher
            yield {
                "origin": f"bundle:{bundle.name}",
                "file": str(bundle.root / hook.file),
                "digest": digest,
                "dialect": hook.dialect if hook.dialect != "agent-plugins" else "claude",
                "wire": "camel" if hook.written[:1].islower() else "claude",
                "hooks": {hook.event: [{"matcher": matcher, "hooks": [dict(hook.handler)]}]},
                "plugin": plugin,
            }
