"""What a call would change, as a diff, before it runs: front ends show it where they ask for approval."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .diff import summary
from .folder import FileError
from .tools import planned

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["preview"]


async def preview(agent: AgentRunner, tool_name: str, args: Mapping[str, Any]) -> str:
    """Return the unified diff of a call of ``write``, ``edit`` or ``apply_patch``, without a change of any file.

    Where the call would fail, the text says why.
    """

    def look() -> str:
        try:
            changes, _ = planned(agent, tool_name, args)
        except FileError as error:
            return f"The call would fail: {error.text}"
        except KeyError as error:
            return f"The call would fail: {error.args[0]} is missing"
        return summary(changes.made)[1] or "Nothing would change."

    return await asyncio.to_thread(look)
