"""``skillkit mcp``: lists, shows, imports and logs in to servers, and serves SkillKit's own tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import SkillKitError, UserInterface
from skillkit_core.cli.output import echo, fields, json_option, print_json, short_path, shorten, style, table, warning
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    from skillkit_core import Answers, Host, Survey

    from .connection import Connection
    from .servers import Configured

__all__ = ["mcp"]


@click.group(invoke_without_command=True)
@click.pass_context
def mcp(ctx: click.Context) -> None:
    """List, import and log in to MCP servers; be one."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@mcp.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool = False) -> None:
    """List the servers. None of them is started."""
    from .servers import configured_servers

    host: Host = ctx.obj.host
    found = configured_servers(host)
    if as_json:
        print_json([_facts(host, one) for one in found])
        return
    table(
        ["server", "state", "from", "reached by"],
        [[one.name, _state(host, one), one.origin, _reached(one)] for one in found],
        styles=lambda i, cell: {"bold": True} if i == 0 else {},
    )
    for one in found:
        for problem in one.problems:
            warning(f"{one.name}: {problem}")
    if not found:
        echo(as_typed("There are no MCP servers. Add those of another program: skillkit mcp import FILE"))
    if (host.cwd / ".mcp.json").exists() and not host.trusts(".mcp.json"):
        echo(
            as_typed("The .mcp.json of this folder does not count: it is not trusted. Try: skillkit config trust"),
            err=True,
        )


def _state(host: Host, one: Configured) -> str:
    """Return whether a server is used; ``not found``: there is no such program."""
    if one.config is None or one.config.disabled:
        return "broken" if one.config is None else "disabled"
    command = one.config.command or ""
    # a server may bring a PATH of its own, and a path starts in its folder
    looked_for = command and "/" not in command and "$" not in command and "PATH" not in one.config.env
    return "not found" if looked_for and which(command, path=host.environ.get("PATH")) is None else "on"


def _reached(one: Configured) -> str:
    if one.config is None:
        return ""
    return one.config.url or " ".join([one.config.command or "", *one.config.args])


def _facts(host: Host, one: Configured) -> dict[str, Any]:
    """Return a server as JSON, without values of variables and headers."""
    config = one.config
    found: dict[str, Any] = {
        "name": one.name,
        "tools_named": f"mcp__{one.short}__",
        "state": _state(host, one),
        "origin": one.origin,
        "path": one.path,
        "problems": list(one.problems),
    }
    if config is not None:
        found |= {"command": config.command, "args": list(config.args), "url": config.url}
        found |= {"env": sorted(config.env), "headers": sorted(config.headers)}
    return found


@mcp.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool = False) -> None:
    """Start a server and show what it offers."""
    host: Host = ctx.obj.host

    async def look() -> dict[str, Any]:
        from .manager import connections_of

        connections = connections_of(host)
        one = connections.named(name)
        try:
            made = await connections.connection(one)
            await made.client()
            return {**_facts(host, one), **await _offered(made)}
        finally:
            await host.aclose()

    found = asyncio.run(look())
    if as_json:
        print_json(found)
        return
    reached = found["url"] or " ".join([found["command"] or "", *found["args"]])
    fields(
        [
            ("server", found["name"]), ("reached by", reached), ("from", short_path(found["path"])),
            ("protocol", found["protocol"]), ("problems", found["problems"]),
            ("instructions", shorten(found["instructions"] or "", 300)),
        ]
    )  # fmt: skip
    echo()
    table(["tool", "what it does"], [[t["offered_as"], t["description"]] for t in found["tools"]])
    for title, rows in (("prompt", found["prompts"]), ("resource", found["resources"])):
        if rows:
            echo()
            table([title, ""], [[row.split("  ")[0], " ".join(row.split("  ")[1:])] for row in rows])
    for tool, why in found["left_out"].items():
        warning(f"{tool} is left out: {why}")
    for tool, keywords in found["unchecked"].items():
        warning(f"{tool}: nobody checks {', '.join(keywords)} in its arguments, but the server itself")


