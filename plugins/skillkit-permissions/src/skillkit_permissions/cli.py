"""``skillkit permissions``: what counts, what a call would get, what is remembered, and rules of other programs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.cli.output import echo, fields, json_option, print_json, short_path, style, table
from skillkit_core.errors import ConfigError, UsageError

from .guard import sentence
from .lint import findings, kernel_data, kernel_lines
from .memory import Answer
from .policy import policy_of
from .report import answer_row, check as check_call, rule_rows
from .request import MODES
from .rules import Rule, parse_rule

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["permissions"]

_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.group()
def permissions() -> None:
    """Show which tool calls run, which ones ask, and which ones are refused."""


@permissions.command("list")
@json_option
@click.pass_obj
def list_(state: Any, as_json: bool) -> None:
    """List the mode, the rules and the remembered answers."""
    policy = policy_of(state.host)
    answers = policy.memory.all()
    rows = rule_rows(policy)
    kernel, said = asyncio.run(_kernel(state.host))
    if as_json:
        print_json({
            "mode": policy.mode, "mode_origin": policy.mode_origin, "roots": list(policy.roots), "rules": rows,
            "remembered": [answer_row(a) for a in answers], "ignored": list(policy.ignored),
            "kernel": kernel,
        })  # fmt: skip
        return
    fields(
        [("mode", f"{policy.mode} ({short_path(policy.mode_origin)})"), *(("also open", root) for root in policy.roots)]
    )
    for line in policy.ignored:
        echo(f"ignored: {short_path(line)}")
    echo()
    if rows:
        table(["", "rule", "from"], [[r["kind"], r["rule"], short_path(r["origin"])] for r in rows], styles=_styles)
    else:
        echo("No rules: reading in the project runs, everything else asks.")
    if answers:
        echo()
        _answers(answers)
    if said:
        echo()
    for line in said:
        echo(line)


async def _kernel(host: Host) -> tuple[dict[str, Any], list[str]]:
    """Return what the kernel holds of the rules at the start of a session, as data and in words."""
    async with AgentRunner(AgentConfig(), host=host) as agent:
        return kernel_data(agent), list(kernel_lines(agent))


def _answers(answers: Any) -> None:
    table(
        ["", "rule", "id", "holds for", "until"],
        [[a.kind, a.rule, a.id, short_path(a.shown_scope), a.shown_expiry] for a in answers],
        styles=_styles,
    )


def _styles(column: int, cell: str) -> dict[str, Any]:
    return {"fg": _COLOURS[cell]} if column == 0 and cell in _COLOURS else {"dim": True} if column > 1 else {}


@permissions.command()
@click.argument("tool", required=False)
@click.argument("arguments", required=False)
@click.option("--mode", type=click.Choice(MODES), help="Suppose this mode.")
@click.option("--lint", is_flag=True, help="Name the rules that cover more than they seem; status 1: there are some.")
@json_option
@click.pass_obj
def check(state: Any, tool: str | None, arguments: str | None, mode: Any, lint: bool, as_json: bool) -> None:
    """Say what a call would get and why, without making it. The guards of all plugins are asked.

    \b
    skillkit permissions check bash "git push origin main"
    skillkit permissions check edit src/main.py --mode accept-edits
    skillkit permissions check mcp__github__get_issue '{"number": 1}'
    skillkit permissions check --lint
    """
    state.host.check_config()
    if lint == (tool is not None):
        raise UsageError("name a tool, or write --lint", hint="skillkit permissions check bash 'git push'")
    if tool is None:
        _lint(state.host, as_json)
        return
    found = asyncio.run(check_call(state.host, tool, arguments, mode))
    if as_json:
        print_json({
            "decision": found.outcome, "reason": found.reason, "rule": found.rule or None, "origin": found.origin or None,
            "would_allow": list(found.offer),
        })  # fmt: skip
        return
    said = short_path(sentence(found)).removeprefix("permissions: ")
    echo(f"{style(found.outcome, fg=_COLOURS[found.outcome], bold=True)}: {said}")


def _lint(host: Host, as_json: bool) -> None:
    async def look() -> tuple[list[tuple[Rule, str]], list[str]]:
        async with AgentRunner(AgentConfig(), host=host) as agent:
            return findings(agent), list(kernel_lines(agent))

    found, said = asyncio.run(look())
    if as_json:
        print_json([{"rule": r.text, "kind": r.kind, "origin": r.origin, "covers": why} for r, why in found])
    else:
        for rule, why in found:
            echo(f"{rule} ({short_path(rule.origin)}): {why}")
        for line in said if found else ("No rule covers more than it seems.", *said):
            echo(line)
    if found:
        raise SystemExit(1)


@permissions.command()
@click.argument("ids", nargs=-1, metavar="ID...")
@click.option("--all", "everything", is_flag=True, help="Forget every remembered answer.")
@json_option
@click.pass_obj
def revoke(state: Any, ids: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Forget remembered answers. The ids are those of 'skillkit permissions list'."""
    if bool(ids) == everything:
        raise UsageError("name answers by their ids, or write --all", hint="'skillkit permissions list' shows them")
    memory = policy_of(state.host).memory
    known = {a.id for a in memory.all()}
    if unknown := [i for i in ids if i not in known]:
        raise UsageError(
            f"no answer is remembered as {', '.join(unknown)}", hint="'skillkit permissions list' shows the ids"
        )
    gone = memory.revoke(None if everything else ids)
    if as_json:
        print_json([answer_row(a) for a in gone])
        return
    for answer in gone:
        echo(f"Forgotten: {answer.kind} {answer.rule} ({short_path(answer.shown_scope)})")
    if not gone:
        echo("Nothing was remembered.")


