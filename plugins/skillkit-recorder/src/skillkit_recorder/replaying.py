"""Replays: an agent is driven through a recording, without a network and without its tools, and compared with it."""

from __future__ import annotations

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillkit_core import AgentResponse, AgentRunner, Host, SkillKitError, UsageError
from skillkit_core.events.types import event_type

from .config import config_from_json
from .differences import Difference
from .performance import Performance
from .players import PlayedApprover, PlayedClock, PlayedExecutor
from .recording import Recording
from .script import Script
from .sessions import FIRST, PlayedConversation, session_of

__all__ = ["Replay", "replay"]

Prepare = Callable[[AgentRunner], Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay did.

    Attributes:
        recording: what it was compared with.
        differences: what differs, in the order of the recording; empty: it went as recorded.
        responses: what each ``chat`` and ``resume`` gave, an :class:`~skillkit_core.AgentResponse` or the error that it raised.
        notes: circumstances that explain differences, such as plugins that were there and are not here.
        events: the types that were compared; ``None``: all, and requests and tool calls.
    """

    recording: Recording
    differences: tuple[Difference, ...] = ()
    responses: tuple[AgentResponse | SkillKitError, ...] = ()
    notes: tuple[str, ...] = field(default=())
    events: frozenset[str] | None = None

    @property
    def matches(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    @property
    def response(self) -> AgentResponse | SkillKitError | None:
        """The last response, ``None`` when nothing was asked."""
        return self.responses[-1] if self.responses else None

    def report(self, most: int = 20) -> str:
        """What differs in lines for people, at most so many."""
        if self.matches:
            return f"the replay matches: {self._compared()}"
        n = len(self.differences)
        lines = [f"the replay differs in {n} {'place' if n == 1 else 'places'}:"]
        lines += [f"  {difference}" for difference in self.differences[:most]]
        lines += [f"  ... and {n - most} more"] if n > most else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _compared(self) -> str:
        if self.events is None:
            return str(self.recording)
        n = sum(event["type"] in self.events and "below" not in event for event in self.recording.events)
        return f"{n} {'event' if n == 1 else 'events'} of type {', '.join(sorted(self.events))}"

    def __str__(self) -> str:
        return self.report()

    def to_dict(self) -> dict[str, Any]:
        """The replay as JSON."""
        return {
            "matches": self.matches,
            "differences": [difference.to_dict() for difference in self.differences],
            "responses": [r.to_dict() for r in self.responses],
            "notes": list(self.notes),
        }


async def replay(
    recording: Recording | str | Path,
    *,
    host: Host | None = None,
    plugins: Iterable[Any] = (),
    events: Iterable[str] | None = None,
    prepare: Prepare | None = None,
    patience: float = 1.0,
) -> Replay:
    """Play a recording again and compare.

    A fresh agent is told what was told, at the same places among the events; its requests are answered from the recording,
    its tools are not run but give what they gave, questions are answered as they were, waiting takes no time.

    Args:
        recording: a recording, or its file.
        host: whose plugins take part; it stays open. Default: one with ``plugins`` alone and no configuration of this machine.
        plugins: plugins to take part, as :class:`~skillkit_core.Host` takes them. Tools, parts of the system prompt and
            messages to the agent that came from plugins that are not here are taken from the recording; what such plugins
            changed or blocked is a difference.
        events: compare only events of these types, and no requests and tool calls; default: everything.
        prepare: called with the agent before it begins, to add what the application added: handlers, context transformers.
        patience: seconds of silence after which something that does not come is given up, once.

    Raises:
        RecordingError: the file is damaged. OSError: it cannot be read. UnknownName: no such event type.
    """
    if host is not None and tuple(plugins):
        raise UsageError("give plugins or a host", hint="add the plugins to the host: host.add_plugin(...)")
    types = None if events is None else frozenset(event_type(name).type for name in events)
    found = recording if isinstance(recording, Recording) else Recording.load(recording)
    async with AsyncExitStack() as stack:
        if host is None:
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="skillkit-replay-"))
            host = Host(plugins=plugins, discover=False, environ={"SKILLKIT_HOME": home})
            stack.push_async_callback(host.aclose)
        performance = await _performance(found, host, types, patience)
        if prepare is not None:
            answer = prepare(performance.agent)
            if inspect.isawaitable(answer):
                await answer
        watcher = asyncio.create_task(performance.order.keep_going())
        try:
            await performance.run()
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
        differences = sorted(performance.differences(), key=lambda d: d.place)
        return Replay(found, tuple(differences), tuple(performance.responses), tuple(_notes(found, host)), types)


async def _performance(recording: Recording, host: Host, types: frozenset[str] | None, patience: float) -> Performance:
    """An agent as the recorded one was, with the recording around it."""
    script = Script(recording, host.plugins)
    made: list[Performance] = []
    clock = PlayedClock(lambda: made[0])
    try:
        config = config_from_json(recording.header.config)
    except ValueError as error:
        raise UsageError(f"the configuration in the recording cannot be used: {error}") from None
    _, session = await session_of(FIRST, recording.entries, clock)
    agent = AgentRunner(config, host=host, session=session, clock=clock)
    agent.conversation = PlayedConversation(agent, session, recording.header.session)
    made.append(Performance(agent, script, types, patience))
    approver = PlayedApprover(made[0]) if recording.header.approver else None
    agent.config = replace(agent.config, executor=PlayedExecutor(made[0]), approver=approver)
    return made[0]


def _notes(recording: Recording, host: Host) -> Sequence[str]:
    """Circumstances that explain differences."""
    notes: list[str] = []
    then = recording.header.plugins
    now = {name: str(loaded.owner["version"] or "") for name, loaded in host.plugins.items()}
    gone = [f"{name} {version}".strip() for name, version in then.items() if name not in now]
    if gone:
        notes.append(f"it was recorded with plugins that are not here: {', '.join(gone)}")
    new = [name for name in now if name not in then]
    if new:
        notes.append(f"it was recorded without plugins that are here: {', '.join(new)}")
    notes += [f"{n} was {then[n]} and is {v}" for n, v in now.items() if v and then.get(n) not in (None, "", v)]
    return notes
