"""What the checks of engines share: a skill, its tools, a model that works by plan, and what became of a turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from skillkit_core import AgentError, AgentRunner, ApprovalDecision, Approver, Tool, hookimpl
from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import AssistantMessage
from skillkit_core.testing import ScriptedModel

from ..engines import Stage

__all__ = ["SKILL", "EngineCase", "Person", "Plan", "Turn", "Work"]

SKILL = "probe"
PACK, ELSEWHERE = "probe-pack", "elsewhere"
RULES = "The rules of this project hold in every skill."
TASK, ROUTE = "engines.task", "engines.route"
SECONDS = 30  # after which a turn that does not end is a fault
WHERE = {"type": "object", "properties": {"place": {"type": "string"}}}


class Person(Approver):
    """Decides by word, and keeps what was asked."""

    def __init__(self, word: str = "allow") -> None:
        self.word = word
        self.asked: list[str] = []

    async def approve(self, request: Any) -> ApprovalDecision:
        """Return the decision."""
        self.asked.append(str(request.call.name if hasattr(request, "call") else request))
        return ApprovalDecision(self.word, "a person said no" if self.word == "deny" else "")  # type: ignore[arg-type]


class Work:
    """The tools of the agent; each call is kept.

    ``look``, ``send`` (which changes the world) and ``fail`` (which raises) are the skill's, ``packed`` is of its pack,
    ``stranger`` is neither's.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        told = {"look": "none", "send": "world", "packed": "none", "stranger": "none", "fail": "none"}
        self.tools = tuple(
            Tool(name, f"The tool {name}.", self._do, WHERE, annotations={"mutates": mutates})
            for name, mutates in told.items()
        )

    async def _do(self, args: Any, ctx: Any) -> str:
        self.calls.append(ctx.tool_name)
        if ctx.tool_name == "fail":
            raise ValueError("there is no such place")
        return f"{ctx.tool_name} of {args.get('place', 'nothing')}"


class Elsewhere:
    """An engine to which a request may go on; it asks nobody."""

    name = ELSEWHERE
    fields: frozenset[str] = frozenset()

    def problems(self, skill: Any, host: Any) -> Sequence[Any]:
        """Return nothing."""
        return ()

    def tools(self, task: Any) -> Sequence[str]:
        """Return none."""
        return ()

    def prompt(self, task: Any) -> str:
        """Return nothing."""
        return ""

    async def run(self, task: Any, run: Any) -> Any:
        """Answer."""
        from skillkit_engines import TaskResult

        return TaskResult("completed", text="It was done elsewhere.")


class Brings:
    """A pack, another engine, and rules of the project in the part ``instructions`` of the system prompt."""

    @hookimpl(optionalhook=True)
    def register_engines(self, register: Callable[..., None]) -> None:
        """Offer the other engine."""
        from skillkit_core.descriptors import Factory

        register(Factory(ELSEWHERE, lambda host: Elsewhere()))

    @hookimpl(optionalhook=True)
    def register_packs(self, register: Callable[..., None]) -> None:
        """Offer the pack."""
        from skillkit_engines import ToolPack

        register(ToolPack(PACK, "A pack.", ("packed",)))

    @hookimpl
    def register_context_providers(self, register: Callable[..., None]) -> None:
        """Offer the rules."""
        from skillkit_core.descriptors import ContextProvider

        register(ContextProvider("instructions", lambda agent: RULES))


class Plan:
    """A model: it answers with the planned replies while tools are offered, then as the suite's ``reply`` says."""

    def __init__(self, case: EngineCase, planned: Sequence[Any], *, always: bool = False) -> None:
        self._case, self._planned, self._always = case, deque(planned), always
        self.adapter = ScriptedModel([self._answer], repeat=True)

    @property
    def requests(self) -> list[LLMRequest]:
        """The requests that came."""
        return self.adapter.requests

    def _answer(self, request: LLMRequest) -> Any:
        if self._planned and (self._always or request.tools):
            return self._planned.popleft()
        return self._case.reply(request)


