"""The result of an action as the output of a tool."""

from __future__ import annotations

import json
from typing import Any

from skillkit_core.skills import SkillAction
from skillkit_core.tools import ToolOutput

from .actions import ActionResult

__all__ = ["tool_output"]

STDERR_CHARS = 4000


def tool_output(action: SkillAction, result: ActionResult) -> ToolOutput:
    """What the model reads, and the whole result beside it.

    JSON with an ``answer``: that text, then the other data in compact form; ``details`` are all data. A failure says how
    it ended and what was printed, the end of stderr last.
    """
    if not result.ok:
        return ToolOutput(_failure(action, result), result.to_dict(), is_error=True)
    if result.data is not None:
        return ToolOutput(_told(result.data), result.data)
    if result.file is not None:
        return ToolOutput(f"Wrote {result.file}", result.to_dict())
    text = (result.text or "").rstrip("\n")
    return ToolOutput(text or "Done, without output.", result.to_dict())


def _failure(action: SkillAction, result: ActionResult) -> str:
    said = result.stderr.strip()
    if said and "\n" not in said and (result.error or "").startswith("exit-code") and not (result.text or "").strip():
        return said[-STDERR_CHARS:]  # the action's own one line says it best
    how = {
        "timeout": f"did not finish within {action.timeout:g} seconds",
        "aborted": "was ended",
        "needs-terminal": "needs a terminal or somebody who types, and there is neither",
        "output-not-json": "printed something that is not JSON",
        "output-too-large": "printed more than 256 KiB",
        "output-file-outside": "named a file outside the workspace",
    }.get(result.error or "", f"failed ({result.error})")
    parts = [f"Action {action.name} {how}."]
    parts += [p for p in ((result.text or "").strip(), result.stderr.strip()[-STDERR_CHARS:]) if p]
    return "\n".join(parts)


def _told(data: Any) -> str:
    answer = data.get("answer") if isinstance(data, dict) else None
    if not isinstance(answer, str) or not answer:
        return _compact(data)
    rest = {k: v for k, v in data.items() if k != "answer"}
    return f"{answer}\n{_compact(rest)}" if rest else answer


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
