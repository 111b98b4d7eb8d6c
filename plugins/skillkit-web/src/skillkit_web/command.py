"""``skillkit web``."""

from __future__ import annotations

import os
import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from skillkit_frontend import Choices, choosing, config_for, host_in, run_tasks, settle

from skillkit_core import Host, UsageError

from .config import settings_of
from .entrance import Entrance, is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["web"]

TOKEN = "SKILLKIT_WEB_TOKEN"  # noqa: S105 - the name of a variable
_SHORTEST = 16  # characters of a token
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--port", type=click.IntRange(0, 65_535), help="Listen at this port; default: one that is free.")
@click.option("--host", "address", metavar="ADDRESS", help="Listen at this address; default: 127.0.0.1.")
@click.option(
    "--folder", "folders", multiple=True, metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Offer this folder for new sessions, too.",
)  # fmt: skip
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
@click.option("--read-only", is_flag=True, help="Let the page look on, and neither speak nor decide.")
@click.option("--share", is_flag=True, help="Print a second address, for others: it looks on, and reads no files.")
@click.option("--insecure-lan", is_flag=True, help="Listen beyond this machine without TLS: others can read along.")
@click.option("--certificate", type=_FILE, help="Serve with TLS: the certificate.")
@click.option("--certificate-key", type=_FILE, help="Its private key.")
@choosing
@click.pass_context
def web(
    ctx: click.Context, /, port: int | None, address: str | None, folders: tuple[Path, ...], open_: bool,
    read_only: bool, share: bool, insecure_lan: bool, certificate: Path | None, certificate_key: Path | None,
    permit: tuple[str, ...], permission_mode: str | None, **given: Any,
) -> None:  # fmt: skip
    """Work with agents on a page in the browser.

    The command prints an address with a token, which lets a browser in. The page shows the sessions of all folders; new
    ones begin in the folder in which the command was started. Ctrl-C ends it: questions wait in their sessions.
    """
    options: Choices = Choices(**given)
    if options.approvals == "defer":
        raise UsageError("the person at the page decides, or nobody", hint="leave --approvals out, or use deny")
    host: Host = ctx.obj.host
    token = os.environ.pop(TOKEN, "") or secrets.token_urlsafe(32)  # popped, so that no tool inherits it
    if len(token) < _SHORTEST:
        raise UsageError(f"the token in {TOKEN} is short enough to guess", hint=f"take {_SHORTEST} characters or more")
    section = settings_of(host)
    address = address or section.host
    if (certificate is None) != (certificate_key is None):
        raise UsageError("a certificate needs its key", hint="give both --certificate and --certificate-key")
    if not is_loopback(address) and not insecure_lan and certificate is None:
        raise UsageError(
            f"{address} is reached by others than this machine, who would read along",
            hint="serve with TLS (--certificate, --certificate-key), or accept that with --insecure-lan",
        )
    tls = (certificate, certificate_key) if certificate is not None and certificate_key is not None else None
    entrance = Entrance(token, names=section.names, read_only=read_only, tls=tls is not None, share=share)
    settled = partial(
        _settle,
        tokens=entrance.secrets,
        asks=options.approvals != "deny",
        skills_dirs=options.skills_dirs,
        permit=permit,
        permission_mode=permission_mode,
        max_turns=options.max_turns,
    )
    settled(host)

    async def work() -> None:
        from .serving import Served, serve

        await serve(
            Served(host, partial(host_in, host, settled), options, config_for(host, options), section, folders),
            entrance,
            (address, section.port if port is None else port),
            tls=tls,
            show=open_,
        )

    run_tasks(host, work())


def _settle(host: Host, *, tokens: Iterable[str], **options: Any) -> None:
    """Tell a host what the command line says, and keep the tokens out of what is kept."""
    for token in tokens:
        host.remember_secret(token)
    settle(host, **options)
