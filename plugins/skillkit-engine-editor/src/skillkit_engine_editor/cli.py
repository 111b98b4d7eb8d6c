"""``skillkit edit``: a skill edits a file; ``run`` and ``chat`` do the talking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillkit_core.cli.output import echo
from skillkit_core.descriptors import load_object
from skillkit_core.errors import ToolError, UsageError

from .applying import locate, undo
from .documents import document_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["edit_file"]

_PIPED = {"--json", "--events", "-v", "--verbose"}  # options of ``run`` alone


@click.command("edit", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[REQUEST] [OPTIONS OF chat OR run]")
@click.option("--type", "kind", metavar="TYPE", help="Type of the document; default: 'type' of its front matter.")
@click.option("--undo", "take_back", is_flag=True, help="Take the last edit of the file back.")
@click.pass_context
def edit_file(ctx: click.Context, file: Path, words: tuple[str, ...], kind: str | None, take_back: bool) -> None:
    """Let a skill edit FILE, as if it were open in an editor.

    \b
    skillkit edit chapter-1.md "let Mara find the letter earlier"
    skillkit edit chapter-1.md --undo

    At a terminal this opens a conversation, as 'skillkit chat' does, else it answers once, as 'skillkit run' does. Their
    options may follow: --model, --session, --json, ...
    """
    host: Host = ctx.obj.host
    try:
        found = locate(host.cwd, str(file))
    except ToolError as error:
        raise UsageError(str(error)) from None
    if take_back:
        echo(undo(host, found))
        return
    host.state("engine-editor")["document"] = document_of(found, str(file), kind)
    talks = sys.stdin.isatty() and sys.stdout.isatty() and not _PIPED & set(words)
    if not talks and not words:
        raise UsageError("there is no request", hint='write it in quotes: skillkit edit FILE "..."')
    name = "chat" if talks else "run"
    if name not in host.commands:
        raise UsageError(f"there is no command {name!r}", hint="install skillkit-chat")
    command: click.Command = load_object(host.commands.get(name).target)
    with command.make_context(str(ctx.info_name), list(words), parent=ctx.parent) as below:
        command.invoke(below)
