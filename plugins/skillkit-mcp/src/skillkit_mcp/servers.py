"""Which servers there are: the section ``mcp``, the user's ``mcp.json``, and ``.mcp.json`` of a trusted folder."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from skillkit_process import HARMLESS, environment

from skillkit_core import UsageError

from .config import McpConfig
from .names import server_names
from .server_config import ServerConfig

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["TAKEN", "Configured", "Server", "configured_servers", "given_servers", "server_of", "user_file"]

_MAX_FILE = 1_000_000
_HARMLESS = HARMLESS | {"TERM"}
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# what other programs keep in the same shape, and what makes no difference here
_IGNORED = frozenset(
    {"description", "name", "icon", "timeout", "gallery", "version", "metadata", "tags", "sandboxEnabled"}
)
_DECISIONS = {"alwaysAllow", "autoApprove", "always_allow", "trustAnnotations", "trust_annotations"}
TAKEN = {name for key, info in ServerConfig.model_fields.items() for name in (key, info.alias)} | _DECISIONS | {"type"}
"""The keys of a server that count."""


@dataclass(frozen=True, slots=True)
class Configured:
    """A server as somebody wrote it down.

    Attributes:
        name: its name.
        short: the name in the names of its tools.
        origin: ``config``, ``user``, ``project``, or what the plugin that brings it says.
        path: the file.
        config: what is said of it; ``None``: it cannot be used.
        problems: what is wrong, a line each.
    """

    name: str
    short: str
    origin: str
    path: str
    config: ServerConfig | None
    problems: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the server may be started."""
        return self.config is not None and not self.config.disabled


@dataclass(frozen=True, slots=True)
class Server:
    """A server that can be started: variables are filled in, limits are known; ``redact`` takes secrets out of what it says."""

    name: str
    short: str
    config: ServerConfig
    command: str | None
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    url: str | None
    headers: Mapping[str, str] = field(repr=False)
    connect_timeout: float
    call_timeout: float
    max_message: int
    max_tools: int
    redact: Callable[[str], str] = field(repr=False)

    def offers(self, tool: str) -> bool:
        """Return whether the filters let a tool through."""
        enabled, disabled = self.config.enabled_tools, self.config.disabled_tools
        return (enabled is None or _fits(tool, enabled)) and not _fits(tool, disabled)

    def allows(self, tool: str) -> bool:
        """Return whether a tool runs without a question."""
        return _fits(tool, self.config.always_allow)


def _fits(tool: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)


def user_file(host: Host) -> Path:
    """Return the file of servers that ``skillkit mcp import`` writes."""
    return host.config_dir / "mcp.json"


def configured_servers(host: Host) -> list[Configured]:
    """Return all servers by name; where a name is used twice the first wins: section, user's file, project's file."""
    config: McpConfig = host.config.section("mcp")
    found: dict[str, tuple[str, str, ServerConfig | None, list[str]]] = {}
    for name, one in config.servers.items():
        found[name] = "config", host.config.origin(f"mcp.servers.{name}") or "", one, []
    files = [("user", user_file(host))]
    if config.project_file and host.trusts(".mcp.json"):
        files.append(("project", host.cwd / ".mcp.json"))
    for origin, path in files:
        for name, (said, problems) in read_file(path, project=origin == "project").items():
            if name not in found:
                found[name] = origin, str(path), said, problems
    wishes = {name: name for name in found}
    for source in brought_by(host):
        for name, brought in source().items():
            if name not in found:
                origin = str(brought["origin"])
                found[name] = origin, str(brought["path"]), *parse_server(dict(brought["config"]), given_by=origin)
                wish = str(brought.get("short") or name)
                wishes[name] = wish if wish not in wishes.values() else name
    short = server_names(wishes.values())
    return [
        Configured(name, short[wishes[name]], origin, place, said, tuple(problems))
        for name, (origin, place, said, problems) in sorted(found.items())
    ]


def brought_by(host: Host) -> list[Callable[[], Mapping[str, Mapping[str, Any]]]]:
    """Return what other plugins register as sources of servers."""
    if "mcp_servers" not in host.kinds:  # a host with this module alone has no registry
        return []
    known = host.registry("mcp_servers")
    return [known.get(name) for name in known.list()]


def given_servers(servers: Mapping[str, Mapping[str, Any]]) -> list[Configured]:
    """Return the servers that code gives for one agent; what would allow their tools without a question is refused."""
    short = server_names(servers)
    read = {name: parse_server(dict(data), given_by="code that connects it") for name, data in servers.items()}
    return [
        Configured(name, short[name], "agent", "", config, tuple(problems))
        for name, (config, problems) in sorted(read.items())
    ]