async def _offered(made: Connection) -> dict[str, Any]:
    """Return what a server offers, as JSON."""
    from .names import tool_names
    from .text import shortened
    from .tools import list_resources

    names = tool_names(made.server.short, [tool.name for tool in made.tools])
    return {
        "protocol": made.protocol,
        "instructions": shortened(made.instructions, 4000) if made.instructions else None,
        "tools": [
            {
                "name": shortened(tool.name, 200),
                "offered_as": names[tool.name] if made.server.offers(tool.name) else None,
                "description": tool.description or "",
            }
            for tool in made.tools
        ],
        "prompts": [f"{shortened(prompt.name, 200)}  {prompt.description or ''}" for prompt in made.prompts],
        "resources": await list_resources(made) if made.has_resources else [],
        "left_out": dict(made.messages.left_out),
        "unchecked": {shortened(tool, 200): list(words) for tool, words in made.messages.unchecked.items()},
    }


@mcp.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--only", multiple=True, metavar="NAME", help="Take this server only (may be repeated).")
@click.option("--replace", is_flag=True, help="Replace servers that have the same name.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken, and change nothing.")
@json_option
@click.pass_context
def import_(
    ctx: click.Context, file: Path, only: tuple[str, ...], replace: bool, dry_run: bool, as_json: bool = False
) -> None:
    """Take the servers of another program's file.

    FILE is that of Claude Desktop (claude_desktop_config.json), Claude Code or Cursor (mcp.json), or VS Code
    (.vscode/mcp.json, settings.json).
    """
    from .importing import foreign_servers, kept_servers, write_servers
    from .servers import user_file

    host: Host = ctx.obj.host
    path = user_file(host)
    kept = kept_servers(path)
    outcome: list[dict[str, Any]] = []
    for name, (config, problems) in foreign_servers(file).items():
        if only and name not in only:
            continue
        done = "broken" if config is None else "exists" if name in kept and not replace else "imported"
        if done == "imported" and config is not None:
            kept[name] = config
        outcome.append({"name": name, "outcome": done, "problems": problems})
    if any(row["outcome"] == "imported" for row in outcome) and not dry_run:
        write_servers(path, kept)
    if as_json:
        print_json({"file": str(path), "written": not dry_run, "servers": outcome})
        return
    said = {"imported": "would be imported" if dry_run else "imported", "exists": "is there already (--replace)"}
    for row in outcome:
        echo(f"{style(row['name'], bold=True)}: {said.get(row['outcome'], 'cannot be used')}")
        for problem in row["problems"]:
            warning(f"{row['name']}: {problem}")
    if not outcome:
        echo("No server was taken.")
    elif not dry_run:
        echo(f"Kept in {short_path(str(path))}")


class _Notices(UserInterface):
    """Prints notices. Nobody is asked anything."""

    async def ask(self, survey: Survey) -> Answers | None:
        return None

    async def notify(self, text: str, level: Any = "info") -> None:
        echo(text, err=True)


@mcp.command()
@click.argument("name")
@click.option("--browser/--no-browser", default=True, help="Open the address in a browser, or only print it.")
@click.pass_context
def login(ctx: click.Context, name: str, browser: bool) -> None:
    """Log in to a server over HTTP."""
    host: Host = ctx.obj.host

    async def log_in() -> None:
        import webbrowser

        from .login import login as log_in_to
        from .manager import connections_of

        try:
            await log_in_to(host, connections_of(host).named(name), _Notices(), webbrowser.open if browser else None)
        finally:
            await host.aclose()

    asyncio.run(log_in())
    echo(f"Logged in to {name}.")


@mcp.command()
@click.argument("name")
@click.pass_context
def logout(ctx: click.Context, name: str) -> None:
    """Forget the tokens of a server."""
    from .login import logout as log_out
    from .servers import configured_servers

    host: Host = ctx.obj.host
    one = next((s for s in configured_servers(host) if s.name == name), None)
    if one is None:
        raise SkillKitError(f"there is no MCP server {name!r}", hint="skillkit mcp list")
    echo(f"Logged out of {name}." if log_out(host, one) else f"There were no tokens for {name}.")


@mcp.command()
@click.option("--tool", "patterns", multiple=True, metavar="PATTERN", help="Offer these tools only (may be repeated).")
@click.pass_context
def serve(ctx: click.Context, patterns: tuple[str, ...]) -> None:
    """Offer skills and tools to an MCP client, on stdin and stdout.

    Calls pass the guards, as in any run. What would be asked goes to the person at the client, where the client can ask;
    otherwise the answer is no. The tools of other MCP servers are not handed on.
    """
    from . import startup

    host: Host = ctx.obj.host
    startup.leave_out(host)
    from .serve import serve as serve_host

    asyncio.run(serve_host(host, patterns))
