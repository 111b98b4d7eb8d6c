"""Reminders, shown to the person who comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .store import store_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["tell_due"]


async def tell_due(agent: AgentRunner) -> None:
    """Show the reminders and notices that are due, each once."""
    store, now = store_of(agent.host), agent.clock.time()
    for notice in await asyncio.to_thread(store.remind, now):
        if agent.ui is not None:
            await agent.ui.notify(notice.text)
            await asyncio.to_thread(store.update, notice.number, state="seen", ended=now)
