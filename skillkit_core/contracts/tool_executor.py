"""The tool executor contract: where a tool's body runs, once every guard has agreed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..tools import Tool, ToolContext, ToolOutput

__all__ = ["ToolExecutor"]


class ToolExecutor(ABC):
    """Runs the body of a tool, after the core has checked arguments and asked the guards. The default is this process."""

    @abstractmethod
    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """Run ``tool`` with exactly ``args``. An exception becomes the call's error result."""

    async def close(self) -> None:
        """End what was started: processes, connections. Called once, when the host closes; at most five seconds."""
