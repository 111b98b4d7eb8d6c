"""The settings of Claude Code, Codex and Copilot, taken over where a person says so: what each became, and what did not.

What they keep in folders that are read anyway (agents, commands, skills, notes for models) stays where it is.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import yaml

from skillkit_core.descriptors import load_object
from skillkit_core.errors import SkillKitError, UsageError
from skillkit_core.settings.documents import open_regular, write_whole

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["HOSTS", "Plan", "Row", "plan_for"]

HOSTS = ("claude", "codex", "copilot")
Outcome = Literal["taken", "read", "left"]
_Taker: TypeAlias = Callable[["Host", "Plan", Path, str, Any], None]
_MOST_BYTES = 4 << 20
_MODES = {"plan": "read-only", "acceptEdits": "accept-edits", "default": "ask", "dontAsk": "ask"}


@dataclass(frozen=True, slots=True)
class Row:
    """What one setting became.

    Attributes:
        what: the setting, in the words of its host.
        file: where it stands.
        outcome: ``taken``: it is written down here; ``read``: it counts where it is; ``left``: it has no effect here.
        became: what it is here, or why it has no effect.
    """

    what: str
    file: str
    outcome: Outcome
    became: str


@dataclass(slots=True)
class Plan:
    """What an import would write, before anything is written.

    Attributes:
        rows: the table.
        permissions: lists of rules, a mode, roots.
        hooks: in the shape of Claude Code's settings.
        servers: MCP servers by name.
        bundles: folders of installed plugins, each with its name.
        marketplaces: sources of marketplaces.
    """

    rows: list[Row] = field(default_factory=list)
    permissions: dict[str, Any] = field(default_factory=dict)
    hooks: dict[str, list[Any]] = field(default_factory=dict)
    servers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    bundles: dict[str, Path] = field(default_factory=dict)
    marketplaces: dict[str, str] = field(default_factory=dict)

    def say(self, what: str, file: Path | str, outcome: Outcome, became: str) -> None:
        """Add a row."""
        self.rows.append(Row(what, str(file), outcome, became))


def plan_for(host: Host, name: str, *, project: bool = False) -> Plan:
    """Return what an import of a host's settings would do; nothing is written.

    Args:
        name: ``claude``, ``codex`` or ``copilot``.
        project: the settings of this folder in place of the user's.

    Raises:
        UsageError: a file of settings cannot be read, or the folder is not trusted.
    """
    if project and host.withheld is None:
        raise UsageError("the folder is not trusted", where=str(host.cwd), hint="trust it with 'skillkit config trust'")
    home = Path(host.environ.get("HOME") or Path.home())
    plan = Plan()
    {"claude": _claude, "codex": _codex, "copilot": _copilot}[name](host, plan, home, project)
    return plan


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a file of JSON; empty where there is none."""
    data = _bytes(path)
    if data is None:
        return {}
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is no JSON: {error}", where=str(path)) from None
    if not isinstance(found, dict):
        raise UsageError("must be an object", where=str(path))
    return found


def _bytes(path: Path) -> bytes | None:
    try:
        with open_regular(path) as file:
            return file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from None


# --- Claude Code --------------------------------------------------------------------------------------------------------


