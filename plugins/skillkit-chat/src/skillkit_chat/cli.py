"""``skillkit run``: a request to a model or to the offline stand-in, or one action of a skill without either."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, error_line, print_json, shorten, style
from skillkit_core.errors import ConfigError, UnknownName, UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, AgentResponse, AgentRunner, Host, SkillAction

__all__ = ["run"]

INTERRUPTED = 130
TITLE = 80  # characters of a request that name its session


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line."""

    words: tuple[str, ...]
    model: str | None
    provider: str | None
    api: str | None
    base_url: str | None
    skill: str | None
    session: str | None
    resume: bool
    no_session: bool
    verbose: bool
    as_json: bool
    events: bool
    allow: tuple[str, ...]
    max_turns: int | None
    no_stream: bool


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REQUEST | ACTION [--ARG VALUE]...")
@click.option("--model", "-m", metavar="NAME", help="Model that answers.")
@click.option("--provider", metavar="NAME", help="Provider that is asked.")
@click.option("--api", metavar="NAME", help="Wire protocol, where the provider speaks several.")
@click.option("--base-url", metavar="URL", help="Endpoint to use instead of the provider's own.")
@click.option("--skill", metavar="NAME", help="Use this skill; with an action's name after it, run that action.")
@click.option(
    "--skills-dir",
    "skills_dirs",
    multiple=True,
    metavar="DIR",
    help="Also read skills from this folder.",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--session", metavar="ID", help="Go on with this session.")
@click.option("--continue", "resume", is_flag=True, help="Go on with the latest session.")
@click.option("--no-session", is_flag=True, help="Keep nothing on the disk.")
@click.option("--allow-bash", is_flag=True, help="Let the model run shell commands.")
@click.option("--allow-tool", "allow", multiple=True, metavar="NAME", help="Let the model use this opt-in tool.")
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="End after N rounds with the model.")
@click.option("--no-stream", is_flag=True, help="Ask the provider for whole answers.")
@click.option("-v", "--verbose", is_flag=True, help="Show tools, tokens and cost on stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--events", is_flag=True, help="With --json: print every event as a JSON line first.")
@click.pass_context
def run(ctx: click.Context, /, skills_dirs: tuple[Path, ...], allow_bash: bool, **given: Any) -> None:
    """Run a request and print the answer.

    \b
    skillkit run "what is 15% of 80"
    skillkit run --skill csv-stats summary sales.csv --column price
    skillkit run --model claude-sonnet-4-5 "summarise README.md"

    Without a key the offline stand-in chooses a skill by the words of the request. '-' reads the request from stdin.
    """
    given["allow"] = (*given["allow"], *(("bash",) if allow_bash else ()))
    options = Options(**given)
    if options.events and not options.as_json:
        raise UsageError("--events goes with --json")
    if options.session is not None and not options.session.strip():
        raise UsageError("--session is empty", hint="name one of 'skillkit sessions list', or leave it out")
    if options.session and options.resume:
        raise UsageError("--session and --continue exclude each other")
    host: Host = ctx.obj.host
    if skills_dirs:
        host.configure({"skills.dirs": [str(d.resolve()) for d in skills_dirs]})
    host.check_config()
    _warn_about_plugins(host)
    ctx.exit(asyncio.run(_main(host, options)))


def _warn_about_plugins(host: Host) -> None:
    """Say which plugins did not load or register; what a run needs of them is asked for now, so that it shows."""
    host.load()
    for kind in ("adapters", "models", "runtimes", "tools", "skill_sources", "skill_loaders", "context_providers"):
        host.registry(kind)
    errors = [p for p in host.problems if p.severity == "error"]
    missing = sorted({p.plugin for p in errors} & set(host.config.get("plugins.required", ())))
    if missing:
        problem = next(p for p in errors if p.plugin == missing[0])
        raise ConfigError(f"required plugin {problem}", where=host.config.origin("plugins.required"))
    if errors:
        names = ", ".join(sorted({p.plugin for p in errors}))
        text = f"Warning: {names} did not load; see 'skillkit plugins doctor'"
        echo(style(text, fg="yellow", stream=sys.stderr), err=True)


def _request_text(options: Options) -> str:
    text = " ".join(options.words).strip()
    if text == "-":
        text = sys.stdin.read().strip()
    if not text:
        raise UsageError("there is no request", hint='write it in quotes: skillkit run "..."')
    unknown = next((w for w in options.words if w.startswith("--") and " " not in w), None)
    if unknown is not None:
        raise UsageError(f"no such option {unknown}", hint="see 'skillkit run --help'; a request goes in quotes")
    return text


def _action(host: Host, options: Options) -> SkillAction | None:
    """The action that the words name, if ``--skill`` was given and they do."""
    if options.skill is None:
        return None
    if options.skill not in host.skills:
        raise host.skills.unknown(options.skill)
    skill = host.skills.get(options.skill)
    first = options.words[0] if options.words else None
    names = [a.name for a in skill.actions if a.user_callable]
    if first is None:
        listed = ", ".join(names) or "none"
        raise UsageError(f"skill {skill.name!r} needs an action or a request", hint=f"its actions: {listed}")
    if " " in first.strip():
        return None  # a request in quotes
    action = skill.action(first)
    if action is None or not action.user_callable:
        raise UnknownName(f"action of skill {skill.name!r}", first, names)
    return action


