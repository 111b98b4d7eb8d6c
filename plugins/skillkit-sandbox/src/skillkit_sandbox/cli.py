"""``skillkit sandbox``: run a command inside, say what works here, show a policy."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, style, table, warning
from skillkit_core.errors import UsageError

from .box import Sandboxes, holders
from .config import settings_of
from .policy import SandboxPolicy, load_policy

__all__ = ["sandbox"]

_policy = click.option(
    "--policy",
    "given",
    metavar="FILE|NAME",
    help="A policy file (YAML or JSON), or the name of a policy; default: project.",
)
_named = click.argument("named", metavar="[FILE|NAME]", required=False)


@click.group()
def sandbox() -> None:
    """Run commands in a sandbox that the kernel enforces."""


@sandbox.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_policy
@click.option("--backend", help="Use this backend only.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def run(state: Any, given: str | None, backend: str | None, command: tuple[str, ...]) -> None:
    """Run COMMAND inside. Current folder, exit status and standard streams are its own.

    \b
    skillkit sandbox run -- make test
    skillkit sandbox run --policy policy.yaml -- python build.py
    """
    box = Sandboxes(state.host).open(_find(state.host, given), Path.cwd(), backend=backend)
    # what is only told is said to a person; otherwise the streams are the command's alone
    for lack in box.lacks:
        if lack.grade != "told" or sys.stderr.isatty():
            warning(f"the sandbox {box.backend.name} does not hold everything: {lack}")
    argv = box.command(command)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(argv[0], argv)  # noqa: S606


def _find(host: Any, given: str | None) -> str | SandboxPolicy:
    """Return the policy of a file, or the name of one."""
    if given is None:
        return next(iter(settings_of(host).commands), "project")
    return load_policy(given) if os.sep in given or given.endswith((".yaml", ".yml", ".json")) else given


def _one(named: str | None, given: str | None) -> str | None:
    """Return the policy of the argument or of the option.

    Raises:
        UsageError: both are given.
    """
    if named is not None and given is not None:
        raise UsageError(f"two policies are named, {named!r} and {given!r}", hint="leave --policy out")
    return given if named is None else named


@sandbox.command()
@_named
@_policy
@json_option
@click.pass_obj
def check(state: Any, named: str | None, given: str | None, as_json: bool) -> None:
    """Say which backends work here. What each does not hold of a policy is said, too, and what holds its limits."""
    maker = Sandboxes(state.host)
    policy = maker.policy(_find(state.host, _one(named, given)), Path.cwd())
    settings = settings_of(state.host)
    rows: list[dict[str, Any]] = []
    for backend in maker.backends():
        problem = backend.problem()
        lacks = [] if problem else backend.lacks(policy)
        rows.append(
            {"backend": backend.name, "works": problem is None, "problem": problem, "lacks": [x.data() for x in lacks]}
        )
    whole = next((r["backend"] for r in rows if r["works"] and not _refused(r)), None)
    advice = _advice(whole, settings)
    if as_json:
        print_json({
            "backends": rows, "holds": whole, "limits": holders(), "commands": list(settings.commands),
            "accept_degraded": settings.accept_degraded, "ignored": list(settings.ignored), "advice": advice,
        })  # fmt: skip
    else:
        said = [("holds less" if _refused(row) else "works") if row["works"] else "does not work" for row in rows]
        table(
            ["backend", "here"], [[row["backend"], text] for row, text in zip(rows, said, strict=True)], styles=_styles
        )
        for row in rows:
            for text in (row["problem"], *(lack["text"] for lack in row["lacks"])):
                if text:
                    echo(f"  {row['backend']}: {text}")
        echo()
        table(["limit", "held by"], [[f"limits.{name}", text] for name, text in holders().items()])
        echo()
        for line in settings.ignored:
            echo(f"ignored: {line}")
        echo(advice)
    if whole is None:
        raise SystemExit(1)


def _refused(row: dict[str, Any]) -> bool:
    return any(lack["grade"] != "told" for lack in row["lacks"])


def _styles(column: int, cell: str) -> dict[str, Any]:
    colours = {"works": "green", "holds less": "yellow", "does not work": "red"}
    return {"fg": colours[cell]} if column == 1 and cell in colours else {}


def _advice(whole: str | None, settings: Any) -> str:
    if whole is None:
        return "No backend holds the policy here: install bubblewrap and libseccomp2 (apt-get install bubblewrap libseccomp2)."
    if settings.commands:
        return f"Commands run inside the policy {' and '.join(settings.commands)}."
    return "Commands run without a sandbox; 'sandbox: {commands: project}' in config.yaml keeps them inside."


@sandbox.command()
@_named
@_policy
@click.option("--schema", is_flag=True, help="Print the JSON Schema of policies instead.")
@json_option
@click.pass_obj
def show(state: Any, named: str | None, given: str | None, schema: bool, as_json: bool) -> None:
    """Show a policy as it holds here, and the names of all."""
    if schema:
        click.echo(json.dumps(SandboxPolicy.model_json_schema(), indent=2))
        return
    settings = settings_of(state.host)
    policy = Sandboxes(state.host).policy(_find(state.host, _one(named, given)), Path.cwd())
    if as_json:
        print_json({"policy": policy.data(), "names": sorted(settings.policies)})
        return
    data = policy.data()
    limits = [f"{k} {v}" for k, v in (data.pop("limits") or {}).items() if v]
    data["network"] = str(data["network"])
    fields([*((k, v) for k, v in data.items()), ("limits", limits)])
    echo()
    echo(f"{style('names', dim=True)}  {', '.join(sorted(settings.policies))}")