def _claude(host: Host, plan: Plan, home: Path, project: bool) -> None:
    folder = host.cwd / ".claude" if project else Path(host.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    for path in [folder / "settings.json", *([folder / "settings.local.json"] if project else [])]:
        for key, value in _json(path).items():
            take: _Taker = _CLAUDE.get(key, _unknown)
            take(host, plan, path, key, value)
    state = home / ".claude.json"
    found = _json(state)
    if project:
        mine = found.get("projects")
        found = mine.get(str(host.cwd.resolve()), {}) if isinstance(mine, dict) else {}
        if (host.cwd / ".mcp.json").is_file():
            plan.say(".mcp.json", host.cwd / ".mcp.json", "read", "it counts where it is: skillkit mcp list")
    _servers(host, plan, state, found.get("mcpServers"))
    for kind, how in (
        ("agents", "skillkit agents list"),
        ("commands", "skillkit commands list"),
        ("skills", "skillkit skills list"),
    ):
        if (folder / kind).is_dir():
            number = sum(1 for _ in (folder / kind).rglob("*.md"))
            plan.say(f"{kind} ({number} files)", folder / kind, "read", f"they count where they are: {how}")
    for notes in (folder / "CLAUDE.md", host.cwd / "CLAUDE.md") if project else (folder / "CLAUDE.md",):
        if notes.is_file():
            plan.say("CLAUDE.md", notes, "read", "models get it from where it is, with skillkit-context")
    for kind in ("output-styles", "workflows", "themes"):
        if (folder / kind).exists():
            plan.say(kind, folder / kind, "left", "there is nothing of this kind here")


def _permissions(host: Host, plan: Plan, path: Path, key: str, value: Any) -> None:
    if not isinstance(value, dict):
        plan.say(key, path, "left", "it is no object")
        return
    for name, given in value.items():
        if name in ("allow", "ask", "deny") and isinstance(given, list):
            for rule in given:
                why = _unreadable(host, name, rule)
                if why:
                    plan.say(f"permissions.{name}: {rule}", path, "left", why)
                    continue
                known = plan.permissions.setdefault(name, [])
                known += [rule] if rule not in known else []
                plan.say(f"permissions.{name}: {rule}", path, "taken", f"permissions.{name}")
        elif name == "defaultMode":
            mode = _MODES.get(str(given))
            if mode is None:
                plan.say(
                    f"permissions.defaultMode: {given}", path, "left", "only a person turns it on here: --mode bypass"
                )
            else:
                plan.permissions["mode"] = mode
                plan.say(f"permissions.defaultMode: {given}", path, "taken", f"permissions.mode: {mode}")
        elif name == "additionalDirectories" and isinstance(given, list):
            plan.permissions["roots"] = [one for one in given if isinstance(one, str)]
            plan.say("permissions.additionalDirectories", path, "taken", "permissions.roots")
        elif name == "disableBypassPermissionsMode":
            plan.say(f"permissions.{name}", path, "left", "the mode bypass counts only where the configuration says so")
        else:
            plan.say(f"permissions.{name}", path, "left", "nothing here is like it")


def _unreadable(host: Host, kind: str, rule: Any) -> str:
    """Return why a rule cannot be taken over; empty: it can."""
    if not isinstance(rule, str) or not rule.strip():
        return "it is no text"
    sections = {entry.name: entry.item for entry in host.registry("config").entries()}
    if "permissions" not in sections:
        return "nothing here reads rules: pip install skillkit-permissions"
    model: Any = load_object(sections["permissions"].model)
    check = next(one.metadata["check"] for one in fields(model) if one.name == kind)
    try:
        check((rule,))
    except ValueError as error:
        return str(error)
    return ""


def _hooks(host: Host, plan: Plan, path: Path, key: str, value: Any) -> None:
    if not isinstance(value, dict):
        plan.say(key, path, "left", "it is no object")
        return
    for event, groups in value.items():
        if not isinstance(groups, list):
            plan.say(f"hooks.{event}", path, "left", "it is no list")
            continue
        plan.hooks.setdefault(event, []).extend(one for one in groups if one not in plan.hooks[event])
        runner = "" if "shell_hooks" in host.kinds else ", once something runs them: pip install skillkit-shell-hooks"
        plan.say(f"hooks.{event} ({len(groups)})", path, "taken", f"hooks.json{runner}")


def _plugins(host: Host, plan: Plan, path: Path, key: str, value: Any) -> None:
    installed = _json(path.parent / "plugins" / "installed_plugins.json").get("plugins")
    known = installed if isinstance(installed, dict) else {}
    for name, on in value.items() if isinstance(value, dict) else ():
        entries = known.get(name)
        entry = entries[0] if isinstance(entries, list) and entries else entries
        where = entry.get("installPath") if isinstance(entry, dict) else None
        plain, _, market = name.partition("@")
        if on is not True:
            plan.say(f"enabledPlugins: {name}", path, "left", "it is switched off there")
        elif isinstance(where, str) and Path(where).is_dir():
            plan.bundles[plain] = Path(where)
            plan.say(f"enabledPlugins: {name}", path, "taken", f"bundle {plain}; its hooks wait for your consent")
        else:
            how = f"skillkit marketplace add SOURCE, then skillkit bundles add {plain}@{market}"
            plan.say(f"enabledPlugins: {name}", path, "left", f"it is not on this machine: {how}")


def _markets(host: Host, plan: Plan, path: Path, key: str, value: Any) -> None:
    for name, one in value.items() if isinstance(value, dict) else ():
        source = one.get("source") if isinstance(one, dict) else None
        source = source if isinstance(source, dict) else {}
        place = source.get("repo") or source.get("url") or source.get("path")
        if isinstance(place, str):
            plan.marketplaces[name] = place
            plan.say(f"{key}: {name}", path, "taken", f"skillkit marketplace add {place}")
        else:
            plan.say(f"{key}: {name}", path, "left", "its source is of an unknown kind")


def _settings_servers(host: Host, plan: Plan, path: Path, key: str, value: Any) -> None:
    _servers(host, plan, path, value)


def _unknown(host: Host, plan: Plan, path: Path, key: str, value: Any) -> None:
    if key not in ("$schema",):
        plan.say(key, path, "left", _REASONS.get(key, "nothing here is like it"))


_REASONS = {
    "env": "variables are not set for programs here: name those that they may see, bash.env_allow and mcp.variables",
    "model": "choose it with 'skillkit config' (model)",
    "apiKeyHelper": "keys come from the environment or from 'skillkit auth'",
    "statusLine": "the status line is made of indicators of plugins",
    "outputStyle": "there are no output styles here",
    "sandbox": "see the section sandbox of skillkit-sandbox",
}
_CLAUDE: Mapping[str, _Taker] = {
    "permissions": _permissions,
    "hooks": _hooks,
    "enabledPlugins": _plugins,
    "extraKnownMarketplaces": _markets,
    "mcpServers": _settings_servers,
}


def _servers(host: Host, plan: Plan, path: Path, value: Any) -> None:
    """Take over MCP servers; what would let their tools run without a question is left."""
    for name, one in value.items() if isinstance(value, dict) else ():
        if not isinstance(one, dict) or not any(isinstance(one.get(key), str) for key in ("command", "url")):
            plan.say(f"mcpServers: {name}", path, "left", "it has neither command nor url")
            continue
        decisions = {"alwaysAllow", "autoApprove", "trust"} & one.keys()
        kept = {key: item for key, item in one.items() if key not in decisions}
        plan.servers[name] = kept
        runner = "" if "mcp_servers" in host.kinds else ", once something starts them: pip install skillkit-mcp"
        lost = f" without {', '.join(sorted(decisions))}" if decisions else ""
        plan.say(f"mcpServers: {name}", path, "taken", f"mcp.json{lost}{runner}")


# --- Codex --------------------------------------------------------------------------------------------------------------


def _codex(host: Host, plan: Plan, home: Path, project: bool) -> None:
    folder = host.cwd / ".codex" if project else Path(host.environ.get("CODEX_HOME") or home / ".codex")
    path = folder / "config.toml"
    data = _bytes(path)
    try:
        found = tomllib.loads(data.decode("utf-8-sig")) if data is not None else {}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is no TOML: {error}", where=str(path)) from None
    for key, value in found.items():
        if key == "mcp_servers" and isinstance(value, dict):
            _servers(host, plan, path, {name: _of_codex(one) for name, one in value.items()})
        elif key == "approval_policy":
            mode = {"untrusted": "ask", "on-request": "ask", "on-failure": "ask"}.get(str(value))
            _mode(plan, path, f"approval_policy: {value}", mode)
        elif key == "sandbox_mode":
            mode = {"read-only": "read-only", "workspace-write": None}.get(str(value))
            why = "see the section sandbox of skillkit-sandbox"
            _mode(plan, path, f"sandbox_mode: {value}", mode, why)
        elif key == "hooks" and isinstance(value, dict):
            _hooks(host, plan, path, key, {k: v for k, v in value.items() if isinstance(v, list)})
        elif key == "plugins" and isinstance(value, dict):
            for name in value:
                plan.say(
                    f"plugins: {name}", path, "left", "add it from its source: skillkit bundles add SOURCE --as codex"
                )
        elif key == "projects":
            plan.say(key, path, "left", "whom you trust is asked here, folder by folder: skillkit config trust")
        else:
            _unknown(host, plan, path, key, value)
    if (folder / "hooks.json").is_file():
        _hooks(host, plan, folder / "hooks.json", "hooks", _json(folder / "hooks.json").get("hooks"))
    _read_folders(plan, folder, {"skills": "they count where they are: skillkit skills list"})
    if (folder / "prompts").is_dir():
        plan.say("prompts", folder / "prompts", "left", f"copy them: {host.config_dir / 'commands'}")
    if (folder / "AGENTS.md").is_file():
        plan.say(
            "AGENTS.md", folder / "AGENTS.md", "left", f"models get {host.config_dir / 'AGENTS.md'}: copy it there"
        )


def _mode(plan: Plan, path: Path, what: str, mode: str | None, why: str = "only a person turns it on here") -> None:
    if mode is None:
        plan.say(what, path, "left", why)
    else:
        plan.permissions["mode"] = mode
        plan.say(what, path, "taken", f"permissions.mode: {mode}")


def _of_codex(one: Any) -> Any:
    """Return a server of Codex in the shape that the others use."""
    if not isinstance(one, dict):
        return one
    found = {key: one[key] for key in ("command", "args", "env", "cwd", "url") if key in one}
    headers = dict(one["http_headers"]) if isinstance(one.get("http_headers"), dict) else {}
    if isinstance(token := one.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    names = one.get("env_http_headers")
    headers |= {name: f"${{{variable}}}" for name, variable in names.items()} if isinstance(names, dict) else {}
    passed = one.get("env_vars")
    if isinstance(passed, list):
        found["env"] = {**found.get("env", {}), **{name: f"${{{name}}}" for name in passed if isinstance(name, str)}}
    if one.get("enabled") is False:
        found["disabled"] = True
    return {**found, **({"headers": headers} if headers else {})}


# --- Copilot ------------------------------------------------------------------------------------------------------------


def _copilot(host: Host, plan: Plan, home: Path, project: bool) -> None:
    folder = host.cwd / ".github" if project else Path(host.environ.get("COPILOT_HOME") or home / ".copilot")
    for key, value in _json(folder / "config.json").items():
        if key == "trusted_folders":
            plan.say(
                key,
                folder / "config.json",
                "left",
                "whom you trust is asked here, folder by folder: skillkit config trust",
            )
        elif key == "hooks" and isinstance(value, dict):
            _copilot_hooks(host, plan, folder / "config.json", {"hooks": value})
        else:
            _unknown(host, plan, folder / "config.json", key, value)
    for file in (folder / "mcp-config.json", folder / "mcp.json"):
        found = _json(file)
        _servers(host, plan, file, found.get("mcpServers", found.get("servers")))
    if (folder / "hooks").is_dir():
        for file in sorted((folder / "hooks").glob("*.json")):
            _copilot_hooks(host, plan, file, _json(file))
    _read_folders(plan, folder, {"skills": "they count where they are: skillkit skills list"})
    if (folder / "agents").is_dir():
        place = host.cwd / ".skillkit/agents" if project else host.config_dir / "agents"
        plan.say("agents", folder / "agents", "left", f"copy NAME.agent.md to {place}/NAME.md")
    if (folder / "copilot-instructions.md").is_file():
        plan.say(
            "copilot-instructions.md",
            folder / "copilot-instructions.md",
            "left",
            "say in AGENTS.md what models are to know",
        )
    plugins = folder / "installed-plugins"
    for path in sorted(plugins.glob("*/*")) if plugins.is_dir() else ():
        if path.is_dir():
            plan.bundles[path.name] = path
            plan.say(
                f"installed plugin {path.name}", path, "taken", f"bundle {path.name}; its hooks wait for your consent"
            )


def _copilot_hooks(host: Host, plan: Plan, path: Path, data: Mapping[str, Any]) -> None:
    """Take over hooks in either spelling; each becomes a hook in Claude Code's form."""
    from .formats.hook_files import CLAUDE_EVENTS, hooks_of
    from .formats.tree import Tree

    tree = Tree(path.parent)
    found = hooks_of(tree, data, path.name, "copilot", CLAUDE_EVENTS)
    for problem in tree.problems:
        if problem.code != "missing-file":
            plan.say(f"hooks ({problem.code})", path, "left", problem.what)
    for hook in found:
        matcher = f"^(?:{hook.matcher})$" if hook.matcher else ""
        group = {"matcher": matcher, "hooks": [dict(hook.handler)]}
        known = plan.hooks.setdefault(hook.event, [])
        known += [group] if group not in known else []
        runner = "" if "shell_hooks" in host.kinds else ", once something runs them: pip install skillkit-shell-hooks"
        plan.say(f"hooks.{hook.written}", path, "taken", f"hooks.json, as {hook.event}{runner}")


def _read_folders(plan: Plan, folder: Path, kinds: Mapping[str, str]) -> None:
    for kind, how in kinds.items():
        if (folder / kind).is_dir():
            plan.say(kind, folder / kind, "read", how)


# --- what is written ------------------------------------------------------------------------------------------------------


def carry_out(host: Host, plan: Plan, *, project: bool = False) -> Iterator[str]:
    """Write what a plan says, and yield a line for each file that changed, and for what could not be written.

    What stands in the files already stays, and wins over what has its name.
    """
    base = host.cwd / ".skillkit" if project else host.config_dir
    if plan.permissions:
        yield _write_permissions(base / "config.yaml", plan.permissions)
    if plan.hooks:
        path = base / "hooks.json"
        found = _json(path)
        kept: dict[str, Any] = _object(found, "hooks")
        for event, groups in plan.hooks.items():
            known = kept.setdefault(event, [])
            known += [group for group in groups if group not in known]
        _write(path, json.dumps({**found, "hooks": kept}, indent=2, ensure_ascii=False) + "\n")
        yield f"hooks are in {path}"
    if plan.servers:
        path = host.cwd / ".mcp.json" if project else host.config_dir / "mcp.json"
        found = _json(path)
        kept = _object(found, "mcpServers")
        _write(path, json.dumps({**found, "mcpServers": {**plan.servers, **kept}}, indent=2, ensure_ascii=False) + "\n")
        yield f"MCP servers are in {path}"
    yield from _add_bundles(host, plan, project)


def _object(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before = os.umask(0o077)
    try:
        write_whole(str(path), text)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from None
    finally:
        os.umask(before)


def _write_permissions(path: Path, rules: Mapping[str, Any]) -> str:
    """Add the section ``permissions`` to a file of settings; one that has it is left for its owner to change."""
    block = yaml.safe_dump({"permissions": dict(rules)}, sort_keys=False, allow_unicode=True)
    text = (_bytes(path) or b"").decode("utf-8-sig", "replace")
    if re.search(r"^permissions[ \t]*:", text, re.M) or text.lstrip().startswith("{"):
        return f"{path} has permissions already, and stays as it is. Add there what you want:\n{block}"
    _write(path, f"{text.rstrip()}\n\n{block}".lstrip("\n"))
    return f"rules and mode are in {path}"


def _add_bundles(host: Host, plan: Plan, project: bool) -> Iterator[str]:
    from .adding import Consent, consider, install
    from .books import Origin
    from .fetching import named
    from .markets import add_market
    from .places import places

    for name, source in plan.marketplaces.items():
        try:
            add_market(host, named(source, host.cwd))
            yield f"the marketplace {name} is added"
        except SkillKitError as error:
            yield f"the marketplace {name} is not added: {error}"
    place = places(host)["project" if project else "user"]
    for name, folder in plan.bundles.items():
        try:
            one = consider(host, Origin(kind="folder", place=str(folder)), name=name)
            if one.findings:
                found = one.findings[0].code
                yield f"the bundle {name} is not added, because the scan found {found}: skillkit bundles add {folder}"
                continue
            waiting = install(host, one, place, Consent(yes=True))
            yield f"the bundle {one.name} is added" + (f", {waiting} of its hooks wait" if waiting else "")
        except (SkillKitError, OSError) as error:
            yield f"the bundle {name} is not added: {error}"
