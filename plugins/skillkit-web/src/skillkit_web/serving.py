"""The process of ``skillkit web``: the sessions of this machine's user, and the server of their page."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import ssl
import webbrowser
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from skillkit_live import Lives

from skillkit_core import UsageError
from skillkit_core.cli.output import echo, warning

from .entrance import is_loopback
from .places import Places
from .routes import application

if TYPE_CHECKING:
    from skillkit_frontend import Choices

    from skillkit_core import AgentConfig, Host

    from .config import PageConfig
    from .entrance import Entrance

__all__ = ["Served", "serve"]

_HINTS = {
    errno.EADDRINUSE: "another program has it: take another --port, or leave it out",
    errno.EACCES: "this user may not have it: take a --port above 1023, or leave it out",
}


@dataclass(frozen=True, slots=True)
class Served:
    """What is served.

    Attributes:
        host: the host of the folder in which the command was started.
        make_host: returns the host of another folder.
        choices: what the command line says.
        config: the agents of sessions.
        settings: the section of the configuration.
        folders: more folders for new sessions.
    """

    host: Host
    make_host: Callable[[Path], Host]
    choices: Choices
    config: AgentConfig
    settings: PageConfig
    folders: Collection[Path]


class _Server(uvicorn.Server):
    """A server that leaves signals to the command."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signals."""
        yield


async def serve(
    served: Served, entrance: Entrance, at: tuple[str, int], *, tls: tuple[Path, Path] | None, show: bool
) -> None:
    """Serve until a signal ends it: questions wait in their sessions, other runs end, and what was said is kept.

    Args:
        at: the address and the port.
        tls: a certificate and its key.
        show: open the page in the browser.
    """
    settings = served.settings
    try:
        async with Lives(
            served.host, make_host=served.make_host, patience=settings.patience, idle=settings.idle, listen=True
        ) as lives:
            places = Places(lives, served.config, served.choices, served.folders)
            over = asyncio.Event()
            listening = _listening(*at)
            url = entrance.at(at[0], listening.getsockname()[1])
            config = uvicorn.Config(
                entrance.guard(application(places, settings, over, read_only=entrance.read_only)),
                log_level="error", access_log=False, lifespan="off", server_header=False, proxy_headers=False,
                timeout_graceful_shutdown=2,
                ssl_certfile=str(tls[0]) if tls else None, ssl_keyfile=str(tls[1]) if tls else None,
            )  # fmt: skip
            try:
                config.load()
            except ssl.SSLError as error:
                said = f"{config.ssl_certfile} and {config.ssl_keyfile} are no certificate and its key: {error.reason or error}"
                raise UsageError(said, hint="both are PEM files, and the key has no passphrase") from None
            server = _Server(config)
            loop = asyncio.get_running_loop()

            def leave() -> None:
                over.set()
                server.should_exit = True

            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, leave)
            if not is_loopback(at[0]):
                kept = "over TLS" if tls else "without TLS: who reads along has the token"
                warning(f"this server is reached from beyond this machine, {kept}")
            echo(url)
            if entrance.shared:
                echo(f"For those who look on: {entrance.shared}")
            echo("Ctrl-C ends it; questions wait in their sessions.", err=True)
            if show:
                await asyncio.to_thread(webbrowser.open, url)
            await server.serve([listening])
    finally:
        await served.host.aclose()


def _listening(address: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        UsageError: the address or the port cannot be had.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen()  # who has read the address may call
    except OSError as error:
        made.close()
        hint = _HINTS.get(error.errno or 0, "take another --host: this machine has no such address")
        raise UsageError(f"{address}:{port} cannot be listened at: {error.strerror or error}", hint=hint) from None
    made.set_inheritable(False)
    return made
