"""The options of the commands that ask a model, and what they mean for an agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click
from skillkit_frontend import Approvals, Choices, choosing, configure

from skillkit_core.errors import UsageError

from .approval import TerminalApprover
from .waiting import Again

__all__ = ["Options", "answering", "options_from"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Choices):
    """What was asked for on the command line."""

    verbose: bool
    as_json: bool
    events: bool
    explain: bool = False
    plan: str | None = None
    again: Again = field(default_factory=Again)

    def who_answers(self, nobody: Approvals) -> Approvals:
        """``--approvals``; without it a person at the terminal is asked, and where there is none ``nobody`` counts."""
        if self.approvals is not None:
            return self.approvals
        return "ask" if TerminalApprover.possible() and not self.as_json else nobody


_OUTPUT = (
    click.option("-v", "--verbose", is_flag=True, help="Show tools, tokens and cost on stderr."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option("--events", is_flag=True, help="With --json: print every event as a JSON line first."),
)


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
    configure(
        ctx.obj.host,
        skills_dirs=skills_dirs,
        permit=permit,
        permission_mode=permission_mode,
        max_turns=given["max_turns"],
    )
    return Options(skills_dirs=skills_dirs, again=Again.of(ctx), **given)
