"""Workload g: the session file of the sessions plugin, through the agent's own session object."""

import asyncio
from pathlib import Path

from bench_micro import log, messages, version
from skillkit_sessions import JsonlStore

from skillkit_core import AssistantMessage, Session, UserMessage


def store_in(directory):
    return JsonlStore(directory=Path(directory))


def append(directory, n):
    async def work():
        import time

        session = await Session.create(store_in(directory), time.time, session_id="bench")
        for role, text in messages(n):
            message = UserMessage(content=text) if role == "user" else AssistantMessage(content=text)
            await session.append_message(message)
        await session.close()

    asyncio.run(work())


def load(directory, handle):
    async def work():
        import time

        session = await Session.open(store_in(directory), "bench", time.time)
        return len(session.messages)

    return asyncio.run(work())


log(version("skillkit-core"), append, load)
