"""The guard "acme": some files are not written, and a person is asked about those outside of the workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core import hookimpl

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, ToolCallEvent, ToolCallEventResult

PROTECTED = (".env", ".git")  # files, and folders with all in them


@hookimpl(phase="guard")
def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Judge the arguments that will run: no handler after this phase changes them. ``None`` is no opinion.

    What a tool does stands in its annotations, so that a guard needs no list of tools. Where this function
    fails, the call is blocked.
    """
    from skillkit_core import ToolCallEventResult  # each command imports this file, and few of them judge a call

    if event.annotations.get("mutates", "world") == "none":
        return None
    workspace = (ctx.agent.cwd if ctx.agent is not None else Path()).resolve()
    for name in event.annotations.get("paths", ("path",)):
        given = event.args.get(name)
        for path in (workspace / str(one) for one in (given if isinstance(given, list | tuple) else [given]) if one):
            real = path.resolve()  # what a link leads to is what is written
            if any(real.is_relative_to(workspace / kept) for kept in PROTECTED):
                return ToolCallEventResult(block=True, reason=f"{real.name} is protected: leave it as it is")
            if not real.is_relative_to(workspace):
                return ToolCallEventResult(ask=f"Write {real}, outside of the workspace?", ask_key=str(real))
    return None
