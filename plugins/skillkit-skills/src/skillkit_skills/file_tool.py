"""The tool ``skill_file``: a text file of an active skill, and nothing else of this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError
from skillkit_core.settings.documents import open_regular
from skillkit_core.tools import ToolContext

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["PARAMETERS", "read_skill_file"]

_CHARS = 60_000
_BYTES = 16 << 20
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "skill": {"type": "string", "description": "Name of the active skill."},
        "path": {"type": "string", "description": "Path of the file in the folder of the skill."},
        "offset": {"type": "integer", "minimum": 1, "description": "First line; default 1."},
    },
    "required": ["skill", "path"],
    "additionalProperties": False,
}


async def read_skill_file(host: Host, active: Collection[str], args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Return the text of a file in the folder of an active skill, from the line ``offset`` on, at most 60,000 characters.

    Raises:
        ToolError: the skill is not active, or the file leaves its folder, is not there, or is no text.
    """
    name, wanted = str(args["skill"]), str(args["path"])
    skill = host.skills.get(name) if name in active and host.skills.has(name) else None
    if skill is None or skill.path is None:
        raise ToolError(f"skill {name!r} is not active", hint=f"active are: {', '.join(active) or 'none'}")
    root = skill.path.resolve()
    try:
        path = (root / wanted).resolve()
        if not path.is_relative_to(root):
            raise ToolError(f"{wanted!r} is outside the folder of skill {name!r}")
        with open_regular(path) as file:
            text = file.read(_BYTES).decode()
    except UnicodeDecodeError:
        raise ToolError(f"{wanted!r} is no text") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"{wanted!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    lines = text.splitlines(keepends=True)
    first = int(args.get("offset") or 1)
    shown = "".join(lines[first - 1 :])
    if len(shown) <= _CHARS:
        return shown
    cut = shown[:_CHARS]
    return f"{cut}\n[cut: go on with offset {first + cut.count(chr(10))}]"
