"""Calls that wait for a decision: what they are, which decisions were typed, and the command that goes on with them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from skillkit_core import ApprovalDecision, SuspendedCall, Suspension, no_such_call
from skillkit_core.cli.output import echo, style
from skillkit_core.cli.sessions import typed_options
from skillkit_core.errors import UsageError

from .approval import TerminalApprover, show_call
from .surveys import TerminalPerson

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["ALL", "Again", "Decided", "ask_about", "check_tools", "show_waiting", "waiting_json"]

ALL = "all"
NOT_REPEATED = frozenset(
    {
        "session",
        "resume",
        "no_session",
        "entry",
        "approvals",
        "allowed",
        "denied",
        "verbose",
        "as_json",
        "events",
        "debug",
    }
)
Word = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True)
class Decided:
    """What was typed: ids of calls, the start of one, or ``all``."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.allow or self.deny)

    def about(self, suspension: Suspension | None) -> dict[str, ApprovalDecision]:
        """The decisions by the id of the call; a call that is named counts over ``all``.

        Raises:
            UsageError: a name fits no call that waits, or several; a call is allowed and denied.
        """
        words: dict[Word, tuple[str, ...]] = {"allow": self.allow, "deny": self.deny}
        if all(ALL in names for names in words.values()):
            raise UsageError("--allow all and --deny all exclude each other")
        calls = suspension.calls if suspension is not None else ()
        named: dict[str, Word] = {}
        every: dict[str, Word] = {}
        for word, names in words.items():
            for name in names:
                if name == ALL:
                    every = {call.id: word for call in calls}
                    continue
                call_id = _call_id(name, suspension)
                if named.setdefault(call_id, word) != word:
                    raise UsageError(f"call {call_id!r} is both allowed and denied")
        told = {"allow": "a person allowed it", "deny": "a person said no"}
        return {call_id: ApprovalDecision(word, told[word]) for call_id, word in {**every, **named}.items()}


def _call_id(name: str, suspension: Suspension | None) -> str:
    ids = sorted(suspension.open_calls) if suspension is not None else []
    if name in ids:
        return name
    found = [call_id for call_id in ids if name and call_id.startswith(name)]
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} calls that wait start with {name!r}", hint=f"write more: {', '.join(found[:5])}"
        )
    if not found:
        raise no_such_call(name, suspension)
    return found[0]


async def ask_about(
    suspension: Suspension, known: Mapping[str, ApprovalDecision]
) -> tuple[dict[str, ApprovalDecision], frozenset[str]]:
    """Ask the person at the terminal about each call that waits and is not decided yet; nothing runs meanwhile.

    Returns: every decision, and the ids of the calls that are to wait on.
    """
    person, decisions, later = TerminalApprover(), dict(known), set[str]()
    for call in suspension.calls:
        if (
            call.id in known or not call.questions
        ):  # the latter waits for a call before it, and is asked about in its turn
            continue
        if call.survey is not None:
            answer = await TerminalPerson().decide(call.question, call.survey)
        else:
            answer = await person.ask(call.name, call.args, call.questions, later=True)
        if answer.decision == "defer":
            later.add(call.id)
        else:
            decisions[call.id] = answer
    return decisions, frozenset(later)


def check_tools(agent: AgentRunner, calls: Iterable[SuspendedCall]) -> None:
    """Refuse to use up a decision on a call that could not run.

    Raises:
        UsageError: a call needs a tool that this agent does not have.
    """
    for call in calls:
        if agent.offered(call.name) is None:
            known = call.name in agent.host.tools
            hint = (
                f"allow it: --permit {call.name}, or tools.allow in the configuration"
                if known
                else "start with the plugins and skills of the run that made it"
            )
            raise UsageError(f"call {call.id!r} needs the tool {call.name!r}, which is not there", hint=hint)


def waiting_json(calls: Iterable[SuspendedCall]) -> list[dict[str, Any]]:
    """``[{"id", "tool", "args", "questions": [{"text", "plugin"}]}]``."""
    return [
        {
            "id": call.id,
            "tool": call.name,
            "args": call.args,
            "questions": [{"text": q.text, "plugin": q.plugin} for q in call.questions],
        }
        for call in calls
    ]


def show_waiting(calls: Sequence[SuspendedCall], session_id: str, going_on: str) -> None:
    """Print on stderr which calls wait, and how to decide about them."""
    what = "1 call waits" if len(calls) == 1 else f"{len(calls)} calls wait"
    head = style("Suspended:", fg="yellow", bold=True, stream=sys.stderr)
    echo(f"{head} {what} for a decision in session {session_id}", err=True)
    hidden = False
    for call in calls:
        hidden |= show_call(call.name, call.args, call.questions, call.id)
        if not call.questions:
            echo("  waits for the one before it", err=True)
    echo(f"Go on with: {going_on}", err=True)
    echo("(--deny denies; the id of a call instead of 'all' decides about that one)", err=True)
    if hidden:
        echo(f"(--json instead of --allow {ALL} shows all of it)", err=True)


@dataclass(frozen=True, slots=True)
class Again:
    """The options of this command line that the command which goes on needs as well."""

    program: str = "skillkit"
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, ctx: click.Context) -> Again:
        """What was typed, without what belongs to one run alone."""
        way = [ctx]
        while way[-1].parent is not None:
            way.append(way[-1].parent)
        top, below = way[-1], way[-2::-1]
        return cls(
            top.info_name or "skillkit",
            tuple(typed_options(top, NOT_REPEATED)),
            tuple(word for c in below for word in typed_options(c, NOT_REPEATED)),
        )

    def command(self, host: Host, session_id: str) -> str:
        """The command that allows what waits, as it is typed in a shell."""
        words = ("sessions", "resume") if "sessions" in host.commands else ("resume",)
        return shlex.join([self.program, *self.before, *words, session_id, "--allow", ALL, *self.after])
