"""One replay while it goes on: the agent, the user who talks to it, and everything that is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillkit_core import (
    AgentResponse,
    AgentRunner,
    LLMAdapter,
    LLMRequest,
    ModelDefinition,
    SkillKitError,
    Target,
    Tool,
)
from skillkit_core.events.types import Event

from .compare import Comparison, MessagesSeen, compared
from .differences import Difference, differing
from .directives import watch_directives
from .entrances import Key, Played
from .forms import EventForms, MessageForms, RequestForms, event_about
from .order import Order
from .players import PlayedAdapter
from .records import Request
from .script import Asked, Called, Script
from .sessions import PlayedConversation
from .user import LEAVING, User
from .values import model_from_json, tool_from_json

__all__ = ["Performance"]

JSON = dict[str, Any]


class Performance:
    """Drives an agent through a script."""

    def __init__(self, agent: AgentRunner, script: Script, types: frozenset[str] | None, patience: float) -> None:
        self.agent = agent
        self.script = script
        self.order = Order(script, patience)
        self._user = User(
            agent, script.entrances, self.order, lambda place: self._retarget(script.request_after(place))
        )
        self.served = 0
        self.responses: list[AgentResponse | SkillKitError] = []
        self._comparison = Comparison(script.events, types, script.complete)
        self._everything = types is None
        self._found: list[Difference] = []
        self._told_messages = MessagesSeen()
        messages = MessageForms()
        self._forms, self._requests = EventForms(messages), RequestForms(messages)
        self._count: Counter[tuple[str, str]] = Counter()
        self._called: set[Key] = set()
        self._talking = False
        self._given: tuple[Tool, ...] = ()

    # --- the whole ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Play everything; whatever happens, the agent is closed in the end."""
        agent, script = self.agent, self.script
        try:
            if script.header.opened:
                await agent.open()
            self._begin()
            if script.opens_first:
                await agent.open()
            for played in script.idle:
                await self._idle(played)
            await self._user.done()
            if not script.closes:
                self._comparison.open = False
        finally:
            await agent.aclose()
            self._comparison.open = False

    def _begin(self) -> None:
        agent, first = self.agent, self.script.request_after(-1)
        agent.events.observe(self._saw)
        watch_directives(agent, self._user.heard)
        self._given = agent.toolbox.own
        self._offer(first)
        if self.script.announces_first:
            self._retarget(first)
        else:
            model, adapter = self._target(first)
            agent.selection.target = Target(model, adapter, adapter.provider)

    async def _idle(self, played: Played) -> None:
        """Say what was said while nothing ran, and wait for what comes of it."""
        agent, line = self.agent, played.line
        self._missed(self.order.pass_until(played.place))
        await agent.wait_idle()
        if line.name in LEAVING:
            conversation = agent.conversation
            assert isinstance(conversation, PlayedConversation)
            conversation.coming = self.script.session_of(played)
            await self._user.leave(line)
            return
        if not line.begins:
            await self._user.say(played)
            return
        self._prompt(played.place)
        self._offer(self.script.request_after(played.place))
        try:
            response = await self._user.start(played)
            self.responses += [] if response is None else [response]
        except SkillKitError as error:
            self.responses.append(error)

    def over(self) -> None:
        """The recording ends in the middle of a run: what follows is not compared."""
        self._comparison.open = False

    # --- what happens -------------------------------------------------------------------------------------------

    async def comes(self, key: Key) -> None:
        """Something is about to happen; the user comes in before it if that is where it was."""
        await self._user.before(key)

    async def happened(self, key: Key) -> None:
        """Something happened; the user comes in here if that is where it was."""
        self.order.happened(key)
        await self._user.after(key)

    def _saw(self, event: Event) -> Coroutine[Any, Any, None] | None:
        """As an observer: compare, and let the user come in before the agent goes on."""
        bus = self.agent.events
        if event.agent_path != bus.agent_path:
            return None
        form, about = self._forms.of(event, bus.agent_path), event_about(event)

        def name() -> Key:
            return ("event", *about, self._count[about] + 1)

        before = self.script.awaits.get(name())
        if before is None or self.order.has_happened(before):
            return self._user.around(name, lambda: self._note(event, form, name()))
        return self._saw_later(before, name, lambda: self._note(event, form, name()))

    async def _saw_later(self, before: Key, name: Callable[[], Key], note: Callable[[], None]) -> None:
        """See an event of a tool after what another one did first."""
        try:
            await self.order.until(before)
        finally:
            work = self._user.around(name, note)
        if work is not None:
            await work

    def _missed(self, keys: Sequence[Key]) -> None:
        for _, place in keys:
            line = self.script.told[place]
            text = str(line.arguments.get("message", ""))
            where = f"{line.name} {text!r}" if text else line.name
            self._found.append(Difference(where, what="the place where it was said did not come", place=place))

    # --- what the agent is given ----------------------------------------------------------------------------------

    def _target(self, asked: Request) -> tuple[ModelDefinition, LLMAdapter]:
        """The recorded model and an adapter that plays its provider."""
        return model_from_json(asked.model), PlayedAdapter(self, asked.provider, asked.api, asked.progressive)

    def _retarget(self, asked: Request) -> None:
        """Choose another model and adapter, and have that told."""
        model, adapter = self._target(asked)
        self.agent.configure(model=model)
        self.agent.set_adapter(adapter)

    def _offer(self, asked: Request) -> None:
        """Give the agent the tools of a request that no plugin of this host brings."""
        plugins, given = self.agent.host.plugins, {tool.name for tool in self._given}
        tools = [t for t in asked.tools if t.get("source") not in plugins and t["name"] not in given]
        wanted = (*self._given, *map(tool_from_json, tools))
        if wanted != self.agent.toolbox.own:
            self.agent.configure(tools=wanted)

    def _prompt(self, place: int) -> None:
        """Give the agent the recorded system prompt, if somebody who added to it is not here."""
        here = {entry.name for entry in self.agent.host.context_providers.entries()}
        if here.issuperset(self.script.header.context_providers):
            return
        event = self.script.later(place, "before_agent_start")
        if event is not None:
            self.agent.config = replace(self.agent.config, system_prompt=event.get("system_prompt", ""))

    # --- what is compared -----------------------------------------------------------------------------------------

    def _note(self, event: Event, form: JSON, key: Key) -> None:
        if not self._comparison.add(form):
            self.order.diverged = True
        about = event_about(event)
        self._count[about] += 1
        kind = event.type
        if kind == "context_transform":
            asked = self.script.coming(self.served)
            if asked is not None:
                self._offer(asked)
        elif kind == "tool_execution_end":
            self.order.pass_over(self.script.steps_of(event.tool_call_id))  # type: ignore[attr-defined]
        elif kind == "agent_settled":
            self._missed(self.order.pass_until(self.script.settled(self._count[about])))
        self.order.happened(key)

    def request_made(self, asked: Asked, request: LLMRequest, adapter: LLMAdapter) -> None:
        """Compare a request."""
        line = {key: value for key, value in asked.line.to_json().items() if key not in ("type", "n")}
        target = self.agent.target
        form = self._requests.of(request, adapter, target.provider if target is not None else "", lambda name: None)
        for path, one, two in compared(_by_name(line), _by_name(form), self._told_messages):
            self._found.append(Difference(f"request {asked.line.n}", path, one, two, place=asked.place))

    def tool_called(self, called: Called, name: str, args: Mapping[str, Any]) -> None:
        """Compare the call of a tool."""
        line = called.line
        self._called.add((line.call, line.again))
        where = f"tool call {line.call} ({line.name})"
        for path, one, two in differing({"name": line.name, "args": line.args}, {"name": name, "args": args}):
            self._found.append(Difference(where, path, one, two, place=called.place))

    def surprise(self, where: str, what: str) -> None:
        """Something was done that was not recorded, or the other way round."""
        self.order.diverged = True
        self._found.append(Difference(where, what=what, place=self._comparison.place))

    def differences(self) -> list[Difference]:
        """Everything that differs."""
        events = self._comparison.differences()
        if not self._everything:
            return events
        for asked in self.script.requests[self.served :]:
            self._found.append(Difference(f"request {asked.line.n}", what="recorded, but not made", place=asked.place))
        for which, called in self.script.calls.items():
            if which not in self._called:
                where = f"tool call {called.line.call} ({called.line.name})"
                self._found.append(Difference(where, what="recorded, but not made", place=called.place))
        return [*self._found, *events]


def _by_name(request: Mapping[str, Any]) -> JSON:
    """A request with its tools by name, and without who brought them."""
    tools = {t["name"]: {k: v for k, v in t.items() if k != "source"} for t in request.get("tools", ())}
    return {**request, "tools": tools}
