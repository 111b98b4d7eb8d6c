"""``skillkit marketplace``: marketplaces are added, searched and updated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, escaped, json_option, print_json, style, table
from skillkit_core.errors import SkillKitError
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    from skillkit_core import Host

    from .markets import Market

__all__ = ["marketplace"]


@click.group()
def marketplace() -> None:
    """Marketplaces: lists of bundles, as Claude Code, Codex and Copilot read them.

    A marketplace is fetched once and kept. Nothing of it is installed by being listed.
    """


@marketplace.command()
@click.argument("source")
@click.option("--ref", help="Branch, tag or full commit of a repository.")
@click.option(
    "--as", "dialect", type=click.Choice(("claude", "codex", "copilot")), help="Whose file counts; default: the first."
)
@json_option
@click.pass_obj
def add(state: Any, source: str, ref: str | None, dialect: Any, as_json: bool) -> None:
    """Add a marketplace: a folder, repository, or owner/name of GitHub."""
    from .fetching import named
    from .markets import add_market
    from .report import counted

    host: Host = state.host
    one = add_market(host, named(source, host.cwd, ref=ref), dialect)
    if as_json:
        print_json(_data(one))
        return
    usable = sum(not listing.refused for listing in one.file.plugins)
    number = counted(len(one.file.plugins), "bundle")
    echo(f"{style('✓', fg='green')} {escaped(one.name)}: {number}, {usable} can be installed.")
    _problems(one)
    echo(as_typed(f"Search in it: skillkit marketplace search WORD. Add one: skillkit bundles add NAME@{one.name}"))


def _problems(one: Market) -> None:
    from .report import print_problems

    print_problems(one.file.problems)


def _data(one: Market) -> dict[str, Any]:
    from .report import problem_data

    return {
        "name": one.name,
        "format": one.known.dialect,
        "source": one.known.source.model_dump(),
        "resolved": one.known.resolved,
        "bundles": [_row(one, listing) for listing in one.file.plugins],
        "problems": [problem_data(problem) for problem in one.file.problems],
    }


def _row(one: Market, listing: Any) -> dict[str, Any]:
    return {
        "name": listing.name, "marketplace": one.name, "version": listing.version, "description": listing.description,
        "category": listing.category, "source": dict(listing.source), "refused": listing.refused,
    }  # fmt: skip


@marketplace.command("list")
@click.argument("name", required=False)
@json_option
@click.pass_obj
def list_(state: Any, name: str | None, as_json: bool) -> None:
    """List the marketplaces, or the bundles of one."""
    from .markets import market_named, markets

    host: Host = state.host
    found = [market_named(host, name)] if name else markets(host)
    if as_json:
        print_json([_data(one) for one in found])
    elif name:
        _table([(found[0], listing) for listing in found[0].file.plugins])
        _problems(found[0])
    elif not found:
        echo(as_typed("There are no marketplaces. Add one: skillkit marketplace add SOURCE"))
    else:
        from skillkit_skill_packages import redacted

        rows = [
            [one.name, str(len(one.file.plugins)), one.known.dialect, redacted(one.known.source.place)] for one in found
        ]
        table(["marketplace", "bundles", "format", "source"], rows)


@marketplace.command()
@click.argument("words", nargs=-1, required=True)
@json_option
@click.pass_obj
def search(state: Any, words: tuple[str, ...], as_json: bool) -> None:
    """Find bundles by name, description and tags in all marketplaces."""
    from .markets import markets

    wanted = [word.lower() for word in words]
    found = []
    for one in markets(state.host):
        for listing in one.file.plugins:
            tags = listing.entry.get("tags"), listing.entry.get("keywords")
            text = " ".join(map(str, (listing.name, listing.description, listing.category, *tags))).lower()
            if all(word in text for word in wanted):
                found.append((sum(word in listing.name.lower() for word in wanted), one, listing))
    found.sort(key=lambda row: (-row[0], row[2].name))
    if as_json:
        print_json([_row(one, listing) for _, one, listing in found])
    elif found:
        _table([(one, listing) for _, one, listing in found])
    else:
        echo("No bundle fits.")


def _table(rows: list[tuple[Market, Any]]) -> None:
    cells = [
        [
            escaped(f"{listing.name}@{one.name}"),
            escaped(listing.version or ""),
            escaped(listing.refused or listing.description),
        ]
        for one, listing in rows
    ]
    table(["bundle", "version", "about"], cells, styles=lambda i, cell: {"bold": True} if i == 0 else {})


@marketplace.command()
@click.argument("names", nargs=-1)
@json_option
@click.pass_context
def update(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Fetch marketplaces anew; all of them without NAMES. Installed bundles stay as they are."""
    from .markets import market_named, markets, update_market

    host: Host = ctx.obj.host
    rows = []
    for one in [market_named(host, name) for name in names] if names else markets(host):
        try:
            now, changed = update_market(host, one)
            rows.append([one.name, "updated" if changed else "current", f"{len(now.file.plugins)} bundles"])
        except SkillKitError as error:
            rows.append([one.name, "failed", str(error)])
    if as_json:
        print_json([{"name": name, "status": status, "remark": remark} for name, status, remark in rows])
    elif rows:
        table(["marketplace", "status", "remark"], rows)
    else:
        echo("There are no marketplaces.")
    if any(row[1] == "failed" for row in rows):
        ctx.exit(1)


@marketplace.command()
@click.argument("name")
@json_option
@click.pass_obj
def remove(state: Any, name: str, as_json: bool) -> None:
    """Forget a marketplace. Bundles that came from it stay."""
    from .markets import remove_market

    remove_market(state.host, name)
    print_json({"name": name, "status": "removed"}) if as_json else echo(f"{name} is forgotten.")