@permissions.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--project", is_flag=True, help="Let the rules hold in this folder alone, not everywhere.")
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
@json_option
@click.pass_obj
def import_(state: Any, file: Path, project: bool, dry_run: bool, as_json: bool) -> None:
    """Take over the rules of a settings.json of Claude Code.

    They are kept beside the remembered answers, without end; 'skillkit permissions revoke' takes them back. The mode of the
    file is not taken over: set permissions.mode.
    """
    host: Host = state.host
    rules, left_out = _read_settings(file)
    answers: list[Answer] = []
    if not dry_run:
        memory = policy_of(host).memory
        for kind, texts in rules.items():
            scope, where = ("project", str(host.cwd)) if project else ("ever", "")
            answers += memory.add(texts, kind, scope, where, None, f"imported from {file.resolve()}")  # type: ignore[arg-type]
    if as_json:
        print_json({**rules, "left_out": left_out, "answers": [answer_row(a) for a in answers]})
        return
    for kind, texts in rules.items():
        for text in texts:
            echo(f"{style(kind, fg=_COLOURS[kind])} {text}")
    for line in left_out:
        echo(f"left out: {line}")
    echo(f"{'Would import' if dry_run else 'Imported'} {sum(map(len, rules.values()))} rules")


def _read_settings(file: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return the rules of a settings file by kind, and what is left out and why.

    Raises:
        ConfigError: the file holds no permissions.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8-sig"))
        given = data["permissions"]
        found = {kind: [str(text) for text in given.get(kind) or ()] for kind in ("deny", "ask", "allow")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"holds no permissions: {type(error).__name__}: {error}", where=str(file)) from None
    left_out: list[str] = []
    for kind, texts in found.items():
        for text in list(texts):
            problem = parse_rule(text, kind).problem
            if problem:
                texts.remove(text)
                left_out.append(f"{kind} {text}: {problem}")
    if mode := given.get("defaultMode"):
        left_out.append(f"defaultMode {mode}: set permissions.mode where it should count")
    if given.get("additionalDirectories"):
        left_out.append("additionalDirectories: set permissions.roots")
    return found, left_out
