"""What a file tool asks of its agent: the agent itself, or what stands for the agent in another process."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["AgentStandIn", "seen_of"]


class AgentStandIn:
    """Stands for the agent in the process that runs the tool.

    Attributes:
        host: the host of that process.
        cwd: the workspace.
        skills: folders of the skills that are active.
        before: the digests that the agent knew.
    """

    def __init__(self, packed: Mapping[str, Any], ctx: Any) -> None:
        self.host: Host = ctx.host
        self.cwd: Path = ctx.cwd
        self.skills = [Path(folder) for folder in packed.get("skills", ())]
        self.before: dict[str, str | None] = dict(packed.get("seen", {}))
        self._filtered = bool(packed.get("filtered"))
        self._ctx = ctx
        self._state: dict[str, Any] = {"seen": dict(self.before)}

    def state(self, name: str) -> dict[str, Any]:
        """Return what the agent keeps for this plugin."""
        return self._state

    def readable(self, root: str, tool: str) -> Callable[[str], bool]:
        """Return whether a file may be read, as the guards in the agent's process say."""
        if not self._filtered:
            return lambda path: True
        return lambda path: bool(self._ctx.ask_from_thread({"readable": path}))

    async def write_down(self, tool: str, files: Sequence[Mapping[str, Any]], contents: Sequence[bytes]) -> None:
        """Have contents kept and a note written in the agent's process."""
        kept = [base64.b64encode(data).decode() for data in contents]
        await self._ctx.request("carrier", {"tool": tool, "files": [*files], "contents": kept})


def seen_of(agent: AgentRunner | AgentStandIn) -> MutableMapping[str, str | None]:
    """Return the digests of the files that the agent knows, by real path; ``None``: it found none there."""
    seen: MutableMapping[str, str | None] = agent.state("files").setdefault("seen", {})
    return seen