def read_file(path: Path, *, project: bool = False) -> dict[str, tuple[ServerConfig | None, list[str]]]:
    """Return the servers of a file with ``mcpServers``, each with what is wrong; nothing where there is no such file.

    Raises:
        UsageError: the file cannot be read.
    """
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from None
    try:
        if len(data) > _MAX_FILE:
            raise ValueError("it is too large")
        servers = json.loads(data.decode("utf-8-sig")).get("mcpServers", {})
        return {
            str(name): parse_server(one, given_by="a project" if project else None) for name, one in servers.items()
        }
    except (ValueError, RecursionError, AttributeError) as error:
        raise UsageError(
            f"is no file of MCP servers: {error}", where=str(path), hint='write {"mcpServers": {...}}'
        ) from None


def described(folder: str) -> list[str]:
    """Return a line for every server that the file of a project names: what would be started, or asked."""
    try:
        found = read_file(Path(folder, ".mcp.json"), project=True)
    except UsageError as error:
        return [f"MCP servers: {error.message}"]
    lines = []
    for name, (config, _) in found.items():
        what = "cannot be used" if config is None else config.url or " ".join([config.command or "", *config.args])
        lines.append(f"MCP server {name}: {what}")
    return lines


def parse_server(data: Any, *, given_by: str | None = None) -> tuple[ServerConfig | None, list[str]]:
    """Return what is said of a server, and what of it has no effect or is wrong.

    Args:
        given_by: who gives the server, where that one cannot decide what runs without a question.
    """
    if not isinstance(data, dict):
        return None, ["it is no object"]
    if data.get("type") == "sse":
        return None, ["servers over SSE (before 2025) are not supported: use its streamable HTTP address"]
    problems = []
    kept = {key: value for key, value in data.items() if key in TAKEN}
    if given_by and (given := sorted(_DECISIONS & set(kept))):
        problems.append(f"{given_by} cannot decide {', '.join(given)}: say it in your own configuration")
        kept = {key: value for key, value in kept.items() if key not in given}
    if unknown := sorted(set(data) - TAKEN - _IGNORED):
        problems.append(f"no effect here: {', '.join(map(str, unknown))}")
    try:
        return ServerConfig.model_validate(kept), problems
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return None, [
            *problems,
            f"{where}: {first['msg']}" if where else str(first["msg"]).removeprefix("Value error, "),
        ]


async def server_of(host: Host, one: Configured) -> Server:
    """Return a server with its variables filled in.

    Raises:
        UsageError: a variable is missing or may not be used.
    """
    config: McpConfig = host.config.section("mcp")
    said = one.config
    assert said is not None

    async def variable(name: str) -> str | None:
        if name in config.variables:
            return await host.find_secret(name)
        return host.environ.get(name) if name in _HARMLESS or name.startswith("LC_") else None

    async def fill(text: str) -> str:
        try:
            return await _filled(text, variable)
        except KeyError as missing:
            name = missing.args[0]
            allowed = name in config.variables or name in _HARMLESS
            hint = f"set {name}" if allowed else f"add {name} to mcp.variables"
            raise UsageError(f"it needs the variable {name}", where=f"MCP server {one.name!r}", hint=hint) from None

    env = environment(_HARMLESS, host.environ)
    own = {name: await fill(text.get_secret_value()) for name, text in said.env.items()}
    headers = {name: await fill(text) for name, text in said.headers.items()}
    for name, value in (*own.items(), *headers.items()):
        if re.search(r"key|token|secret|password|auth|cookie", name, re.I):
            host.remember_secret(value)
            host.remember_secret(value.rpartition(" ")[2])
    return Server(
        one.name,
        one.short,
        said,
        await fill(said.command) if said.command is not None else None,
        tuple([await fill(text) for text in said.args]),
        {**env, **own},
        str((host.cwd / Path(await fill(said.cwd)).expanduser()) if said.cwd else host.cwd),
        await fill(said.url) if said.url is not None else None,
        headers,
        said.connect_timeout or config.connect_timeout,
        said.call_timeout or config.call_timeout,
        config.max_message,
        config.max_tools,
        host.redact,
    )


async def _filled(text: str, variable: Callable[[str], Awaitable[str | None]]) -> str:
    """Return ``text`` with values for ``${NAME}`` and ``${NAME:-default}``; raise KeyError for a name without a value."""
    pieces, at = [], 0
    for match in _VARIABLE.finditer(text):
        value = await variable(match[1])
        if value is None:
            value = match[2]
        if value is None:
            raise KeyError(match[1])
        pieces += [text[at : match.start()], value]
        at = match.end()
    return "".join([*pieces, text[at:]])
