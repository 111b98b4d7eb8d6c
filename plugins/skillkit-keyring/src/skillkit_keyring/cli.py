"""``skillkit auth``: log in to providers, log out, and show where credentials come from."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, json_option, print_json, short_path, table, warning
from skillkit_core.contracts.user_interface import Answers, NoticeLevel, Survey, UserInterface
from skillkit_core.errors import UsageError
from skillkit_core.program import as_typed

from .login import LONGEST_KEY, Method, log_in, log_out, target_of
from .slash import said_after_login
from .status import status_rows

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["auth"]


@click.group()
def auth() -> None:
    """Log in to providers, and show where keys come from.

    The environment comes first: a variable that is set hides what is kept.
    """


class _Terminal(UserInterface):
    """Asks for secrets without showing them, and prints notices on stderr."""

    async def ask(self, survey: Survey) -> Answers | None:
        given = {q.id: click.prompt(q.text, hide_input=q.kind == "secret", err=True) for q in survey.questions}
        return survey.answer(given)

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        echo(text, err=True)


@auth.command()
@click.argument("provider")
@click.option("--api-key-stdin", "stdin", is_flag=True, help="Read a key from stdin.")
@click.option("--key", "ask", is_flag=True, help="Ask for a key although the provider has a login.")
@click.option("--device", is_flag=True, help="Log in with a code, on any device.")
@click.option("--browser/--no-browser", default=True, help="Open the address in a browser, or only print it.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up after this time."
)
@click.pass_obj
def login(
    state: Any, provider: str, stdin: bool, ask: bool, device: bool, browser: bool, timeout: float | None
) -> None:
    """Log in to a provider, or keep a key for it.

    \b
    skillkit auth login anthropic
    skillkit auth login openai --api-key-stdin < key.txt
    skillkit auth login TAVILY_API_KEY

    A key goes into the system's keyring, else into a file that only you can read. PROVIDER may also be the variable that
    would hold the key.
    """
    host: Host = state.host
    host.check_config()
    if stdin and device:
        raise UsageError("--api-key-stdin and --device exclude each other")
    method: Method = "device" if device else "key" if ask or stdin else "auto"
    target = target_of(host, provider)
    piped = method != "device" and not sys.stdin.isatty() and (method == "key" or target.login is None)
    key = sys.stdin.read(LONGEST_KEY + 2) if stdin or piped else None

    async def run() -> Any:
        import webbrowser

        try:
            open_url = webbrowser.open if browser else None
            return await log_in(host, provider, _Terminal(), method=method, key=key, open_url=open_url, seconds=timeout)
        finally:
            await host.aclose()

    done = asyncio.run(run())
    text, warnings = said_after_login(host, done)
    echo(text)
    for line in warnings:
        warning(line)


@auth.command()
@click.argument("provider")
@click.pass_obj
def logout(state: Any, provider: str) -> None:
    """Forget what is kept of a provider, and end its login."""
    host: Host = state.host
    host.check_config()

    async def run() -> tuple[list[str], list[str]]:
        try:
            return await log_out(host, provider)
        finally:
            await host.aclose()

    names, problems = asyncio.run(run())
    echo(f"Forgotten: {', '.join(names)} of {provider}." if names else f"Nothing was kept of {provider}.")
    for name in names:
        if host.environ.get(name):
            warning(f"{name} is still set in the environment")
    for problem in problems:
        warning(problem)


@auth.command()
@click.argument("provider", required=False)
@click.option("--all", "everything", is_flag=True, help="Also show providers without a credential.")
@json_option
@click.pass_obj
def status(state: Any, provider: str | None, everything: bool, as_json: bool) -> None:
    """Show where each provider's credential comes from, and when it ends."""
    host: Host = state.host
    host.check_config()
    rows = status_rows(host, provider)
    if as_json:
        print_json(rows)
        return
    shown = [row for row in rows if row["source"] or everything or provider]
    if shown:
        table(["provider", "variable", "from", "ends with", "valid"], [_cells(row) for row in shown], styles=_styles)
    else:
        echo(as_typed("No provider has a credential: skillkit auth login PROVIDER"))
    for row in shown:
        if row["problem"]:
            warning(row["problem"])
        if row["hidden"]:
            warning(f"{row['variable']} of the environment hides what is kept of {row['provider']}")
    missing = [row["provider"] for row in rows if not row["source"]]
    if missing and shown and not provider and not everything:
        echo(f"\n{len(missing)} providers have no credential (--all shows them).")


def _cells(row: dict[str, Any]) -> list[Any]:
    if not row["source"]:
        return [row["provider"], row["variable"], "-", "", "login offered" if row["login"] else ""]
    where = row["where"]
    place = {"environment": "environment", "file": f"file {short_path(where)}", "keyring": f"keyring {_short(where)}"}
    end = f"…{row['ends_with']}" if row["ends_with"] else ""
    return [row["provider"], row["variable"], place[row["source"]], end, _valid(row)]


def _valid(row: dict[str, Any]) -> str:
    if row["problem"]:
        return "cannot be read"
    if row["kind"] == "key":
        return "key"
    until = f"until {row['expires_at']}" if row["expires_at"] else "login"
    if row["expired"]:
        return "ended, is renewed when used" if row["renewable"] else "ended"
    return f"{until}, then renewed" if row["renewable"] and row["expires_at"] else until


def _short(backend: str) -> str:
    return backend.removeprefix("keyring.backends.").removesuffix(".Keyring")


def _styles(column: int, cell: str) -> dict[str, Any]:
    if column == 4 and cell in ("ended", "cannot be read"):
        return {"fg": "red"}
    return {"bold": True} if column == 0 else {"dim": True} if column == 1 else {}
