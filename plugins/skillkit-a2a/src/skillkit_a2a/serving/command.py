"""``skillkit a2a serve``, ``keys`` and ``card``."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, escaped, json_option, print_json, table, warning
from skillkit_core.errors import SkillKitError, UsageError

if TYPE_CHECKING:
    from skillkit_core import Host

    from .settings import ServeSettings

__all__ = ["card", "keys", "serve", "settings_of"]

PORT = 41241
_HERE = "127.0.0.1"


def settings_of(host: Host) -> ServeSettings:
    """Return the settings for serving, without those of a project: a folder does not open itself to others.

    Raises:
        ConfigError: one of them is wrong.
    """
    from .settings import ServeSettings

    host.config.section("a2a")  # says what is wrong, and where
    given: dict[str, Any] = {}
    for layer in host.config.layers:
        section = layer.data.get("a2a")
        if layer.name != "project" and isinstance(section, Mapping):
            given.update({name: value for name, value in section.items() if name in ServeSettings.model_fields})
    return ServeSettings.model_validate(given)


# --- serve ----------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0: any free one.")
@click.option("--grpc-port", type=click.IntRange(1, 65535), help="Also serve gRPC, at this port.")
@click.option(
    "--skill", "skills", multiple=True, metavar="NAME", help="Serve this skill; default: all that people may call."
)
@click.option("--open", "open_", is_flag=True, help="Ask for no key: every program of this machine may call.")
@click.option("--model", "-m", metavar="NAME", help="Model that answers; A,B: B where A is overloaded or gone.")
@click.option("--provider", metavar="NAME", help="Provider that is asked.")
@click.option(
    "--skills-dir",
    "skills_dirs",
    multiple=True,
    metavar="DIR",
    help="Also read skills from this folder.",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--permit", multiple=True, metavar="RULE", help="Run calls that this rule covers without asking.")
@click.option("--permission-mode", metavar="MODE", help="What counts where no rule does, for example read-only.")
@click.pass_context
def serve(
    ctx: click.Context,
    port: int,
    grpc_port: int | None,
    skills: tuple[str, ...],
    open_: bool,
    model: str | None,
    provider: str | None,
    skills_dirs: tuple[Path, ...],
    permit: tuple[str, ...],
    permission_mode: str | None,
) -> None:
    """Let agents of other hosts use skills of this folder, over A2A 1.0.

    The server is for this machine alone; put a proxy with TLS in front of it for others (a2a.url). It ends with Ctrl-C, and
    goes on with its tasks when it is started again.
    """
    from skillkit_frontend import Choices, config_for, configure, prepare, run_tasks

    from .keys import Keys

    host: Host = ctx.obj.host
    configure(host, skills_dirs=skills_dirs, permit=permit, permission_mode=permission_mode, max_turns=None)
    prepare(host)
    known = Keys(host.data_dir)
    if not open_ and not known:
        raise UsageError(
            "nobody has a key yet", hint="skillkit a2a keys add NAME; or --open for every program of this machine"
        )
    if grpc_port is not None and find_spec("grpc") is None:
        raise UsageError("gRPC is not installed", hint="pip install 'skillkit-a2a[grpc]'")
    listening = _listening(port)

    # the spans of runs are those of skillkit-otel; the library's own end in other tasks than they began in
    os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    logging.getLogger("a2a").setLevel(logging.ERROR)  # callers read of their mistakes themselves

    async def work() -> None:
        from .server import Server, serve

        config = config_for(host, Choices(model=model, provider=provider))
        try:
            made = Server(
                host, config, settings_of(host), skills=skills, keys=None if open_ else known, depth=_depth(host)
            )
            await serve(made, listening, _ready, grpc_port)
        finally:
            await host.aclose()

    if open_:
        warning("no key is asked for: every program of this machine may call")
    with listening:
        run_tasks(host, work())


def _ready(url: str) -> None:
    echo(f"Serving {url} (card: {url}/.well-known/agent-card.json). Ctrl-C ends it.")


def _depth(host: Host) -> int:
    from ..calling.settings import settings_of as client_settings

    return client_settings(host).depth  # a project does not let tasks go further


def _listening(port: int) -> socket.socket:
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((_HERE, port))
    except OSError as error:
        found.close()
        raise SkillKitError(
            f"port {port} cannot be used: {error.strerror}", hint="--port 0 takes any free one"
        ) from None
    return found


# --- keys -----------------------------------------------------------------------------------------------------------


@click.group()
def keys() -> None:
    """Keep the keys of callers: each has a name and scopes."""


@keys.command()
@click.argument("name")
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="The key is for this skill; default: for all.")
@click.option("--approve", is_flag=True, help="The caller answers what guards ask about its own tasks.")
@json_option
@click.pass_context
def add(ctx: click.Context, name: str, skills: tuple[str, ...], approve: bool, as_json: bool) -> None:
    """Make a key, and print it; it is printed once."""
    from .keys import Keys

    key = Keys(ctx.obj.host.data_dir).add(name, skills, approve=approve)
    if as_json:
        print_json({"name": name, "key": key})
    else:
        echo(key)
        echo("Keep it: only its hash is kept here. Callers send it as 'Authorization: Bearer KEY'.", err=True)


@keys.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the keys, without the keys themselves."""
    from .keys import Keys

    rows = list(Keys(ctx.obj.host.data_dir))
    if as_json:
        print_json([{"name": caller.name, "scopes": caller.scopes, "made": made} for caller, made in rows])
    elif not rows:
        echo("There is no key. 'skillkit a2a keys add NAME' makes one.")
    else:
        made = [time.strftime("%Y-%m-%d", time.localtime(when)) for _, when in rows]
        shown = [(escaped(c.name), escaped(" ".join(c.scopes)), day) for (c, _), day in zip(rows, made, strict=True)]
        table(("NAME", "SCOPES", "MADE"), shown)


@keys.command()
@click.argument("name")
@click.pass_context
def revoke(ctx: click.Context, name: str) -> None:
    """Let a key count no more, also for a server that runs."""
    from .keys import Keys

    Keys(ctx.obj.host.data_dir).revoke(name)
    echo(f"The key {name} counts no more.")


# --- card -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("url", required=False)
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="A skill that is served; default: all.")
@click.pass_context
def card(ctx: click.Context, url: str | None, skills: tuple[str, ...]) -> None:
    """Print the card of this host, or of the agent at URL."""
    import asyncio

    host: Host = ctx.obj.host
    print_json(_own_card(host, skills) if url is None else asyncio.run(_card_at(host, url)))


def _own_card(host: Host, skills: tuple[str, ...]) -> Any:
    from a2a.server.request_handlers.response_helpers import agent_card_to_dict

    from .card import Cards
    from .served import Served

    settings = settings_of(host)
    url = settings.url or f"http://{_HERE}:{PORT}"
    return agent_card_to_dict(Cards(settings, Served(host, skills), url, open_=False).public())


async def _card_at(host: Host, url: str) -> Any:
    import httpx

    from ..guard import guarded_client

    sections = [layer.data.get("a2a") for layer in host.config.layers if layer.name != "project"]
    clients = [one.get("client") for one in sections if isinstance(one, Mapping)]
    allow = [str(name) for one in clients if isinstance(one, Mapping) for name in one.get("allow", ())]
    place = url if url.endswith(".json") else f"{url.rstrip('/')}/.well-known/agent-card.json"
    try:
        async with guarded_client(allow, max_bytes=2**20, timeout=5, silence=5) as client:
            answer = await client.get(place)
            answer.raise_for_status()
            return answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise SkillKitError(f"there is no card: {error or type(error).__name__}", where=place) from None
