"""``skillkit record`` and ``skillkit replay``."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click

from skillkit_core import HandlerContext, SessionStartEvent, SkillKitError, UsageError, hookimpl
from skillkit_core.cli.output import echo, json_option, print_json, style
from skillkit_core.errors import in_words

from .recorder import Recorder
from .recording import Recording
from .replaying import replay as play

__all__ = ["record", "replay"]

HEAD = b'{"type": "recording"'  # how the file of a recording begins


class _Records:
    """Records the first agent that opens a session."""

    name = "recording"
    watches_only = True  # it is no part of what is recorded

    def __init__(self, path: Path) -> None:
        self._path = path
        self.recorder: Recorder | None = None
        self.problem: Exception | None = None  # why it could not begin

    @hookimpl(trylast=True)
    def session_start(self, event: SessionStartEvent, ctx: HandlerContext) -> None:
        """Begin with the agent of the command; agents inside its tools are a part of it."""
        if self.recorder is not None or self.problem is not None or ctx.agent is None:
            return
        try:
            self.recorder = Recorder(ctx.agent, self._path).start()
        except Exception as error:
            self.problem = error
            raise

    def finish(self) -> Recording | None:
        """Save what there is."""
        return self.recorder.stop() if self.recorder is not None else None


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@click.argument("command", metavar="COMMAND")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
@click.pass_context
def record(ctx: click.Context, file: Path, command: str, words: tuple[str, ...]) -> Any:
    """Run another command and record the session of its agent in FILE, also when it fails; a recording there is replaced.

    \b
    skillkit record bug.jsonl run "what is 15% of 80"
    skillkit replay bug.jsonl

    The exit code is that of the command. Secrets are left out; what was said, and what tools returned, is not.
    """
    root = ctx.find_root()
    group = root.command
    if command in ctx.help_option_names:
        echo(ctx.get_help())
        return 0
    found = group.get_command(root, command) if isinstance(group, click.Group) else None
    if found is None or found in (ctx.command, replay):
        raise UsageError(f"{command!r} is no command that can be recorded", hint="try: skillkit record FILE run ...")
    _check_place(file)
    plugin = _Records(file)
    root.obj.host.add_plugin(plugin)
    try:
        with found.make_context(command, list(words), parent=root) as below:
            code = found.invoke(below)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    finally:
        recording = plugin.finish()
        if recording is not None:
            echo(style(f"recorded in {file}: {recording}", dim=True, stream=sys.stderr), err=True)
    if recording is None:
        why = f"{command!r} opened no session" if plugin.problem is None else in_words(plugin.problem)
        raise SkillKitError(f"nothing was recorded: {why}")
    ctx.exit(code or 0)


def _check_place(file: Path) -> None:
    """Refuse what could not be written in the end, and what somebody would miss."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{file} cannot be written", hint="there is no such folder")
    if not file.exists() and not os.access(folder, os.W_OK):
        raise UsageError(f"{file} cannot be written", hint="the folder is read-only")
    if file.is_file():
        with file.open("rb") as known:
            head = known.read(len(HEAD))
        if head and head != HEAD:
            raise UsageError(f"{file} is no recording, and would be replaced", hint="give the recording another name")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--event", "events", multiple=True, metavar="TYPE", help="Compare only events of this type; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Print every difference, not only the first 20.")
@json_option
@click.pass_context
def replay(ctx: click.Context, file: Path, events: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Replay a recorded session without a network and without running its tools, and say what differs.

    The plugins that are enabled take part: 'skillkit --plugins recorder replay FILE' replays without any other,
    'skillkit -P no:NAME replay FILE' without one. Exit code 0: it matches, 1: it differs, 2: the file cannot be used.
    """
    recording = Recording.load(file)
    done = asyncio.run(_play(ctx.obj.host, recording, events))
    if as_json:
        print_json({"file": str(file), **done.to_dict()})
    else:
        echo(done.report(sys.maxsize if everything else 20))
    ctx.exit(0 if done.matches else 1)


async def _play(host: Any, recording: Recording, events: tuple[str, ...]) -> Any:
    try:
        return await play(recording, host=host, events=events or None)
    finally:
        await host.aclose()
