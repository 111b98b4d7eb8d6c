"""The tool ``spawn_agent``: what a call means, and what the agent gets that it begins."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skillkit_core import AgentConfig, AgentRunner, Limits, ToolError, ToolOutput, UserInterface
from skillkit_core.errors import SkillKitError

from .ceiling import allowed, unknown
from .crew import Subagent, begun_by, crew_of
from .definitions import MODES, AgentFile, usable
from .offering import settings_of
from .state import HOOKS, POLICIES, POLICY, SANDBOXES, Settings

if TYPE_CHECKING:
    from skillkit_core import Answers, ApprovalDecision, Host, Survey
    from skillkit_core.contracts.user_interface import NoticeLevel
    from skillkit_core.tools import ToolContext

__all__ = ["SkillAgents", "spawn_agent"]

_ROLE = (
    "You work for another agent, which gave you the task. It reads only your last message, so put the whole answer there. "
    "Say plainly what you could not do."
)


async def spawn_agent(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Begin an agent, and return its answer, or its id when it works in the background.

    Raises:
        ToolError: the agent cannot begin.
    """
    agent = ctx.agent
    settings = settings_of(agent.host)
    outermost = crew_of(list(agent.ancestors())[-1])
    if outermost.count >= settings.total:
        raise ToolError(
            f"{outermost.count} agents were asked in this session, and no more may be", hint="do the work yourself"
        )
    outermost.count += 1  # before others of the same message are looked at
    try:
        below = ctx.below or begun_by(agent, ctx.idempotency_key)
        subagent = await _made(agent, _request(agent, args, settings), settings, below)
    except BaseException:
        outermost.count -= 1
        raise
    subagent.call = ctx.idempotency_key
    crew_of(agent).begin(agent, subagent, settings.parallel)
    task = subagent.task
    assert task is not None
    if subagent.background:
        text = f"The agent {subagent.id} works in the background. Its answer comes as a message; do not wait for it."
        return ToolOutput("\n\n".join([text, *(f"[{n}]" for n in subagent.notes)]), subagent.to_dict())
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        subagent.stop("the agent that asked was aborted")
        await asyncio.wait([task])
        raise
    if subagent.suspended is not None:
        waiting, subagent.suspended = subagent.suspended, None
        raise waiting
    return ToolOutput(subagent.report(), subagent.to_dict(), is_error=subagent.state in ("stopped", "failed"))


# --- what a call means --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Request:
    """What a call asks for, with what the agent's file says."""

    name: str
    task: str
    file: AgentFile | None
    model: str | None
    limits: Limits
    only_tools: frozenset[str]
    policy: Mapping[str, Any]
    sandboxes: tuple[str, ...]
    background: bool
    notes: tuple[str, ...]


def _request(agent: AgentRunner, args: Mapping[str, Any], settings: Settings) -> _Request:
    file = usable(agent.host)[args["agent"]] if args.get("agent") else None
    budget: Mapping[str, Any] = args.get("budget") or {}
    limits = Limits(turns=settings.turns, tokens=settings.tokens, cost=settings.cost)
    if file is not None and file.turns is not None:
        limits = limits.lowered(Limits(turns=file.turns))
    limits = limits.lowered(Limits(turns=budget.get("turns"), tokens=budget.get("tokens"), cost=budget.get("cost")))
    offered = [tool.name for tool in agent.tools]
    wanted, listed = args.get("tools"), file.tools if file is not None else None
    missing = unknown(offered, [*(wanted or ()), *(listed or ())])
    notes = (f"no such tool here: {', '.join(missing)}",) if missing else ()
    only = allowed(offered, (listed, wanted), file.denied if file is not None else ())
    background = args.get("background", file.background if file is not None else False)
    name = file.name if file is not None else "agent"
    given = dict(args.get("policy") or {})
    boxes = tuple(one for one in (file.sandbox if file is not None else None, given.pop("sandbox", None)) if one)
    policy = _policy(agent, given, file)
    return _Request(name, args["task"], file, args.get("model"), limits, only, policy, boxes, bool(background), notes)


def _policy(agent: AgentRunner, given: Mapping[str, Any], file: AgentFile | None) -> Mapping[str, Any]:
    """Return what the agent is forbidden besides what the asking agent is: a mode, and rules that ask or deny."""
    modes = [mode for mode in (file.mode if file is not None else None, given.get("mode")) if mode]
    policy = {**given, **({"mode": min(modes, key=MODES.index)} if modes else {})}
    if policy and "permission_rules" not in agent.host.kinds:
        raise ToolError(
            "nothing here holds an agent to a permission mode or to rules",
            hint="a person installs skillkit-permissions",
        )
    return policy


async def _made(agent: AgentRunner, request: _Request, settings: Settings, below: tuple[str, ...] = ()) -> Subagent:
    """Return an agent that is nested in the call, with its model chosen; ``below``: it goes on in this session."""
    file, mine = request.file, agent.config
    kept = agent.session.location is not None
    known = [name for name in (file.skills if file is not None else ()) if name in agent.host.skills]
    prompt = file.prompt if file is not None else mine.system_prompt
    config = AgentConfig(
        system_prompt=f"{prompt}\n\n{_ROLE}".strip(),
        settings=mine.settings,
        stream=mine.stream,
        retry=mine.retry,
        tools=agent.toolbox.own,
        only_tools=request.only_tools,
        limits=request.limits,
        parallel_tools=mine.parallel_tools,
        options={**mine.options, "agent_name": request.name},
        skills=tuple(known),
    )
    session = below[0] if below else "new" if kept else None
    runner = AgentRunner(
        config, host=agent.host, session=session, name=re.sub(r"[^A-Za-z0-9_-]", "-", request.name)[:64]
    )
    _restrict(runner, agent, request)
    identity = runner.events.agent_path[-1]
    if agent.ui is not None:
        runner.configure(ui=_AsksFor(identity, agent.ui))
    notes = request.notes
    if request.model is not None:
        await _choose(runner, agent, request.model, settings)
    elif file is not None and file.model is not None:
        wanted = settings.model_aliases.get(file.model, file.model)
        try:
            runner.configure(**_target(agent, wanted))
            await runner.find_target()
        except SkillKitError as error:
            runner.configure(model=None, provider=None, api=None, base_url=None, api_key=None)
            notes += (f"the model {file.model!r} of the agent cannot be used here, so yours answered: {error}",)
    about = (request.name, request.task, request.background, agent.session_id, notes)
    subagent = Subagent(runner, runner.events.agent_path, crew_of(runner), *about)
    subagent.resumed = bool(below)
    return subagent


