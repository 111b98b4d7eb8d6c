"""The user of a replay: says again what was said, in its place, before the agent goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from skillkit_core import UNSET, AgentResponse, AgentRunner, EventBus, Origin, Receipt, SkillKitError

from .directives import Directive
from .entrances import Entrances, Key, Played
from .order import Order
from .records import Told
from .sessions import entry_at
from .values import blocks_from_json, decision_from_json

__all__ = ["LEAVING", "User"]

Work = Coroutine[Any, Any, None]
LEAVING = frozenset({"switch", "fork", "move_to", "reload"})


class User:
    """Tells the agent what it was told.

    Args:
        retarget: what to do where another model or adapter was chosen, given the place in the recording.
    """

    def __init__(
        self, agent: AgentRunner, entrances: Entrances, order: Order, retarget: Callable[[int], object]
    ) -> None:
        self._agent = agent
        self._entrances = entrances
        self._order = order
        self._retarget = retarget
        self._own = ""  # the directive that this user is about to give
        self._others: Counter[str] = Counter()  # what handlers told the agent by themselves
        self._later: list[Played] = []
        self._talking = self._struck = False
        self._tasks: set[asyncio.Task[None]] = set()

    def heard(self, directive: Directive) -> None:
        """As a listener of the agent's directives."""
        if directive.name == self._own:
            self._own = ""
        else:
            self._others[directive.name] += 1

    async def done(self) -> None:
        """Wait for what is still being said."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    # --- runs ---------------------------------------------------------------------------------------------------

    async def start(self, played: Played) -> AgentResponse | None:
        """Say what starts a run, and wait for its response; raises as the agent."""
        line = played.line
        running = asyncio.create_task(self._run(line.name, line.arguments))
        await asyncio.sleep(0)  # it has begun, and its first event is still to come
        await self.after(("start", played.place))
        return await running

    async def _run(self, name: str, arguments: Mapping[str, Any]) -> AgentResponse | None:
        agent, self._own = self._agent, name
        if name == "compact":
            await agent.compact()
            return None
        if name == "resume":
            decisions = {call: decision_from_json(d) for call, d in arguments.get("decisions", {}).items()}
            return await agent.resume(decisions or None)
        if name in ("steer", "follow_up"):
            receipt = await self._queue(name, arguments)
            return None if isinstance(receipt, str) else await receipt.response()
        message, delivery = str(arguments.get("message", "")), arguments.get("delivery", "prompt")
        return await agent.chat(message, **_with(arguments), delivery=delivery)

    async def leave(self, line: Told) -> None:
        """Have the agent talk elsewhere, whatever it makes of it."""
        agent, name, given = self._agent, line.name, line.arguments
        self._own = name
        with suppress(SkillKitError):
            if name == "switch":
                await agent.switch(str(given.get("session", "")))
            elif name == "fork":
                await agent.fork(entry_at(agent, given["at"]) if "at" in given else UNSET)
            elif name == "move_to":
                place = entry_at(agent, given.get("entry_id"))
                await agent.move_to(place, summary=given.get("summary"), label=given.get("label"))
            else:
                await agent.reload()
        self._own = ""

    # --- coming in ----------------------------------------------------------------------------------------------

    async def before(self, key: Key) -> None:
        """Something is about to happen."""
        await self._talk(self._entrances.before.get(key, ()))

    async def after(self, key: Key) -> None:
        """Something has happened."""
        await self._talk(self._entrances.after.get(key, ()))

    def around(self, name: Callable[[], Key], note: Callable[[], None]) -> Work | None:
        """Come in while an event is handled and after it, in an observer.

        Args:
            name: of the event if it were seen now. note: it is seen.

        Returns: what the bus has to wait for before the agent goes on, if anything.
        """
        within = self._entrances.within(name())
        if within:
            return self._now(self._around(name, note), [played for queue in within for played in queue])
        key = name()
        note()
        said = self._entrances.after.get(key, ())
        return self._now(self._talk(said), said) if said else None

    async def _around(self, name: Callable[[], Key], note: Callable[[], None]) -> None:
        try:
            while queues := self._entrances.within(name()):
                await self._said_in_a_handler(queues[0].pop(0))
            await self._strike()
        finally:
            key = name()
            note()
            await self._talk(self._entrances.after.get(key, ()))

    async def _said_in_a_handler(self, played: Played) -> None:
        line = played.line
        if line.handler and self._others[line.name] and played.key is not None:
            self._others[line.name] -= 1  # a handler that the caller has brought has said it
            self._order.finish(played.key)
        else:
            await self.say(played)

    def _now(self, work: Work, said: Sequence[Played]) -> Work | None:
        """Do it at once where nothing has to be waited for; where nothing can be waited for, as soon as possible."""
        waits = {"abort"} if self._agent.events.all_sync("input") else {"abort", "steer", "follow_up", "chat"}
        names = {p.line.name for p in said if not (p.line.name == "abort" and (p.line.handler or EventBus.in_sync()))}
        if not names & waits:
            with suppress(StopIteration):
                work.send(None)
            work.close()
            return None
        if not EventBus.in_sync():
            return work
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    # --- saying it ----------------------------------------------------------------------------------------------

    async def _talk(self, played: Sequence[Played]) -> None:
        """Say one thing after the other, also what comes up meanwhile."""
        self._later += played
        if self._talking or not self._later:
            return
        self._talking = True
        try:
            while self._later:
                await self.say(self._later.pop(0))
        finally:
            self._talking = False
        await self._strike()

    async def _strike(self) -> None:
        """Let an abort that was not a handler's strike here: it came where the run was waiting."""
        struck, self._struck = self._struck, False
        run = self._agent.scheduler.run
        if struck and not EventBus.in_sync() and run is not None and run.task is asyncio.current_task():
            await asyncio.sleep(0)

    async def say(self, played: Played) -> None:
        """Say one thing, whatever the agent makes of it."""
        if played.key is not None and self._order.is_done(played.key):
            return  # it is too late for that
        try:
            with suppress(SkillKitError):
                await self._tell(played)
        finally:
            self._own = ""
            if played.key is not None:
                self._order.finish(played.key)

    async def _tell(self, played: Played) -> None:
        agent, name, given = self._agent, played.line.name, played.line.arguments
        text = str(given.get("message", ""))
        if name == "chat":
            name = given.get("delivery", name)
        self._own = name
        if name in ("steer", "follow_up"):
            await self._queue(name, given)
        elif name == "next_run":
            agent.next_run(text, images=_with(given)["images"])
        elif name == "cancel":
            agent.cancel(str(given.get("item_id", "")))
        elif name == "abort":
            agent.abort(given.get("reason"))
            self._struck = self._struck or not played.line.handler
        elif name in ("set_adapter", "set_model"):
            self._own = "set_adapter"
            self._retarget(played.place)

    async def _queue(self, name: str, given: Mapping[str, Any]) -> str | Receipt:
        tell: Any = self._agent.steer if name == "steer" else self._agent.follow_up
        text = str(given.get("message", ""))
        trigger = {"trigger": True} if given.get("trigger") else {}
        receipt: str | Receipt = await tell(text, **_with(given), **trigger)
        return receipt


def _with(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What goes along with a message."""
    origin = arguments.get("origin")
    return {
        "images": blocks_from_json(arguments.get("images", [])),
        "origin": None if origin is None else Origin.from_dict(origin),
    }
