"""What ``skillkit run`` does: a request to a model or to the offline stand-in, or one action of a skill without either."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from skillkit_frontend import (
    TITLE,
    config_for,
    keep_folders,
    keeps_sessions,
    say_missing,
    session_for,
)

from skillkit_core.cli.output import shorten, warning
from skillkit_core.errors import UsageError

from .approval import TerminalApprover, approver_for, confirm
from .options import Options
from .surveys import TerminalPerson
from .waiting import show_waiting

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface

__all__ = ["ask", "request_text"]

MAX_REQUEST = 1_000_000  # characters that are read of stdin


async def ask(host: Host, options: Options) -> int:
    """Run what the command line asks for; gives the exit code."""
    from skillkit_core import AgentRunner

    from .talk import talk

    action = None
    if options.skill is not None:
        from skillkit_frontend import action_named

        action = action_named(host, options.skill, options.words)
    if options.explain:
        if action is not None:
            raise UsageError("--explain is about requests", hint="an action that is named is run")
        from .explaining import explain

        return await explain(host, options, request_text(options))
    typed, values = None, {}
    person: UserInterface | None = None
    if action is not None:
        from skillkit_frontend import DirectCall, TypedByAPerson, parse_action_args, tool_of_action

        from .direct import SecretsOfAPerson

        typed = TypedByAPerson() if options.approvals is None else None
        person = SecretsOfAPerson() if TerminalApprover.possible() else None
        values = parse_action_args(str(options.skill), action, options.words[1:])
    approver = typed or approver_for(options.who_answers("deny"), kept=keeps_sessions(host, options))
    if person is None and isinstance(approver, TerminalApprover):
        person = TerminalPerson()
    config = replace(config_for(host, options), approver=approver, ui=person)
    if options.plan is not None:
        config = replace(config, options={"plan": options.plan})
    request = request_text(options) if action is None else " ".join(["/" + str(options.skill), *options.words])
    session = await session_for(host, options, asks=not options.as_json)
    agent = AgentRunner(config, host=host, session=session)
    if isinstance(approver, TerminalApprover):
        approver.answers_for(agent)
    try:
        opened = await agent.open()
        say_missing(host, opened)
        if not await _may_deny_what_waits(agent, options):
            return 1
        if session == "new":
            await opened.append("session_info", {"title": shorten(host.redact(request), TITLE)})
        await keep_folders(opened, options.skills_dirs)
        if action is not None:
            skill = host.skills.get(str(options.skill))
            name = tool_of_action(agent, skill.name, action.name)
            if typed is not None:
                typed.tool_name = name
            agent.set_adapter(DirectCall(name, values))
        finish = await talk(agent, options, functools.partial(agent.chat, request))
    finally:
        await agent.aclose()  # before the last line is printed: nothing follows it
        await host.aclose()
    return finish()


def request_text(options: Options) -> str:
    """Return the request that was typed, or that stdin holds."""
    text = " ".join(options.words).strip()
    if text == "-":
        text = sys.stdin.read(MAX_REQUEST + 1)
        if len(text) > MAX_REQUEST:
            hint = "put it into a file, and name the file in the request"
            raise UsageError(f"the request on stdin is longer than {MAX_REQUEST:,} characters", hint=hint)
        text = text.strip()
    if not text:
        raise UsageError("there is no request", hint='write it in quotes: skillkit run "..."')
    unknown = next((w for w in options.words if w.startswith("--") and " " not in w), None)
    if unknown is not None:
        called = click.get_current_context().command_path
        raise UsageError(f"no such option {unknown}", hint=f"see '{called} --help'; a request goes in quotes")
    return text


async def _may_deny_what_waits(agent: AgentRunner, options: Options) -> bool:
    """Say that another request denies the calls that wait (spec, section 7); a person at a terminal may think again."""
    waiting = agent.suspension
    if waiting is None or options.as_json:  # the object has it in ``denied``
        return True
    if TerminalApprover.possible():
        session = agent.session.id
        show_waiting(waiting.calls, session, options.again.command(agent.host, session))
        return await confirm("Another request denies what waits. Deny it and ask?")
    calls = ", ".join(f"{call.name} ({call.id})" for call in waiting.calls)
    warning(f"this request denies what waited for a decision: {calls}")
    return True