def _config(host: Host, options: Options, skills: tuple[str, ...]) -> AgentConfig:
    from skillkit_core import AgentConfig, Limits

    found = host.config.get("limits")
    limits = Limits(found.turns, found.requests, found.tool_calls, found.tokens, found.cost, found.depth)
    if options.max_turns is not None:
        limits = replace(limits, turns=options.max_turns)
    for name in options.allow:
        item = host.tools.get(name) if name in host.tools else None
        if item is None:
            raise UnknownName("tool", name, host.tools.list(), hint="is the plugin that brings it installed?")
    return AgentConfig(
        model=options.model,
        provider=options.provider,
        api=options.api,
        base_url=options.base_url,
        stream=not options.no_stream,
        allow_tools=frozenset(options.allow),
        limits=limits,
        skills=skills,
        options={"user_actions": True} if skills else {},
    )


async def _session(host: Host, options: Options) -> str | None:
    """What to hand to the agent as its session."""
    if options.no_session:
        return None
    if options.session:
        return options.session
    if options.resume:
        rows = [r for r in await host.session_store().list(limit=20) if not r.get("error")]
        if not rows:
            raise UsageError("there is no session to continue")
        return str(rows[0]["id"])
    return "new"


async def _main(host: Host, options: Options) -> int:
    from skillkit_core import AgentRunner

    from .approval import TerminalApprover
    from .arguments import parse_action_args
    from .direct import DirectCall, TypedByAPerson

    action = _action(host, options)
    skills = (options.skill,) if options.skill is not None else ()
    typed = TypedByAPerson() if action is not None else None
    asks = TerminalApprover() if TerminalApprover.possible() and not options.as_json else None
    config = replace(_config(host, options, skills), approver=typed or asks)
    values = parse_action_args(str(options.skill), action, options.words[1:]) if action is not None else None
    request = _request_text(options) if action is None else " ".join(["/" + str(options.skill), *options.words])
    session = await _session(host, options)
    agent = AgentRunner(config, host=host, session=session)
    try:
        opened = await agent.open()
        if session == "new":
            await opened.append("session_info", {"title": shorten(request, TITLE)})
        if action is not None:
            skill = host.skills.get(str(options.skill))
            name = _tool_of(agent, skill.name, action.name)
            if typed is not None:
                typed.tool_name = name
            agent.set_adapter(DirectCall(name, values or {}))
        finish = await _talk(agent, options, request)
    finally:
        await agent.aclose()  # before the last line is printed: nothing follows it
        await host.aclose()
    return finish()


def _tool_of(agent: AgentRunner, skill: str, action: str) -> str:
    for tool in agent.toolbox.tools():
        if tool.annotations.get("skill") == skill and tool.annotations.get("action") == action:
            return tool.name
    raise UsageError(
        f"action {action!r} of skill {skill!r} cannot run here", hint=f"'skillkit skills show {skill}' says why"
    )


async def _talk(agent: AgentRunner, options: Options, request: str) -> Callable[[], int]:
    """Run the request and show it as it goes; gives what prints the rest and says the exit code."""
    from skillkit_core import AgentError, event_to_dict

    from .display import Display
    from .report import Report

    report = Report(agent)
    display = Display(agent, verbose=options.verbose and not options.as_json, quiet=options.as_json)
    if options.events:
        agent.events.observe(lambda event: _line(event_to_dict(event)))
    caught = _abort_on_signals(agent)
    display.start()
    response: AgentResponse | None = None
    failure: AgentError | None = None
    try:
        response = await agent.chat(request)
    except AgentError as error:
        failure, response = error, error.response
    finally:
        await display.stop()
    code = INTERRUPTED if caught else _exit_code(response, failure)
    result = report.to_dict(response, failure, code == 0)

    def finish() -> int:
        if options.events:
            _line({"type": "result", **result})
        elif options.as_json:
            print_json(result)
        else:
            display.end_of_text()
            _print_answer(display, response, failure, code)
            _say_offline(report)
        return code

    return finish


def _line(value: Any) -> None:
    """One JSON line; once nobody reads any more, nothing more is written."""
    try:
        sys.stdout.write(json.dumps(value, ensure_ascii=True, default=str) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(response: AgentResponse | None, failure: Any) -> int:
    from skillkit_core import StopReason

    if failure is not None:
        cause = failure.__cause__
        return 2 if isinstance(cause, UsageError) else 1
    if response is None or response.outcome != "completed" or response.stop_reason is StopReason.refusal:
        return 1
    return 0


def _print_answer(display: Any, response: AgentResponse | None, failure: Any, code: int) -> None:
    answer = response.content if response is not None else ""
    already = bool(display.printed)
    if answer and not already:
        echo(answer, err=code == 1 and failure is None)
    if failure is not None:
        error_line(str(failure))
    elif response is not None and response.outcome == "limit":
        error_line(f"{response.reason}; raise it in the configuration (limits) or with --max-turns")


def _say_offline(report: Any) -> None:
    if report.provider == "offline" and sys.stderr.isatty():
        echo(
            style("offline: no model was asked; set a key or --provider to use one", dim=True, stream=sys.stderr),
            err=True,
        )


def _abort_on_signals(agent: AgentRunner) -> list[int]:
    """The first SIGINT, SIGTERM or SIGHUP ends the run and keeps what was said; the list says which came.

    A second one does not wait for the loop, which a handler or an expression may hold up: it interrupts what runs, and a
    third ends the process on the spot. So these are plain signal handlers, not the loop's.
    """
    caught: list[int] = []
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: Any) -> None:
        caught.append(number)
        if len(caught) == 1:
            loop.call_soon_threadsafe(agent.abort, f"interrupted by {signal.Signals(number).name}")
        elif len(caught) == 2:
            raise KeyboardInterrupt
        else:
            os._exit(INTERRUPTED)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, stop)
    return caught
