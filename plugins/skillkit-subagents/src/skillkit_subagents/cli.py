"""``skillkit agents``: lists and shows the agents that files define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from skillkit_markdown import markdown_files, project_places

from skillkit_core.cli.output import echo, fields, json_option, print_json, short_path, table, warning
from skillkit_core.errors import UnknownName
from skillkit_core.program import as_typed

from .definitions import AgentFile, agent_files, usable

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["agents"]


@click.group(invoke_without_command=True)
@click.pass_context
def agents(ctx: click.Context) -> None:
    """List and show the agents that files define."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@agents.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool = False) -> None:
    """List the agents, and the files that are none."""
    host: Host = ctx.obj.host
    files = agent_files(host)
    if as_json:
        print_json([_json(file) for file in files])
        return
    if found := [file for file in files if not file.broken]:
        rows = [[f.name, f.origin, f.model or "inherit", _shown(f.tools), f.description] for f in found]
        table(["agent", "from", "model", "tools", "what it is for"], rows)
    else:
        echo("No agents are defined. Put NAME.md with a description and a system prompt into .skillkit/agents.")
    for file in files:
        for problem in file.problems:
            warning(f"{short_path(str(file.path))}: {problem}")
    if host.withheld is None and any(markdown_files(host.cwd / folder) for folder in project_places("agents").values()):
        echo(
            as_typed("The agents of this folder do not count: it is not trusted. Try: skillkit config trust"), err=True
        )


@agents.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool = False) -> None:
    """Show one agent: what it may use, and its system prompt."""
    host: Host = ctx.obj.host
    known = usable(host)
    if name not in known:
        raise UnknownName("agent", name, list(known))
    file = known[name]
    if as_json:
        print_json({**_json(file), "prompt": file.prompt})
        return
    fields(
        [
            ("agent", file.name),
            ("file", short_path(str(file.path))),
            ("from", file.origin),
            ("for", file.description),
            ("model", file.model or "inherit"),
            ("tools", _shown(file.tools)),
            ("denied", ", ".join(file.denied)),
            ("mode", file.mode or ""),
            ("sandbox", file.sandbox or ""),
            ("turns", file.turns),
            ("skills", ", ".join(file.skills)),
            ("background", "yes" if file.background else ""),
            ("problems", list(file.problems)),
        ]
    )
    echo(f"\n{file.prompt}")


def _shown(tools: tuple[str, ...] | None) -> str:
    return "all" if tools is None else ", ".join(tools) or "none"


def _json(file: AgentFile) -> dict[str, Any]:
    """``name, path, origin, description, model, tools, denied, mode, sandbox, turns, background, skills, usable, problems``."""
    return {
        "name": file.name,
        "path": str(file.path),
        "origin": file.origin,
        "description": file.description,
        "model": file.model,
        "tools": None if file.tools is None else list(file.tools),
        "denied": list(file.denied),
        "mode": file.mode,
        "sandbox": file.sandbox,
        "turns": file.turns,
        "background": file.background,
        "skills": list(file.skills),
        "usable": not file.broken,
        "problems": list(file.problems),
    }
