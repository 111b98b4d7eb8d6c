"""``skillkit context``: shows the sections that a model is told, where each comes from, and what was left out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import AgentRunner, prompt_parts
from skillkit_core.cli.output import echo, fields, json_option, print_json, table
from skillkit_core.errors import SkillKitError
from skillkit_core.estimates import estimator_for
from skillkit_core.program import as_typed

from .facts import facts_of
from .files import Loaded, Reason, project_root
from .workspace import shown_path, workspace_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["context"]

WHY: Mapping[Reason, str] = {
    "untrusted": "its folder is not trusted, or has changed since",
    "outside": "it leads out of the project",
    "cycle": "it imports itself",
    "depth": "too many imports lead to it",
    "duplicate": "its text is there already",
    "missing": "there is no such file",
    "not-a-file": "it is no regular file",
    "unreadable": "it cannot be read",
    "binary": "it is no text",
    "empty": "it is empty",
    "size": "there is no room left",
}


@click.group(invoke_without_command=True)
@click.pass_context
def context(ctx: click.Context) -> None:
    """Show what a model is told before the conversation."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@context.command()
@json_option
@click.option("--text", is_flag=True, help="Print the texts of the sections.")
@click.pass_context
def show(ctx: click.Context, as_json: bool = False, text: bool = False) -> None:
    """List the sections of the system prompt, in their order. It also lists their files, what was left out, and the facts."""
    found = asyncio.run(_found(ctx.obj.host, text))
    if as_json:
        print_json(found)
        return
    rows = []
    for section in found["sections"]:
        rows.append([section["name"], section["from"], f"{section['bytes']:,}", f"{section['tokens']:,}", ""])
        for file in section["files"]:
            note = ", ".join([*(["cut"] if file["truncated"] else []), *(f"imports {i}" for i in file["imports"])])
            rows.append([f"- {file['path']}", file["from"], f"{file['bytes']:,}", "", note])
    if rows:
        table(["section", "from", "bytes", "tokens", ""], rows, right=(2, 3))
        if found["margin"] is not None:
            echo(f"Tokens are estimates, ±{found['margin']:.0%} in half of the cases.")
        else:
            echo("Tokens are guesses: the tokenizer of the model is not known.")
    else:
        echo("The system prompt is empty.")
    if text:
        for section in found["sections"]:
            echo(f"\n--- {section['name']} ---\n{section['text']}")
    if found["left_out"]:
        echo("\nLeft out:")
        fields((one["path"], one["why"]) for one in found["left_out"])
    if found["facts"]:
        echo("\nFacts, told in a message:")
        fields(found["facts"].items())
    if any(one["reason"] == "untrusted" for one in found["left_out"]):
        folder = found["root"] if found["trusted"] else "."
        echo(as_typed(f"What a folder brings counts once it is trusted. Try: skillkit config trust {folder}"), err=True)


async def _found(host: Host, text: bool) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    kept = workspace_of(host)
    files = {"instructions": kept.loaded, "prompts": kept.prompts}
    async with AgentRunner(host=host) as agent:
        parts, facts = prompt_parts(agent, host.context_providers), facts_of(agent)
        with suppress(SkillKitError):  # without a model the tokens are those of any model
            await agent.find_target()
        estimator = estimator_for(host, agent.target.model if agent.target is not None else None)
    sources = {entry.name: entry.source for entry in host.context_providers.entries()}
    return {
        "trusted": host.withheld is not None,
        "margin": estimator.margin,
        "root": str(project_root(host.cwd.resolve(), kept.settings)),
        "sections": [
            {
                "name": name,
                "from": sources.get(name) or "configuration",
                "bytes": len(part.encode()),
                "tokens": estimator.text(part),
                "files": _files(host, files.get(name)),
            }
            | ({"text": part} if text else {})
            for name, part in parts.items()
        ],
        "left_out": [
            {"path": shown_path(host, left.path), "reason": left.reason, "why": WHY[left.reason]}
            for loaded in files.values()
            if loaded is not None
            for left in loaded.left_out
        ],
        "facts": {name: host.secrets.redact(fact) for name, fact in facts.items()},
    }


def _files(host: Host, loaded: Loaded | None) -> list[dict[str, Any]]:
    return [
        {
            "path": shown_path(host, section.path),
            "from": section.origin,
            "bytes": len(section.text.encode()),
            "truncated": section.truncated,
            "imports": [shown_path(host, path) for path in section.imports],
        }
        for section in (loaded.sections if loaded is not None else ())
    ]
