"""The options of the command line that front ends share: who answers, with what, who is asked, which session goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from skillkit_core import UsageError, check_required
from skillkit_core.cli.output import warning

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, Host

__all__ = ["Approvals", "Choices", "check_plan", "choosing", "config_for", "configure", "going_on", "prepare"]

F = TypeVar("F", bound=Callable[..., Any])
APPROVALS = ("ask", "deny", "defer")
Approvals = Literal["ask", "deny", "defer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the options of :func:`choosing` and :func:`going_on` say; the host knows what :func:`configure` told it."""

    model: str | None = None
    provider: str | None = None
    api: str | None = None
    base_url: str | None = None
    skill: str | None = None
    max_turns: int | None = None
    no_stream: bool = False
    approvals: Approvals | None = None
    words: tuple[str, ...] = ()
    session: str | None = None
    resume: bool = False
    no_session: bool = False
    skills_dirs: tuple[Path, ...] = ()


_CHOOSING = (
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
_GOING_ON = (
    click.option("--session", metavar="ID", help="Go on with this session: its id, or the start of it."),
    click.option("--continue", "resume", is_flag=True, help="Go on with the latest session of this folder."),
    click.option("--no-session", is_flag=True, help="Keep nothing on the disk."),
)


def choosing(function: F) -> F:
    """Add the options that say who answers, with what, and who is asked."""
    for option in reversed(_CHOOSING):
        function = option(function)
    return function


def going_on(function: F) -> F:
    """Add the options that name the session."""
    for option in reversed(_GOING_ON):
        function = option(function)
    return function


def configure(
    host: Host,
    *,
    skills_dirs: Iterable[Path],
    permit: Iterable[str],
    permission_mode: str | None,
    max_turns: int | None,
) -> None:
    """Tell the host what its configuration is about: skills, the number of turns, permissions."""
    settings = {
        "skills.dirs": [str(folder.resolve()) for folder in skills_dirs] or None,
        "limits.turns": max_turns,
        "permissions.allow": list(permit) or None,
        "permissions.mode": permission_mode,
    }
    if any(value is not None for value in settings.values()):
        host.configure(settings)


def config_for(host: Host, options: Choices) -> AgentConfig:
    """Return the agent's configuration, without an approver."""
    from skillkit_core import AgentConfig

    model, *fallbacks = options.model.split(",") if options.model else (None,)
    return AgentConfig(
        model=model,
        fallbacks=tuple(fallbacks),
        provider=options.provider,
        api=options.api,
        base_url=options.base_url,
        stream=not options.no_stream,
        skills=(options.skill,) if options.skill is not None else (),
    )


def check_plan(host: Host, name: str) -> None:
    """Refuse ``--plan`` where nothing here carries out plans, or no saved plan has the name (hook ``check_plan``).

    Raises:
        UsageError: it is so.
    """
    checks = host.impls("check_plan")
    if not checks:
        raise UsageError("no plugin here carries out plans", hint="pip install skillkit-planner")
    for check in checks:
        given = {"name": name, "host": host}
        check.function(*(given[argument] for argument in check.argnames))


def prepare(host: Host) -> None:
    """Check the configuration, and say which plugins did not load or register.

    What a run needs of them is asked for now, so that it shows.
    """
    host.check_config()
    host.load()
    for kind in ("adapters", "models", "runtimes", "tools", "skill_sources", "skill_loaders", "context_providers"):
        host.registry(kind)
    check_required(host)
    errors = [p for p in host.problems if p.severity == "error" and p.stage != "config"]  # of settings it was said
    if errors:
        names = ", ".join(sorted({p.plugin for p in errors}))
        warning(f"{names} did not load; see 'skillkit plugins doctor'")