class Turn(NamedTuple):
    """What became of a turn.

    Attributes:
        outcome: how the run ended; ``error``: it failed, and ``text`` is why.
        text: the answer.
        tasks: the notes of its tasks.
        routes: the skills of its routes.
        said: the texts that were said, in order.
        nodes: (name, state) of each node of a task.
    """

    outcome: str
    text: str
    tasks: Sequence[Mapping[str, Any]]
    routes: Sequence[str]
    said: Sequence[str]
    nodes: Sequence[tuple[str, str]]

    @property
    def task(self) -> Mapping[str, Any]:
        """The last note of a task of the skill ``probe``."""
        found = [note for note in self.tasks if note["skill"] == SKILL]
        assert found, f"no task was noted; the run ended {self.outcome}: {self.text}"
        return found[-1]


class EngineCase:
    """What a suite of an engine is told, and how it plays a turn."""

    fields: ClassVar[Mapping[str, Any]] = {}
    options: ClassVar[Mapping[str, Any]] = {}
    rejects: ClassVar[str | None] = '{"rejected": true, "reason": "it is not mine"}'
    calls: ClassVar[bool] = True

    def reply(self, request: LLMRequest) -> Any:
        """Return what a model answers that calls no tool. Override it where the engine asks for a form."""
        return "This is the answer."

    @pytest.fixture
    def engine(self, engine_stage: Stage, engine_name: str) -> Any:
        """The engine, as a host has it."""
        return engine_stage.host().registry("engines").get(engine_name)

    @pytest.fixture
    def make_probe(self, engine_stage: Stage, engine_skill: Callable[..., Path]) -> Callable[..., Any]:
        """Makes an agent with the skill ``probe``, a model by plan, and tools.

        ``agent, plan, work = make_probe(Reply(calls=[...]))``; ``about``: more fields of the skill; ``always``: the plan is
        played although no tool is offered.
        """

        def make(
            *planned: Any, about: Mapping[str, Any] | None = None, always: bool = False, **config: Any
        ) -> tuple[AgentRunner, Plan, Work]:
            work, plan = Work(), Plan(self, planned, always=always)
            given = {"tools": ["look", "send", "fail"], "tool_packs": [PACK], "system_prompt": "You probe engines."}
            engine_skill(SKILL, "Probes engines.", **{**given, **self.fields, **(about or {})})
            engine_skill(ELSEWHERE, "Does what the others do not.", engine=ELSEWHERE)
            options = {**self.options, **config.pop("options", {})}
            agent, _ = engine_stage(
                tools=work.tools, plugins=[("probe", Brings())], options=options, **{"approver": Person(), **config}
            )
            agent.set_adapter(plan.adapter)
            return agent, plan, work

        return make

    async def turn(self, agent: AgentRunner, text: str = f"/{SKILL} Do it.", *, resume: Any = None) -> Turn:
        """Let an agent answer, and return what became of it. The agent stays open."""
        nodes: list[tuple[str, str]] = []
        off = agent.events.observe(lambda event: nodes.append((event.node, event.state)), ["task_node"])
        begin = len(agent.messages)
        try:
            async with asyncio.timeout(SECONDS):
                response = await (agent.chat(text) if resume is None else agent.resume(resume or None))
            outcome, content = str(response.outcome), response.content
        except AgentError as error:
            outcome, content = "error", error.message
        except TimeoutError:
            pytest.fail(f"the turn did not end within {SECONDS} seconds", pytrace=False)
        finally:
            off()
        return Turn(
            outcome,
            content,
            [note.data for note in agent.session.notes(TASK)],
            [str(note.data["skill"]) for note in agent.session.notes(ROUTE)],
            [m.text for m in agent.messages[begin:] if isinstance(m, AssistantMessage) and m.text.strip()],
            nodes,
        )

    def play(self, agent: AgentRunner, text: str = f"/{SKILL} Do it.") -> Turn:
        """Let an agent answer once, and close it."""

        async def main() -> Turn:
            async with agent:
                return await self.turn(agent, text)

        return asyncio.run(main())

    def needs_calls(self) -> None:
        """Skip a check about tools where the engine offers none to a model."""
        if not self.calls:
            pytest.skip("calls = False: the engine offers its model no tool")
