"""What a file tool takes along when it runs in another process (annotation ``remote``; see skillkit-executor).

The process is given the digests that the agent knows and the folders of its skills. What guards searches, and what is kept for
``/rewind``, stays with the agent: the tool asks for it. Nothing that the process says reaches beyond the agent's workspace.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError

from .stand_in import AgentStandIn, seen_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, ToolContext

__all__ = ["CARRIER"]


class Carrier:
    """Takes what file tools need of their agent to another process, and back."""

    def pack(self, agent: AgentRunner, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the process is given, as JSON."""
        from .reading_rights import filters_of, skill_folders

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
        seen = seen_of(agent)
        seen.update(changes["learnt"])
        for path in changes["gone"]:
            seen.pop(path, None)

    async def asked(self, agent: AgentRunner, ctx: ToolContext, body: Mapping[str, Any]) -> Any:
        """Answer the tool: whether a file may be read, or that changes are written down.

        Raises:
            ToolError: the question is none of these.
        """
        from .change_notes import kept_of, note_changes
        from .folder import Folder
        from .reading_rights import readable

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
