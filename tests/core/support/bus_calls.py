"""What tests of the dispatcher call again and again."""

from __future__ import annotations

import asyncio
from typing import Any

from skillkit_core import EventBus


def emit(bus: EventBus, event: Any = "agent_settled", data: Any = None) -> Any:
    return asyncio.run(bus.emit(event, data))


def boom(event: Any) -> None:
    raise ValueError("boom")
