"""What a call would change, as a diff, before it runs: front ends show it where they ask for approval."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

from .diff import summary
from .folder import FileError, Folder
from .listing import beginning
from .open_texts import unsaved
from .reading_rights import place_of
from .tools import planned

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["preview", "within_reach"]


async def preview(agent: AgentRunner, tool_name: str, args: Mapping[str, Any]) -> str:
    """Return the unified diff of a call of ``write``, ``edit`` or ``apply_patch``, without a change of any file.

    Raises:
        ToolError: the call would fail. The error says why, and shows nothing of the file, about which nobody was asked.
    """

    texts = await unsaved(agent, tool_name, args)

    def look() -> str:
        try:
            changes, _ = planned(agent, tool_name, args, texts)
        except FileError as error:
            raise ToolError(error.text.partition(". ")[0].rstrip(".")) from None
        except KeyError as error:
            raise ToolError(f"{error.args[0]} is missing") from None
        return summary(changes.made)[1] or "Nothing would change."

    return await asyncio.to_thread(look)


async def within_reach(agent: AgentRunner, tool_name: str, args: Mapping[str, Any]) -> None:
    """Say nothing of a call that only reads, which its arguments tell.

    Raises:
        ToolError: the path is where the tool does not read, whoever agrees to it. Whether something is there, is not said.
    """

    def look() -> None:
        try:
            path = args.get("path", ".")
            if tool_name in ("read", "ls"):
                place_of(agent, path)
            else:
                beginning(Folder(agent.cwd), args["pattern"] if tool_name == "glob" else "*", path)
        except FileError as error:
            if error.code == "outside_root":
                raise ToolError(error.text) from None

    await asyncio.to_thread(look)
