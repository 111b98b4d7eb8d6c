"""``skillkit executor``: which tool runs in which process, and why."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import AgentConfig, AgentRunner, SkillKitError
from skillkit_core.cli.output import echo, fields, json_option, print_json, table

from .executor import RemoteExecutor, environment, place_of
from .sandboxed import Sandboxed, users

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["executor"]


@click.group(invoke_without_command=True)
@click.pass_context
def executor(ctx: click.Context) -> None:
    """Show which tool runs in which process, and why."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(status)


@executor.command()
@json_option
@click.option("--start", is_flag=True, help="Start the process, to see that it works.")
@click.pass_context
def status(ctx: click.Context, as_json: bool = False, start: bool = False) -> None:
    """Show where each tool of an agent runs, and why."""
    found = asyncio.run(_found(ctx.obj.host, start))
    if as_json:
        print_json(found)
    else:
        fields(
            (name, found[name]) for name in ("executor", "sandbox", "escalate", "process", "variables") if found[name]
        )
        if found["tools"]:
            echo()
            table(
                ["tool", "plugin", "runs", "why"],
                [[t["name"], t["plugin"] or "", t["runs"], t["why"]] for t in found["tools"]],
            )
    if found["problem"]:
        echo(found["problem"], err=True)
        ctx.exit(1)


async def _found(host: Host, start: bool) -> dict[str, Any]:
    chosen = await host.find_executor()
    remote = isinstance(chosen, RemoteExecutor)
    name = (
        chosen.transport if isinstance(chosen, RemoteExecutor) else "none" if chosen is None else type(chosen).__name__
    )
    problem, process, held = None, "", ""
    where = "in this process" if name in ("none", "local") else "in a child process"
    rows = []
    async with AgentRunner(AgentConfig(), host=host) as agent:
        for tool in agent.tools:
            source = agent.toolbox.source(tool.name)
            place = place_of(tool, host, source)
            why = place.why if remote or not place.remote else f"tools.executor is {name}"
            runs = where if remote and place.remote else "in this process"
            rows.append(
                {"name": tool.name, "plugin": source, "runs": runs, "remote": remote and place.remote, "why": why}
            )
        try:
            box = Sandboxed(host, name).now(agent) if remote or users(host, "sandbox") is not None else None
            held = box.said() if box is not None else ""
            if start and isinstance(chosen, RemoteExecutor):
                await chosen.list_tools()
                process = f"pid {chosen.pid}, works"
        except SkillKitError as error:
            problem = str(error)
        finally:
            if chosen is not None:
                await chosen.close()
    return {
        "executor": name,
        "sandbox": held or users(host, "sandbox") or ("none" if remote else ""),
        "escalate": users(host, "escalate") or "",
        "process": process,
        "variables": " ".join(sorted(environment(host))) if remote and name != "local" else "",
        "tools": rows,
        "problem": problem,
    }
