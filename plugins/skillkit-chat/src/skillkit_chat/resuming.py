"""What the command ``resume`` does: decide about calls that wait, and go on with them or with what a crash left."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from skillkit_frontend import (
    Defers,
    as_before,
    check_workspace,
    config_for,
    keep_folders,
    keeps_sessions,
    last_answer,
    say_missing,
)

from skillkit_core.cli.output import error_line, print_json
from skillkit_core.errors import UsageError

from .approval import TerminalApprover, approver_for
from .options import Options
from .surveys import TerminalPerson
from .waiting import Decided, ask_about, check_tools, show_waiting, waiting_json

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, Session, Suspension

__all__ = ["go_on"]

UNDECIDED = "nobody can be asked about the calls that wait"
DECIDE = "decide with --allow CALL, --deny CALL, --allow all or --deny all"


async def go_on(host: Host, options: Options, decided: Decided) -> int:
    """Go on with a session; gives the exit code."""
    try:
        finish = await _go_on(host, options, decided)
    finally:
        await host.aclose()  # before the last line is printed: nothing follows it
    return finish()


async def _go_on(host: Host, options: Options, decided: Decided) -> Callable[[], int]:
    """Decide, then run: the session is not opened for writing before everything is decided that can be now."""
    options = replace(options, session=await host.session_store().find(str(options.session)))
    approvals = options.who_answers("defer")
    approver = person = approver_for(approvals, kept=keeps_sessions(host, options))
    seen = await _look(host, str(options.session))
    say_missing(host, seen)
    waiting = seen.suspension()
    decisions = decided.about(waiting)
    if waiting is None:
        if decided:
            raise UsageError("no call waits for a decision", hint="leave --allow and --deny out to go on")
    else:
        if any(c.id not in decisions or decisions[c.id].decision == "allow" for c in waiting.calls):
            check_workspace(waiting.cwd, host.cwd)
        if approvals == "ask":
            decisions, later = await ask_about(waiting, decisions)
            approver = Defers(later, approver)
        if not decisions and approvals != "deny":
            return functools.partial(_undecided, host, options, waiting, asked=approvals == "ask")
    agent = _agent(host, options, seen, approver)
    if isinstance(person, TerminalApprover):
        person.answers_for(agent)
    return await _resume(agent, options, waiting, decisions)


async def _look(host: Host, session_id: str) -> Session:
    """The session as it stands, for reading.

    Raises:
        UsageError: there is nothing to go on with.
    """
    from skillkit_core import Session, resumption

    session = await Session.open(host.session_store(), session_id, time.time, read_only=True)
    await session.close()
    try:
        resumption(session.messages, session.suspension(), None)
    except UsageError:
        hint = f'say something: skillkit run --session {session_id} "..."'
        raise UsageError(f"session {session_id} waits for the user, there is nothing to resume", hint=hint) from None
    return session


def _undecided(host: Host, options: Options, waiting: Suspension, *, asked: bool) -> int:
    """Say what waits: wrong usage where nobody can be asked, and not done where a person put everything off."""
    session_id = str(options.session)
    going_on = options.again.command(host, session_id)
    problem = UsageError(UNDECIDED, hint=DECIDE)
    if options.as_json:
        about = {
            "outcome": "suspended",
            "waiting": waiting_json(waiting.calls),
            "session": session_id,
            "resume": going_on,
        }
        print_json({"ok": False, **about, "error": None if asked else problem.to_dict()})
    else:
        show_waiting(waiting.calls, session_id, going_on)
        if not asked:
            error_line(str(problem))
    return 1 if asked else 2


def _agent(host: Host, options: Options, seen: Session, approver: Approver | None) -> AgentRunner:
    """An agent that answers with the model of the session's last answer, unless another one was named."""
    from skillkit_frontend import DirectCall

    from skillkit_core import AgentRunner

    last = last_answer(seen)
    person = TerminalPerson() if options.who_answers("defer") == "ask" else None
    config: AgentConfig = replace(
        config_for(host, options), approver=approver, ui=person, **as_before(host, options, last)
    )
    agent = AgentRunner(config, host=host, session=options.session)
    named = options.model or options.provider or options.base_url
    if last is not None and not named and last.provider == DirectCall.provider and last.tool_calls:
        call = last.tool_calls[0]  # an action that a person typed: nobody is asked for an answer
        agent.set_adapter(DirectCall(call.name, call.args or {}))
    return agent


async def _resume(
    agent: AgentRunner, options: Options, waiting: Suspension | None, decisions: Mapping[str, ApprovalDecision]
) -> Callable[[], int]:
    from .talk import talk

    try:
        await agent.open()
        if agent.suspension != waiting:
            raise UsageError(f"session {options.session} went on meanwhile", hint="look at it again")
        if waiting is not None:
            check_tools(agent, [c for c in waiting.calls if c.id in decisions and decisions[c.id].decision == "allow"])
        await keep_folders(agent.session, options.skills_dirs)
        return await talk(agent, options, functools.partial(agent.resume, decisions))
    finally:
        await agent.aclose()
