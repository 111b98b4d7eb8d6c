"""``skillkit packs``: the packs of tools, and which of their tools are here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
from skillkit_engines import ToolPack, catalog_of

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.cli.output import echo, json_option, print_json, table

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["packs"]


@click.group(invoke_without_command=True)
@click.pass_context
def packs(ctx: click.Context) -> None:
    """List the packs of tools that skills (tool_packs), plans and request_tools name."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@packs.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool = False) -> None:
    """List the packs, and what of each is missing.

    complete, partial (it works without what is missing), or missing.
    """
    host: Host = ctx.obj.host
    offered = asyncio.run(_offered(host))
    rows = [_row(pack, offered) for pack in catalog_of(host).packs.values()]
    if as_json:
        print_json(rows)
        return
    if not rows:
        echo("No plugin here brings packs of tools.")
        return
    shown = [[r["name"], r["state"], ", ".join(r["tools"]), ", ".join(r["missing"])] for r in rows]
    table(["pack", "state", "tools", "missing"], shown)


async def _offered(host: Host) -> frozenset[str]:
    async with AgentRunner(AgentConfig(bare=True), host=host) as agent:
        await agent.open()
        return frozenset(tool.name for tool in agent.tools)


def _row(pack: ToolPack, offered: frozenset[str]) -> dict[str, Any]:
    missing = [name for name in pack.tools if name not in offered]
    needed = [name for name in missing if name not in pack.optional]
    state = "missing" if needed else "partial" if missing else "complete"
    about = {"name": pack.name, "state": state, "description": pack.description}
    return {**about, "tools": list(pack.tools), "optional": list(pack.optional), "missing": missing}
