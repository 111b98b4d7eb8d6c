"""``skillkit a2a call``: ask an agent elsewhere from the command line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from skillkit_core.cli.output import echo, json_option, print_json
from skillkit_core.errors import UsageError

from ..errors import PeerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from skillkit_core import Host

    from .peer import Peer
    from .progress import Progress
    from .settings import Target

__all__ = ["call"]


@click.command()
@click.argument("url")
@click.argument("text", required=False)
@click.option(
    "--task", metavar="ID", default="", help="Go on with a task: wait for its end, or answer what it asks with TEXT."
)
@click.option("--skill", metavar="ID", default="", help="The skill of its card that is wanted.")
@click.option(
    "--key", metavar="NAME", default="", help="The secret to call it with: a variable, or an entry of the keyring."
)
@click.option("--follow", is_flag=True, help="Show each step of the task as it is told.")
@json_option
@click.pass_context
def call(
    ctx: click.Context, url: str, text: str | None, task: str, skill: str, key: str, follow: bool, as_json: bool
) -> None:
    """Give a task to an agent elsewhere.

    The agent is at URL, or has a name in a2a.client.agents. What it has made is printed.

    \b
    skillkit a2a call https://agents.example "why do glaciers move?"
    skillkit a2a call translator "guten Tag" --follow
    skillkit a2a call translator --task 3f0c... --json

    A task that asks something, or did not come to its end, is kept there: --task goes on with it.
    """
    if not text and not task:
        raise UsageError("there is no task to do", hint='write it in quotes: skillkit a2a call URL "..."')
    host: Host = ctx.obj.host
    target = _target(host, url, skill, key)
    try:
        progress = asyncio.run(_called(host, target, text or "", task, follow=follow))
        if (failure := progress.failure()) is not None:
            raise failure
    except PeerError as error:
        raise _kept(host, error, url, as_json=as_json) from None
    told = host.redact(progress.to_dict())
    if progress.state != "input-required":
        print_json(told) if as_json else echo(told["text"])
        return
    from .questions import survey_of

    survey = survey_of(progress)
    if as_json:
        print_json({**told, "question": host.redact(survey.to_dict())})
    else:
        for question in survey.questions:
            options = f" ({' / '.join(option.value for option in question.options)})" if question.options else ""
            echo(f"{host.redact(question.text)}{options}")
        echo(f'It waits for an answer: skillkit a2a call {url} --task {progress.task} "..."', err=True)
    ctx.exit(1)


def _target(host: Host, url: str, skill: str, key: str) -> Target:
    """Return whom a name of the settings or an address means."""
    from .settings import Target, agents_of, target_of

    if "://" not in url:
        found = target_of(host, url)
    else:
        known = next((n for n, one in agents_of(host).items() if one.url.rstrip("/") == url.rstrip("/")), None)
        found = target_of(host, known) if known else Target(url, url)
    return found._replace(skill=skill or found.skill, key=key or found.key)


async def _called(host: Host, target: Target, text: str, task: str, *, follow: bool) -> Progress:
    from ..chain import Chain, own_id
    from .peer import Peer

    async with Peer(host, target) as peer:
        progress, shown = peer.progress(task), ""
        try:
            async with asyncio.timeout(peer.settings.wait):
                metadata = Chain().onward(own_id(host), peer.settings.depth)
                async for _ in _events(peer, progress, text, task, metadata):
                    said = f": {progress.said}" if progress.said else ""
                    line = str(host.redact(f"{progress.task or '-'} {progress.state}{said}"))
                    if (follow or progress.owners) and line != shown:
                        echo(line, err=True)
                    shown = line
        except TimeoutError:
            raise peer.left(progress) from None
    return progress


async def _events(
    peer: Peer, progress: Progress, text: str, task: str, metadata: dict[str, object]
) -> AsyncIterator[Progress]:
    """Send the text, if there is one, and yield what is told of the task."""
    question = ""
    if task:
        async for _ in peer.watch(progress):
            yield progress
            if text:
                break
        question = progress.asked if progress.state == "input-required" else ""
    if not text:
        return
    async for _ in peer.send([{"text": text}], progress, message=uuid4().hex, metadata=metadata, than=question):
        yield progress


def _kept(host: Host, error: PeerError, url: str, *, as_json: bool) -> PeerError:
    """Return an error that says how the task goes on; as JSON it is printed, too."""
    if as_json:
        print_json(host.redact(error.to_dict()))
    hint = str(error.hint or "")
    if error.task and error.retryable:
        hint = f"the task is kept: skillkit a2a call {url} --task {error.task}"
    return PeerError(error.code, error.message, hint=hint, retryable=error.retryable, task=error.task)
