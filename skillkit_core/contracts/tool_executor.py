"""The tool executor contract: an executor runs the body of a tool after every guard has agreed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ..tools import Tool, ToolContext, ToolOutput

__all__ = ["ToolExecutor"]


class ToolExecutor(ABC):
    """Runs the bodies of tools. Registered by ``register_executors``. Without an executor, tools run in this process."""

    @abstractmethod
    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """Run ``tool`` once with exactly ``args``, until ``ctx.signal``, with live output. An exception is the error result."""

    async def list_tools(self) -> Sequence[str] | None:
        """Return names of tools that the executor brings itself; ``None``: it runs what it is given."""

    async def close(self) -> None:
        """End processes and connections. Called once, when the host closes, for at most five seconds."""
