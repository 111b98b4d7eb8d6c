"""``skillkit usage``: what requests used and cost, over all sessions, and the budgets."""

from __future__ import annotations

import asyncio
import csv
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import columns, echo, json_option, print_json, style, table, terminal_width, warning
from skillkit_core.errors import UnknownSession, UsageError

from .books import Scope, Spent, dollars, until
from .guard import elsewhere, index_of, stores_of, zone_of
from .index import Index
from .report import BY, Sum, day_of, month_of, summed, with_nested

if TYPE_CHECKING:
    from skillkit_core import Host

    from .config import UsageConfig

__all__ = ["usage"]

_DATE = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?\Z")
_NONE = {"skill": "(no skill)", "engine": "(no engine)", "tool": "(no tool)", "run": "(no run)", "model": "(no model)"}
_LEAST_BAR = 8  # columns
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.group(invoke_without_command=True)
@click.option("--by", type=click.Choice(BY), default="day", show_default=True, help="What the sums are made by.")
@click.option("--since", metavar="DATE", help="From this day on: YYYY-MM-DD, YYYY-MM, or 7d for the last 7 days.")
@click.option("--until", "until_", metavar="DATE", help="Up to and including this day or month.")
@click.option("--session", metavar="ID", help="Only what this session used, its nested runs included.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@click.pass_context
def usage(
    ctx: click.Context,
    by: str,
    since: str | None,
    until_: str | None,
    session: str | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what requests used and cost, over all sessions: retries, compactions and nested runs included, each once."""
    if ctx.invoked_subcommand is not None:
        return
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other")
    host: Host = ctx.obj.host
    section: UsageConfig = host.config.section("usage")
    zone, now = zone_of(section), time.time()
    begin = _moment("--since", since, now, zone, end=False) if since else None
    end = _moment("--until", until_, now, zone, end=True) if until_ else None
    index = asyncio.run(_fresh(host))
    try:
        if session is not None:
            session = _found(index, session)
        rows, total = summed(index, by, zone, since=begin, until=end, session=session)
        nested = with_nested(index, begin, end) if by == "session" and session is None else {}
        problems = index.problems
    finally:
        index.close()
    ordered = sorted(rows.items(), key=_order(by))
    if as_json:
        shown = [
            {by: key, **sums.to_dict(), **({"with_nested": nested[key].to_dict()} if key in nested else {})}
            for key, sums in ordered
        ]
        skipped = [{"session": name, "error": error} for name, error in problems.items()]
        about = {"by": by, "timezone": section.timezone, "since": begin, "until": end, "session": session}
        print_json({**about, "rows": shown, "total": total.to_dict(), "skipped": skipped})
    elif as_csv:
        _print_csv(by, [(key, sums.to_dict()) for key, sums in ordered])
    elif not rows:
        echo("Nothing was used.")
    else:
        _print(by, ordered, total, nested)
    if not as_json:
        for name, error in problems.items():
            warning(f"session {name} is left out: {error}")


@usage.command()
@click.option("--session", metavar="ID", help="Also show what this session has used.")
@json_option
@click.pass_context
def budgets(ctx: click.Context, session: str | None, as_json: bool) -> None:
    """Show each budget: what is spent, what is left, and until when."""
    host: Host = ctx.obj.host
    section: UsageConfig = host.config.section("usage")
    zone, now = zone_of(section), time.time()
    index = asyncio.run(_fresh(host))
    try:
        spent: dict[str, Spent | None] = {"run": None, "session": None}
        found = elsewhere(index, now, zone, {})
        spent["day"], spent["month"] = (
            found[Scope("day", day_of(now, zone))],
            found[Scope("month", month_of(now, zone))],
        )
        if session is not None:
            session = _found(index, session)
            used = with_nested(index).get(session, Sum())
            spent["session"] = Spent(used.cost, used.tokens, used.requests, used.unpriced)
    finally:
        index.close()
    rows = list(_budget_rows(section, spent, now, zone))
    if as_json:
        print_json({"timezone": section.timezone, "unpriced": section.unpriced, "session": session, "budgets": rows})
    elif not rows:
        echo("There are no budgets. Set one: 'usage: {budgets: {month: {cost: 20}}}' in the configuration.")
    else:
        _print_budgets(rows)


async def _fresh(host: Host) -> Index:
    """Return the index, up to date."""
    index = index_of(host)
    stores = stores_of(host)
    progress = _Progress()
    try:
        await index.refresh(stores, progress=progress)
    except BaseException:
        index.close()
        raise
    finally:
        progress.end()
        for store in stores.values():
            await store.close()
    return index


class _Progress:
    """A line on the terminal once reading takes longer than a second."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = 0

    def __call__(self, done: int, count: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self._began > 1:
            self._write(f"Reading sessions: {done:,} of {count:,}")

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write("")
            sys.stderr.write("\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text.ljust(self._shown)}")
        sys.stderr.flush()
        self._shown = max(self._shown, len(text))


def _found(index: Index, name: str) -> str:
    known = index.parents()
    found = [name] if name in known else sorted(id_ for id_ in known if name and id_.startswith(name))
    if len(found) > 1:
        raise UsageError(f"{len(found)} sessions start with {name!r}", hint=f"write more of it: {', '.join(found[:5])}")
    if not found:
        raise UnknownSession(name, known)
    return found[0]


def _moment(option: str, text: str, now: float, zone: tzinfo | None, *, end: bool) -> float:
    """Return when a day or month begins, or with ``end`` when it is over."""
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    try:
        if re.fullmatch(r"\d{1,5}d", text):
            day, month = today - timedelta(days=int(text[:-1]) - 1), False
        else:
            match = _DATE.match(text)
            if match is None:
                raise ValueError(text)
            day, month = today.replace(int(match[1]), int(match[2]), int(match[3] or 1)), match[3] is None
        if end:
            day = (day + timedelta(days=32)).replace(day=1) if month else day + timedelta(days=1)
    except (ValueError, OverflowError):
        raise UsageError(f"{option} {text}: this is no date", hint="write 2026-03-31, 2026-03 or 7d") from None
    # the machine's offset may be another one on that day
    return (day.replace(tzinfo=None) if zone is None else day).timestamp()


def _order(by: str) -> Callable[[tuple[str, Sum]], Any]:
    if by in ("day", "month"):
        return lambda row: row[0]
    return lambda row: (-row[1].cost, -row[1].tokens, row[0])


def _price(sums: Sum) -> str:
    """Return a cost in words: never $0 for what has no price."""
    if not sums.unpriced:
        return dollars(sums.cost)
    return f"{dollars(sums.cost)} + ?" if sums.priced else "not known"


def _short(count: int) -> str:
    """Return a count in at most six characters."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if abs(count) >= size:
            return f"{count / min(size, 1_000):,.0f}k" if unit == "k" else f"{count / size:.1f}{unit}"
    return f"{count:,}"


def _print(by: str, ordered: list[tuple[str, Sum]], total: Sum, nested: Mapping[str, Sum]) -> None:
    """Print a table, on a terminal with bars of the cost, or of the tokens where nothing has a price."""
    terminal = terminal_width() is not None
    number = _short if terminal else str
    more = any(key in nested and nested[key].requests != sums.requests for key, sums in ordered)

    def cells(key: str, sums: Sum) -> list[str]:
        read = sums.input + sums.cache_read + sums.cache_write
        row = [key, number(sums.requests), number(read), number(sums.cache_read), number(sums.output + sums.reasoning)]
        return [*row, _price(sums), *([_price(nested[key]) if key in nested else ""] if more else [])]

    headers = [by, "requests", "in", "cached", "out", "cost", *(["with nested"] if more else [])]
    rows = [cells(key or _NONE.get(by, ""), sums) for key, sums in ordered] + [cells("in all", total)]
    if terminal:
        room = columns() - sum(max(len(h), *(len(row[i]) for row in rows)) + 2 for i, h in enumerate(headers))
        if room >= _LEAST_BAR:
            values = [sums.cost if total.cost > 0 else float(sums.tokens) for _, sums in ordered]
            most = max(values)
            for row, value in zip(rows, [*values, 0.0], strict=True):
                row.append(_bar(value / most if most > 0 else 0, min(room, 40)))
            headers.append("")
    bar = len(headers) - 1 if headers[-1] == "" else -1
    last = rows[-1][0]

    def look(column: int, cell: str) -> dict[str, Any]:
        if column == bar:
            return {"fg": "cyan"}
        if column == 0:
            return {"bold": True} if cell == last else {}
        return {"fg": "yellow"} if cell == "not known" or cell.endswith("?") else {}

    table(headers, rows, right=tuple(i for i in range(1, len(headers)) if i != bar), styles=look)
    if total.unpriced:
        count = "1 request has" if total.unpriced == 1 else f"{total.unpriced:,} requests have"
        echo(style(f"{count} no known price: what they cost is not in these sums.", fg="yellow"))
    if total.estimated:
        count = "1 request was" if total.estimated == 1 else f"{total.estimated:,} requests were"
        echo(style(f"{count} cut off: what the provider had not told by then is an estimate.", fg="yellow"))


def _bar(share: float, width: int) -> str:
    """Return a bar of at most ``width`` columns."""
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return "#" * round(max(share, 0) * width)
    eighths = round(max(share, 0) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip() or ("▏" if share > 0 else "")


def _print_csv(by: str, rows: list[tuple[str, dict[str, Any]]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names = list(Sum().to_dict())
    writer.writerow([by, *names])
    for key, sums in rows:
        writer.writerow([key, *("" if sums[name] is None else sums[name] for name in names)])


def _budget_rows(section: UsageConfig, spent: Mapping[str, Spent | None], now: float, zone: tzinfo | None) -> Any:
    for kind in ("run", "session", "day", "month"):
        budget = getattr(section.budgets, kind)
        used, end = spent[kind], until(kind, now, zone)
        for unit in ("cost", "tokens", "requests"):
            limit = getattr(budget, unit)
            if limit is None:
                continue
            amount = None if used is None else round(getattr(used, unit), 10)
            yield {
                "scope": kind,
                "unit": unit,
                "limit": limit,
                "spent": amount,
                "left": None if amount is None else round(max(0, limit - amount), 10),
                "unpriced": 0 if used is None else used.unpriced,
                "until": None if end is None else end.astimezone().isoformat() if zone is None else end.isoformat(),
            }


def _print_budgets(rows: list[dict[str, Any]]) -> None:
    def amount(row: dict[str, Any], name: str) -> str:
        value = row[name]
        if value is None:
            return ""
        return dollars(value) if row["unit"] == "cost" else f"{value:,} {row['unit']}"

    table(
        ["budget", "limit", "spent", "left", "until"],
        [
            [
                row["scope"],
                amount(row, "limit"),
                amount(row, "spent") + (" + ?" if row["unit"] == "cost" and row["unpriced"] else ""),
                amount(row, "left"),
                f"{datetime.fromisoformat(row['until']):%Y-%m-%d %H:%M}" if row["until"] else f"each {row['scope']}",
            ]
            for row in rows
        ],
        right=(1, 2, 3),
        styles=lambda i, cell: {"fg": "red"} if i == 3 and re.match(r"(\$0\.00|0 )", cell) else {},
    )
    unpriced = max((row["unpriced"] for row in rows if row["unit"] == "cost"), default=0)
    if unpriced:
        echo(style(f"Requests without a known price: {unpriced:,}. usage.unpriced says what that means.", fg="yellow"))
