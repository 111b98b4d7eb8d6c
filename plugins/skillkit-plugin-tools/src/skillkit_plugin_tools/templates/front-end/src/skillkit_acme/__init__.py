"""The front end "acme": what an agent does, a line for each part, and questions that a typed word answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import Command, hookimpl

if TYPE_CHECKING:
    from pathlib import Path

    from skillkit_core import Host
    from skillkit_frontend import Block, Choices, Log, Question


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer the command ``skillkit acme``, whose options come from skillkit-frontend when it is called."""
    register(Command("acme", "skillkit_acme:acme_command", "Work with an agent, line by line."))


def __getattr__(name: str) -> Any:
    """Make the command when somebody calls it: its options are imported only then."""
    if name != "acme_command":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import asyncio

    import click
    from skillkit_frontend import Choices, choosing, configure, going_on, prepare

    @click.command("acme")
    @click.argument("words", nargs=-1, required=True)
    @going_on
    @choosing
    @click.pass_context
    def acme_command(ctx: click.Context, /, permit: Any, permission_mode: Any, **given: Any) -> None:
        """Ask an agent, and show what it does."""
        host, options = ctx.obj.host, Choices(**given)
        configure(
            host,
            skills_dirs=options.skills_dirs,
            permit=permit,
            permission_mode=permission_mode,
            max_turns=options.max_turns,
        )
        prepare(host)
        ctx.exit(asyncio.run(work(host, options)))

    return acme_command


async def work(host: Host, options: Choices) -> int:
    """Hold one conversation, and return the exit code."""
    from skillkit_frontend import Conversation, opened

    async with opened(host, options) as (agent, kept):
        view = AcmeView()
        approvals = options.approvals or "ask"
        conversation = Conversation(agent, view, kept=kept, skills_dirs=options.skills_dirs, approvals=approvals)
        conversation.begin(" ".join(options.words))
        await conversation.idle()
        await conversation.close()
        return view.code


class AcmeView:
    """Prints each part of what happens once it has ended, and asks in a line.

    Args:
        read: returns the line that a person typed; ``EOFError``: nobody is there.
    """

    def __init__(self, read: Callable[[], str] = input) -> None:
        self._read, self.code = read, 0

    def changed(self, log: Log, block: Block | None) -> None:
        """Print a block that has ended, further to the right for an agent that works for another one."""
        from skillkit_core.cli.output import echo

        if block is not None and block.done:
            echo(f"{'  ' * (len(log.path) - 1)}{block.kind:<5} {block.summary(100)}")
            self.code = 1 if block.kind == "error" else self.code

    async def ask(self, question: Question) -> Any:
        """Ask in a line; where nobody is there, the question is declined."""
        import asyncio

        from skillkit_core.cli.output import echo
        from skillkit_frontend import TextQuestion

        echo("".join(text for _, text in question.lines(100)))
        try:
            typed = await asyncio.to_thread(self._read)
        except EOFError:
            question.say(None)
        else:
            if isinstance(question, TextQuestion):
                question.say(typed)
            for key in typed:
                question.press("", key)
            question.press("enter", "")
            if not question.answer.done():
                question.say(None)
        return await question.answer

    def leave(self, code: int = 0) -> None:
        """Note how the front end ends."""
        self.code = code

    # --- what a front end with a line to type into would do --------------------------------------------------

    def show_session(self) -> None:
        """Show a session from its beginning."""

    def status_changed(self) -> None:
        """Show that work began or ended."""

    def hint(self, text: str) -> None:
        """Show a few words for a moment."""

    def put_back(self, texts: Sequence[str]) -> None:
        """Put back what nobody read."""

    def keep_line(self) -> bool:
        """Keep what is typed: nothing is."""
        return False

    def own(self, text: str) -> bool:
        """Do a command of this front end: it has none."""
        return False

    async def edit(self, path: Path) -> None:
        """Open the person's editor."""
