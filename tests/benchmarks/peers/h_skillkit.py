"""Workload h: the dispatcher. The event is SkillKit's own; building it is left out, as for the others."""

from bench_micro import events, version

from skillkit_core import EventBus
from skillkit_core.events.types import AgentSettledEvent


def make(k, others, new):
    bus = EventBus()
    for _ in range(k):
        bus.on("agent_settled", new.asyn())
    names = ("turn_start", "turn_end", "usage", "message_end")
    for i in range(others):
        bus.on(names[i % len(names)], new.asyn())
    event = bus.make(AgentSettledEvent)

    async def emit():
        await bus.emit(event)

    return emit


events(version("skillkit-core"), make)