class SkillAgents:
    """The agents of files for skills with ``context: fork`` and ``agent: NAME``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def names(self) -> Collection[str]:
        """Return the names of the agents that can be asked."""
        return usable(self._host).keys()

    async def become(self, below: AgentRunner, agent: AgentRunner, name: str) -> None:
        """Give ``below``, which works for ``agent``, what the file of an agent says; what a skill says of model and limits stays.

        Raises:
            ToolError: nothing here holds the agent to what its file restricts.
        """
        request = _request(agent, {"task": "", "agent": name}, settings_of(agent.host))
        file, given = request.file, below.config
        assert file is not None
        only = request.only_tools if given.only_tools is None else request.only_tools & given.only_tools
        limits = request.limits.lowered(given.limits) if given.limits is not None else request.limits
        skills = tuple(one for one in file.skills if one in agent.host.skills)
        below.configure(system_prompt=f"{file.prompt}\n\n{_ROLE}", only_tools=only, limits=limits, skills=skills)
        _restrict(below, agent, request)
        if file.model is not None and given.model is None and agent.config.model is None:
            wanted = settings_of(agent.host).model_aliases.get(file.model, file.model)
            if agent.host.models.has(wanted):
                below.configure(model=wanted)


def _restrict(runner: AgentRunner, agent: AgentRunner, request: _Request) -> None:
    """Hold a new agent to the policy, the hooks and the sandboxes of a request.

    Raises:
        ToolError: hooks guard its calls, and nothing here runs hooks.
    """
    if request.file is not None and request.file.hooks:
        if "PreToolUse" in request.file.hooks and "shell_hooks" not in agent.host.kinds:
            raise ToolError(
                "nothing here runs the hooks that guard the agent", hint="a person installs skillkit-shell-hooks"
            )
        HOOKS[runner] = str(request.file.path or ""), request.file.hooks
    if request.policy:
        POLICIES[runner] = request.policy
        runner.events.arm(POLICY)
    if request.sandboxes:
        SANDBOXES[runner] = request.sandboxes
        runner.configure(only_tools=frozenset(runner.config.only_tools or ()) & _held(runner, agent))


def _held(runner: AgentRunner, agent: AgentRunner) -> frozenset[str]:
    """Return which tools of the asking agent the sandbox of the new one holds, or can do without.

    A tool that runs in this process is in no sandbox, so it must change nothing and reach no address.

    Raises:
        ToolError: no sandbox holds the agent.
    """
    parent = runner.nesting.parent
    holds = getattr(parent.run.executor if parent is not None else None, "holds", None)
    try:
        if holds is None or holds(runner) is None:
            raise ToolError(
                "nothing here holds an agent to a sandbox policy",
                hint="a person installs skillkit-sandbox and skillkit-executor, and sets tools.executor: stdio",
            )
        return frozenset(
            tool.name
            for tool in agent.tools
            if holds(runner, tool) or (tool.annotations.get("mutates") == "none" and "host" not in tool.annotations)
        )
    except SkillKitError as error:
        raise ToolError(f"the agent cannot be held in its sandbox: {error}") from error


async def _choose(runner: AgentRunner, agent: AgentRunner, name: str, settings: Settings) -> None:
    """Choose the model that a call names; raise :class:`ToolError` for one that may not or cannot be used."""
    wanted = settings.model_aliases.get(name, name)
    if settings.models is not None and not {name, wanted} & set(settings.models):
        raise ToolError(f"the model {name!r} may not be chosen", hint=f"one of {', '.join(settings.models) or 'none'}")
    try:
        runner.configure(**_target(agent, wanted))
        await runner.find_target()
    except SkillKitError as error:
        raise ToolError(f"the model {name!r} cannot be used: {error}", hint="leave model out") from error


def _target(agent: AgentRunner, model: str) -> dict[str, Any]:
    """Return the fields that choose a model; one that is not known is asked where the asking agent's is."""
    if agent.host.models.has(model) and agent.config.base_url is None:
        return {"model": model}
    given, get = agent.config, agent.host.config.get
    own = given.provider is not None or given.base_url is not None
    names = ("provider", "api", "base_url")
    where = {name: getattr(given, name) if own else get(name) for name in names}
    return {"model": model, **where, "api_key": given.api_key}


class _AsksFor(UserInterface):
    """Asks whoever answers for the agent above, and says which agent asks."""

    def __init__(self, who: str, ui: UserInterface) -> None:
        self._who, self._ui = who, ui

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask, with the agent in the title."""
        return await self._ui.ask(self._titled(survey))

    async def decide(self, question: str, survey: Survey) -> ApprovalDecision:
        """Ask the survey of a tool call, with the agent in the title."""
        return await self._ui.decide(question, self._titled(survey))

    def _titled(self, survey: Survey) -> Survey:
        return replace(survey, title=f"{self._who} asks: {survey.title}")

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Show a text, with the agent before it."""
        await self._ui.notify(f"{self._who}: {text}", level)
