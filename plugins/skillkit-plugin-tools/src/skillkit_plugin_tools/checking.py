"""``skillkit plugins check``: the report card of a plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, json_option, print_json, style, wrap

if TYPE_CHECKING:
    from .card.checks import Check
    from .card.subject import Subject

__all__ = ["check"]

MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("-", "bright_black")}
WIDTH = 9


@click.command()
@click.argument("given", metavar="PATH|NAME", default=".")
@click.option("-v", "--verbose", is_flag=True, help="Show all that breaks a promise, and what was measured.")
@json_option
@click.pass_context
def check(ctx: click.Context, given: str, verbose: bool, as_json: bool) -> None:
    """Show the report card of a plugin: what a plugin promises, each promise checked.

    PATH is the folder of its package (default: this one) or a wheel, NAME an installed plugin. A folder is built into a wheel
    first; what is checked is what people will install. Its code and its tests are run, so do not check what you do not trust.

    A check that failed is one line. The exit code is 1 if one did.
    """
    from .card.building import BuildFailed
    from .card.checks import Check
    from .card.subject import found

    checks: list[Check] = []

    def take(one: Check) -> None:
        checks.append(one)
        if not as_json:
            _show(one, verbose)

    about: dict[str, Any] = {"package": given, "version": None, "plugins": []}
    try:
        with found(given) as subject:
            about = {"package": subject.name, "version": subject.dist.version, "plugins": list(subject.plugins)}
            if not as_json:
                plugins = ", ".join([*subject.plugins, *subject.skill_packages])
                echo(f"{style(subject.name, bold=True)} {subject.dist.version} ({plugins or 'no plugin'})")
            for one in _checks(subject):
                take(one)
    except BuildFailed as error:
        take(Check("build", "it builds a wheel", "failed", str(error), tuple(error.output.splitlines()[-20:])))
    failed = sum(one.state == "failed" for one in checks)
    if as_json:
        shown = [one.to_dict() for one in checks]
        print_json({**about, "ok": not failed, "checks": shown})
    else:
        _sum_up(checks, failed)
    ctx.exit(1 if failed else 0)


def _checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks in the order of the card, each when it was made."""
    from .card.checks import held, skipped, verdict
    from .card.conformance import test_checks
    from .card.importing import import_checks
    from .card.packaging import package_checks
    from .card.reading import source_checks
    from .card.skills import skill_check

    if subject.source is not None:
        yield held("build", "it builds a wheel")
    yield from package_checks(subject)
    needs = "what it requires is met here"
    unmet = subject.unmet()
    yield verdict("needs", needs, unmet)
    if subject.plugins:
        yield from source_checks(subject)
    if unmet:
        yield skipped("rest", "it works", "install what it requires first: uv sync, or pip install -e .")
        return
    brought: dict[str, dict[str, Any]] = {}
    if subject.plugins:
        yield from import_checks(subject, brought)
    yield skill_check(subject)
    _progress("its tests run")
    yield from test_checks(subject, brought)


def _progress(text: str) -> None:
    """Say on a terminal what takes longer than a moment."""
    if sys.stderr.isatty():
        echo(style(f"  {text} ...", dim=True, stream=sys.stderr), err=True)


def _show(one: Check, verbose: bool) -> None:
    mark, colour = MARKS[one.state]
    said = f": {one.line}" if one.line and (one.state != "passed" or verbose) else ""
    text = f"{one.promise}{said}" if one.state != "skipped" else f"not looked at: {one.line}"
    for number, line in enumerate(wrap(text, WIDTH + 4)):
        head = f"{style(mark, fg=colour)} {one.name:<{WIDTH}}  " if number == 0 else " " * (WIDTH + 4)
        echo(head + (style(line, dim=True) if one.state == "skipped" else line))
    for line in one.details if verbose else ():
        echo(f"{'':<{WIDTH + 4}}{style(line, dim=True)}")


def _sum_up(checks: list[Check], failed: int) -> None:
    skipped = sum(one.state == "skipped" for one in checks)
    parts = [f"{sum(one.state == 'passed' for one in checks)} passed"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{skipped} not looked at"] if skipped else []
    more = "" if not failed else "; -v shows all that broke"
    echo(f"{style(', '.join(parts), fg='red' if failed else 'green')}{more}")
