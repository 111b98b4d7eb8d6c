"""A routed run: the engine of the chosen skill in the place of the model, another skill where one rejects the request."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol

from skillkit_core.errors import AgentError, LimitReached, SkillKitError, in_words
from skillkit_core.events.results import Unset

from .events import BeforeTaskEvent, BeforeTaskResult, TaskEndEvent, TaskStartEvent
from .gate import gated_now
from .guarding import guard_task
from .notes import ROUTE, input_entry, note_of
from .registries import engine_of
from .rounds import Notebook, converse
from .settings import settings_of
from .types import CHAT, Engine, Route, RouteRequest, Task, TaskResult
from .waiting import plain_tools
from .work import context_part, messages_of, task_tools, tool_names

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, DrivenRun
    from skillkit_core.skills import Skill

    from .events import RouteSelectedEvent

__all__ = ["TASK", "RoutedRun", "do_task"]

TASK = "engines.task"  # type of the note
CHAT_ROUNDS = 50
MOST_HANDED_ON = 3  # skills one after the other


class Routes(Protocol):
    """Who routes the inputs of an agent, as far as a routed run needs it (:class:`~skillkit_engines.dispatch.Dispatcher`)."""

    engine: str
    planned: bool

    @property
    def agent(self) -> AgentRunner:
        """The agent."""

    def take(self, route: Route) -> None:
        """Make a route that of the run."""

    def skill(self, route: Route) -> Skill | None:
        """Return the skill of a route."""

    async def chosen(self, request: RouteRequest, without: Sequence[str] = ()) -> Route:
        """Return the route of a request, without the skills that have rejected it."""

    def event_of(self, route: Route, query: str) -> RouteSelectedEvent:
        """Return the event that tells of a route."""


class RoutedRun:
    """The driver of a routed run."""

    def __init__(
        self, dispatcher: Routes, request: RouteRequest, route: Route, entry: str | None, run_id: str, rules: str
    ) -> None:
        self._dispatcher = dispatcher
        self._request = request
        self._route = route
        self._entry = entry
        self._run_id = run_id
        self._rules = rules
        self._waiting: Route | None = None  # a route whose input is not in the session yet
        dispatcher.take(route)

    async def selected(self, route: Route) -> None:
        """Write the note of a new route and tell of it; where the input is not in the session yet, later."""
        dispatcher = self._dispatcher
        self._route = route
        dispatcher.take(route)
        if self._entry is None:
            self._waiting = route
            return
        self._waiting = None
        agent = dispatcher.agent
        await agent.session.note(ROUTE, note_of(route, dispatcher.engine, self._request, self._entry), sync=True)
        await agent.events.emit(dispatcher.event_of(route, self._request.query))

    async def drive(self, run: DrivenRun) -> None:
        """Let the engine work; say what it answers."""
        if self._waiting is not None:
            self._entry = input_entry(run.agent, run.query) or ""
            await self.selected(self._waiting)
        if self._dispatcher.planned and await self._carried_out(run):
            return
        while (skill := self._dispatcher.skill(self._route)) is not None and self._dispatcher.engine:
            result = await self._attempt(run, skill)
            if result.status != "rejected":
                await _tell(run, skill, result)
                return
            await self.selected(await self._other(skill, result))
        await self._chat(run)

    async def _carried_out(self, run: DrivenRun) -> bool:
        """Return whether a plugin has done all the steps of the route; a plan that cannot be is left to the skill."""
        for impl in run.agent.host.impls("drive_plan"):
            given = {"route": self._route, "request": self._request, "run": run}
            if await impl.function(*(given[name] for name in impl.argnames)):
                return True
        return False

    async def _attempt(self, run: DrivenRun, skill: Skill) -> TaskResult:
        engine = engine_of(run.agent.host, skill)
        assert engine is not None
        number = len(self._route.replaced)
        task = Task(
            id=f"{self._entry}.{number}" if number else f"{self._entry}",
            agent=run.agent,
            skill=skill,
            query=self._request.query,
            editor=self._request.editor,
            rules=self._rules,
        )
        return await do_task(engine, task, run, about={"run": self._run_id, "input": self._entry})

    async def _other(self, skill: Skill, result: TaskResult) -> Route:
        """Return the route to another skill than those that have rejected the request."""
        without = (*self._route.replaced, skill.name)
        if (route := self._handed_on(skill, result, without)) is not None:
            return route
        if len(without) > settings_of(self._dispatcher.agent.host).retries:
            reason = f"{skill.name} rejected it: {result.reason.partition(': ')[2] or 'no reason given'}"
            return replace(
                self._route, skill=CHAT, confidence=0.0, by="engines", why="rejected", reason=reason, replaced=without,
                calls=0, cost=None,
            )  # fmt: skip
        return await self._dispatcher.chosen(self._request, without)

    def _handed_on(self, skill: Skill, result: TaskResult, without: Sequence[str]) -> Route | None:
        """Return the route to the skill that an engine hands the request on to (``data["handoff"]``), if that may take it."""
        name = result.data.get("handoff")
        if not name or len(without) > MOST_HANDED_ON:
            return None
        gated = gated_now(self._dispatcher.agent, self._request, without)
        if all(one.name != name for one in gated.eligible):
            return None
        reason = result.reason.partition(": ")[2]
        return Route(
            str(name), reason=reason, by=skill.name, why="handoff", dropped=gated.dropped, replaced=tuple(without)
        )

    async def _chat(self, run: DrivenRun) -> None:
        """Answer as the agent itself would, after every skill has rejected the request."""
        agent = run.agent
        empty = Task(id="", agent=agent, skill=_nobody(), query=run.query)
        answered = await converse(
            run,
            Notebook(run, f"{self._entry}.chat"),
            messages_of(empty, run),
            system=agent.system_prompt(),
            tools={tool.name: tool for tool in plain_tools(agent)},
            purpose="engines.chat",
            max_rounds=CHAT_ROUNDS,
        )
        await run.say(answered.text)


def _nobody() -> Skill:
    from skillkit_core.skills import Skill

    return Skill(name=CHAT)


async def _tell(run: DrivenRun, skill: Skill, result: TaskResult) -> None:
    """Say the text of a result; fail the run of a task that failed for another reason than that a person said no."""
    if result.text.strip():
        await run.say(result.text)
    refused = result.reason.startswith("denied")
    if result.status == "failed" and not (refused and result.text.strip()):
        raise AgentError(f"the skill {skill.name} could not do it: {result.reason or 'no reason was given'}")
    if result.status == "partial" and run.agent.ui is not None:
        await run.agent.ui.notify(f"{skill.name}: {result.reason or 'not all of it was done'}", "warning")


async def do_task(
    engine: Engine, task: Task, run: DrivenRun | None, *, about: dict[str, Any] | None = None
) -> TaskResult:
    """Do a task: ask the handlers of ``before_task``, let the engine work, and note and tell what became of it.

    An engine that raises makes a failed task. Limits, aborts and suspensions pass.
    """
    agent, skill = task.agent, task.skill
    events, session = agent.events, agent.session
    noted = {**(about or {}), "id": task.id, "skill": skill.name, "engine": engine.name}
    answer = await events.emit(
        events.make(
            BeforeTaskEvent, task=task.id, skill=skill.name, engine=engine.name, query=task.query,
            tools=tool_names(task), context=task.context,
        )
    )  # fmt: skip
    if isinstance(answer, BeforeTaskResult):
        if answer.block is True:
            reason = answer.reason if isinstance(answer.reason, str) else "a plugin blocked it"
            result = TaskResult("rejected", reason=f"blocked: {reason}")
            await session.note(TASK, {**noted, "status": "rejected", "reason": result.reason}, sync=True)
            return result
        task = _narrowed(task, answer)
    agent.state("engines")["nodes"] = {}
    await session.note(TASK, {**noted, "status": "running"}, sync=True)
    names = tuple(task_tools(engine, task))
    await events.emit(
        events.make(TaskStartEvent, task=task.id, skill=skill.name, engine=engine.name, query=task.query, tools=names)
    )
    task = replace(task, run=run)
    with nullcontext() if run is None else guard_task(task):
        result = await _run(engine, task, run)
    nodes = agent.state("engines").pop("nodes", {})
    told = {"status": result.status, "reason": result.reason, "denied": list(result.denied), "session": result.session}
    await session.note(TASK, {**noted, **told, "nodes": nodes, "usage": asdict(result.usage)}, sync=True)
    ended = {"status": result.status, "reason": result.reason, "denied": result.denied}
    await events.emit(events.make(TaskEndEvent, task=task.id, skill=skill.name, engine=engine.name, **ended))
    return result


async def _run(engine: Engine, task: Task, run: DrivenRun | None) -> TaskResult:
    try:
        return await engine.run(task, run)
    except LimitReached:
        raise
    except SkillKitError:
        raise  # a provider that does not answer, an abort, a suspension: the run's own ends
    except Exception as error:  # noqa: BLE001 - code of a plugin
        return TaskResult("failed", reason=f"error: the engine {engine.name} failed: {in_words(error)}")


def _narrowed(task: Task, answer: BeforeTaskResult) -> Task:
    tools, context = task.tools, task.context
    if not isinstance(answer.tools, Unset):
        given = frozenset(answer.tools)
        tools = given if tools is None else tools & given
    if isinstance(answer.context, str) and answer.context.strip():
        context = "\n\n".join(filter(None, (context, context_part("before_task", answer.context))))
    return replace(task, tools=tools, context=context)
