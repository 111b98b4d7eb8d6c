"""What front ends at a terminal do alike: who answers, who is asked, which session is opened, and the words of approvals."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from skillkit_core.cli.output import warning
from skillkit_core.cli.sessions import latest_session
from skillkit_core.errors import UsageError
from skillkit_core.host.plugins import check_required
from skillkit_core.host.skills import TYPE, kept_folders, unused_folders
from skillkit_core.values import dataclass

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, AgentRunner, ApprovalRequest, AssistantMessage, Host
    from skillkit_core.agent.session import Session
    from skillkit_core.contracts.adapter import LLMAdapter
    from skillkit_core.contracts.approver import Question

__all__ = [
    "APPROVALS", "SCOPES", "TITLE", "Approvals", "Choices", "Remember", "always_question", "as_before", "choosing",
    "config_for", "configure", "get_ready", "going_on", "keep_folders", "keeps_sessions", "last_answer", "offer_what_asks",
    "prepare", "preview_of", "rememberable", "rules_kept", "say_missing", "session_for",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
APPROVALS = ("ask", "deny", "defer")
Approvals = Literal["ask", "deny", "defer"]
TITLE = 80
"""Characters of a request that name its session."""
_ASKS = ("bash", "web_fetch", "web_search")
_GUARD = "permissions"


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


# --- options ------------------------------------------------------------------------------------------------------

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
    click.option("--continue", "resume", is_flag=True, help="Go on with the latest session."),
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


def prepare(host: Host) -> None:
    """Check the configuration, and say which plugins did not load or register.

    What a run needs of them is asked for now, so that it shows.
    """
    host.check_config()
    host.load()
    for kind in ("adapters", "models", "runtimes", "tools", "skill_sources", "skill_loaders", "context_providers"):
        host.registry(kind)
    check_required(host)
    errors = [p for p in host.problems if p.severity == "error"]
    if errors:
        names = ", ".join(sorted({p.plugin for p in errors}))
        warning(f"{names} did not load; see 'skillkit plugins doctor'")


def offer_what_asks(host: Host) -> None:
    """Offer the opt-in tools about which a guard asks before each call: here a person answers."""
    guard = host.plugins.get(_GUARD)
    if guard is not None and "before_tool_call" in guard.hooks:
        host.configure({"tools.allow": [*host.config.get("tools.allow", ()), *_ASKS]})


# --- sessions -----------------------------------------------------------------------------------------------------


def keeps_sessions(host: Host, options: Choices) -> bool:
    """Return whether the session outlives this process."""
    return not options.no_session and bool(host.session_stores.list())


async def session_for(host: Host, options: Choices) -> str | None:
    """Return what to hand to the agent as its session."""
    if options.no_session:
        return None
    if options.session:
        return await host.session_store().find(options.session)
    if options.resume:
        found = await latest_session(host.session_store())
        if found is None:
            raise UsageError("there is no session to continue")
        return found
    return "new"


def last_answer(session: Session) -> AssistantMessage | None:
    """Return the last answer on the branch of a session."""
    from skillkit_core import AssistantMessage

    return next((m for m in reversed(session.messages) if isinstance(m, AssistantMessage)), None)


def as_before(host: Host, options: Choices, last: AssistantMessage | None) -> dict[str, Any]:
    """Return the fields of an agent's configuration that choose the model of the last answer, unless one was named."""
    if last is None or options.model or options.provider or options.base_url or last.provider not in host.adapters:
        return {}
    item = host.adapters.provider(last.provider)
    api = last.api if item is not None and last.api in item.apis else None
    return {"provider": last.provider, "model": last.model or None, "api": options.api or api}


def get_ready(adapter: LLMAdapter) -> None:
    """Let an adapter import in a thread what its first request needs, while the person types that request."""

    def work() -> None:
        with suppress(Exception):  # the request says what is wrong
            adapter.prepare()

    Thread(target=work, name="get ready").start()  # no daemon: Python crashes when it ends in the middle of an import


async def keep_folders(session: Session, folders: Iterable[Path]) -> None:
    """Write into the session which folders of skills it was given with ``--skills-dir``, unless it says so."""
    kept = kept_folders(session.entries)
    if new := [text for folder in folders if (text := str(folder.resolve())) not in kept]:
        await session.append("custom", {"custom_type": TYPE, "dirs": new})


def say_missing(host: Host, session: Session) -> None:
    """Say on stderr which of those folders are not used now, and what to do: their skills are silently not there."""
    for folder in unused_folders(host, session.entries):
        there = Path(folder).is_dir()
        hint = f"add --skills-dir {shlex.quote(folder)}" if there else "the folder is gone"
        warning(f"session {session.id} was given the skills in {folder}, which are not used now; {hint}")


# --- approvals ----------------------------------------------------------------------------------------------------

Remember = Literal["session", "project", "ever"]
SCOPES: Mapping[str, Remember] = {"session": "session", "project": "project", "everywhere": "ever"}
"""How long an answer holds, in the words that a person reads."""


def rememberable(questions: Sequence[Question]) -> bool:
    """Return whether an answer to these questions can hold for later calls."""
    return bool(questions) and all(question.key is not None for question in questions)


def rules_kept(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return the rules that guards would keep of an answer; none: it holds for the session at most."""
    return tuple(question.rule for question in questions if question.rule is not None)


def always_question(questions: Sequence[Question]) -> str:
    """Return the question where these rules are to hold."""
    return f"Always allow {' and '.join(rules_kept(questions))}, where?"


async def preview_of(agent: AgentRunner, request: ApprovalRequest) -> str | None:
    """Return what the tool itself says a call would do; ``None``: it says nothing. A failure of the tool is raised."""
    from skillkit_core.descriptors import load_object

    tool = agent.toolbox.get(request.tool_name)
    target = tool.annotations.get("preview") if tool is not None else None
    if target is None:
        return None
    text = await load_object(target)(agent, request.tool_name, request.args)
    return str(text) if text else None
