"""The options of the commands that ask a model, and what they mean for an agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skillkit_core.errors import UsageError

from .approval import APPROVALS, Approvals, TerminalApprover
from .waiting import Again

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, Host

__all__ = ["Options", "answering", "choosing", "config_for", "keeps_sessions", "options_from"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line."""

    model: str | None
    provider: str | None
    api: str | None
    base_url: str | None
    skill: str | None
    max_turns: int | None
    no_stream: bool
    approvals: Approvals | None
    verbose: bool
    as_json: bool
    events: bool
    words: tuple[str, ...] = ()
    session: str | None = None
    resume: bool = False
    no_session: bool = False
    explain: bool = False
    skills_dirs: tuple[Path, ...] = ()
    again: Again = field(default_factory=Again)

    def who_answers(self, nobody: Approvals) -> Approvals:
        """``--approvals``; without it a person at the terminal is asked, and where there is none ``nobody`` counts."""
        if self.approvals is not None:
            return self.approvals
        return "ask" if TerminalApprover.possible() and not self.as_json else nobody


_CHOICES = (
    click.option("--model", "-m", metavar="NAME", help="Model that answers; A,B: B where A is overloaded or gone."),
    click.option("--provider", metavar="NAME", help="Provider that is asked."),
    click.option("--api", metavar="NAME", help="Wire protocol, where the provider speaks several."),
    click.option("--base-url", metavar="URL", help="Endpoint to use instead of the provider's own."),
    click.option("--skill", metavar="NAME", help="Use this skill; with an action's name after it, run that action."),
    click.option(
        "--skills-dir",
        "skills_dirs",
        multiple=True,
        metavar="DIR",
        help="Also read skills from this folder.",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
    ),
    click.option(
        "--permit",
        multiple=True,
        metavar="RULE",
        help="Run calls that this rule covers without asking, for example 'Bash(git:*)'.",
    ),
    click.option(
        "--permission-mode",
        metavar="MODE",
        help="What counts where no rule does: ask, accept-edits, read-only or bypass.",
    ),
    click.option(
        "--approvals",
        type=click.Choice(APPROVALS),
        help="When a guard asks: ask at the terminal (the default there), deny, or defer, which suspends the run.",
    ),
    click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="End after N rounds with the model."),
    click.option("--no-stream", is_flag=True, help="Ask the provider for whole answers."),
)
_OUTPUT = (
    click.option("-v", "--verbose", is_flag=True, help="Show tools, tokens and cost on stderr."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option("--events", is_flag=True, help="With --json: print every event as a JSON line first."),
)


def choosing(function: F) -> F:
    """The options that say who answers, with what, and who is asked."""
    for option in reversed(_CHOICES):
        function = option(function)
    return function


def answering(function: F) -> F:
    """The options of every command that lets a model answer once; :func:`options_from` takes them."""
    for option in reversed(_OUTPUT):
        function = option(function)
    return choosing(function)


def options_from(
    ctx: click.Context,
    *,
    skills_dirs: tuple[Path, ...],
    permit: tuple[str, ...],
    permission_mode: str | None,
    **given: Any,
) -> Options:
    """What was typed. The host is told what its configuration is about: skills, the number of turns, permissions.

    Raises:
        UsageError: ``--events`` without ``--json``.
    """
    if given["events"] and not given["as_json"]:
        raise UsageError("--events goes with --json")
    dirs = [str(d.resolve()) for d in skills_dirs] or None
    settings = {
        "skills.dirs": dirs,
        "limits.turns": given["max_turns"],
        "permissions.allow": list(permit) or None,
        "permissions.mode": permission_mode,
    }
    if any(value is not None for value in settings.values()):
        ctx.obj.host.configure(settings)
    return Options(skills_dirs=skills_dirs, again=Again.of(ctx), **given)


def config_for(host: Host, options: Options) -> AgentConfig:
    """The agent's configuration, without an approver."""
    from skillkit_core import AgentConfig

    skills = (options.skill,) if options.skill is not None else ()
    model, *fallbacks = options.model.split(",") if options.model else (None,)
    return AgentConfig(
        model=model,
        fallbacks=tuple(fallbacks),
        provider=options.provider,
        api=options.api,
        base_url=options.base_url,
        stream=not options.no_stream,
        skills=skills,
    )


def keeps_sessions(host: Host, options: Options) -> bool:
    """Whether the session outlives this process."""
    return not options.no_session and bool(host.session_stores.list())
