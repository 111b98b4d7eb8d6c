"""What stands for the agent when a file tool runs in another process (annotation ``remote``; see skillkit-executor).

The process is given the digests that the agent knows and the folders of its skills. What guards searches, and what is kept for
``/rewind``, stays with the agent: the tool asks for it. Nothing that the process says reaches beyond the agent's workspace.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, ToolContext

__all__ = ["CARRIER", "AgentStandIn"]


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
        await self._ctx.ask("carrier", {"tool": tool, "files": [*files], "contents": kept})


class Carrier:
    """Takes what file tools need of their agent to another process, and back."""

    def pack(self, agent: AgentRunner, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the process is given, as JSON."""
        from .places import filters_of, skill_folders
        from .tools import seen_of

        packed: dict[str, Any] = {"seen": dict(seen_of(agent))}
        if str(args.get("path", "")).startswith("/"):
            packed["skills"] = [str(folder) for folder in skill_folders(agent)]
        if tool in ("grep", "glob"):
            packed["filtered"] = bool(filters_of(agent, tool))
        return packed

    def stand_in(self, packed: Mapping[str, Any], ctx: Any) -> AgentStandIn:
        """Return what the tool finds as ``ctx.agent``."""
        return AgentStandIn(packed, ctx)

    def changes(self, agent: AgentStandIn) -> dict[str, Any]:
        """Return what the tool learnt of files."""
        seen, before = agent.state("files")["seen"], agent.before
        learnt = {path: digest for path, digest in seen.items() if path not in before or before[path] != digest}
        return {"learnt": learnt, "gone": [path for path in before if path not in seen]}

    def merge(self, agent: AgentRunner, changes: Mapping[str, Any]) -> None:
        """Take what the tool learnt of files."""
        from .tools import seen_of

        seen = seen_of(agent)
        seen.update(changes["learnt"])
        for path in changes["gone"]:
            seen.pop(path, None)

    async def asked(self, agent: AgentRunner, ctx: ToolContext, body: Mapping[str, Any]) -> Any:
        """Answer the tool: whether a file may be read, or that changes are written down.

        Raises:
            ToolError: the question is none of these.
        """
        from .folder import Folder
        from .places import readable
        from .record import kept_of, note_changes

        root = Folder(agent.cwd).root
        if "readable" in body:
            return readable(agent, root, ctx.tool_name)(str(body["readable"]))
        files = body.get("files")
        if not isinstance(files, list) or not all(isinstance(one, dict) and _inside(one.get("path")) for one in files):
            raise ToolError("the process that runs tools named a file outside the workspace")
        kept = kept_of(agent.host)
        contents = [base64.b64decode(data) for data in body.get("contents", ())]
        await asyncio.to_thread(lambda: [kept.put(data) for data in contents])
        await note_changes(agent, root, ctx.tool_name, ctx.tool_call_id, files)
        return True


def _inside(path: object) -> bool:
    return isinstance(path, str) and not path.startswith("/") and ".." not in path.split("/")


CARRIER = Carrier()
