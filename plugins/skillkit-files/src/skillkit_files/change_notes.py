"""What is written down about changes, so that they can be taken back: a note of the session, and contents by digest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .changes import Change
from .kept_contents import Kept

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .config import FilesConfig
    from .folder import Snapshot
    from .stand_in import AgentStandIn

__all__ = ["NOTE", "kept_of", "note_changes", "write_down"]

NOTE = "files.change"
_MOST = 100  # files of one note


def kept_of(host: Host) -> Kept:
    """Return the contents that the host keeps."""
    config: FilesConfig = host.config.section("files")
    return Kept(host.data_dir / "files" / "content", config.keep_file, config.keep_total)


async def write_down(
    agent: AgentRunner | AgentStandIn, root: str, tool: str, call: str | None, changes: Sequence[Change]
) -> None:
    """Keep the contents before and after ``changes``, and write a note about them, before they are made.

    A note about a change that is not made after all does no harm: the file has the content that rewind would give it.
    """
    from .stand_in import AgentStandIn

    if isinstance(agent, AgentStandIn):
        collected = _Collected(agent.host.config.section("files"))
        facts = [_fact(change, collected) for change in changes]
        await agent.write_down(tool, facts, collected.contents)
        return
    kept = kept_of(agent.host)
    files = await asyncio.to_thread(lambda: [_fact(change, kept) for change in changes])
    await note_changes(agent, root, tool, call, files)


class _Collected:
    """Contents that another process keeps."""

    def __init__(self, config: FilesConfig) -> None:
        self.contents: list[bytes] = []
        self._most = min(config.keep_file, config.keep_total)

    def put(self, data: bytes) -> bool:
        """Collect a content that is small enough."""
        if len(data) > self._most:
            return False
        self.contents.append(data)
        return True


async def note_changes(
    agent: AgentRunner, root: str, tool: str, call: str | None, files: Sequence[Mapping[str, Any]]
) -> None:
    """Write a note about changes.

    What a nested agent changes is also a note of the outermost agent's session, which is the one that a person takes back.
    """
    *_, outermost = agent.ancestors()
    for one in dict.fromkeys((agent, outermost)):
        session = await one.open()
        # several nested agents may write at once, and each note follows the one before
        async with one.state("files").setdefault("writing", asyncio.Lock()):
            for at in range(0, len(files), _MOST):
                data: dict[str, Any] = {"root": root, "tool": tool, "files": [*files[at : at + _MOST]]}
                if call is not None and one is agent:
                    data["call"] = call
                await session.note(NOTE, data)


def _fact(change: Change, kept: Kept | _Collected) -> dict[str, Any]:
    """Return what the note says of one file: ``path``, and its state ``before`` and ``after``."""
    before = state_of(change.before)
    if change.before is not None and change.before.data is not None:
        before["kept"] = kept.put(change.before.data)
    whose = change.owner or change.before
    after: dict[str, Any] = {"digest": change.digest}
    data = change.after if change.after is not None else whose.data if whose is not None else None
    if change.gone:
        after = {"digest": None, "absent": True}
    elif change.link is not None:
        after = {"digest": None, "link": change.link}
    else:
        after["kept"] = data is not None and kept.put(data)
        mode = change.mode if change.mode is not None else whose.mode if whose is not None else None
        if mode is not None:
            after["mode"] = mode
    return {"path": change.path, "before": before, "after": after}


def state_of(found: Snapshot | None) -> dict[str, Any]:
    """Return the state of a file: ``digest`` and ``mode``, or ``absent``, or the target of a ``link``."""
    if found is None:
        return {"digest": None, "absent": True}
    if found.link is not None:
        return {"digest": None, "link": found.link}
    return {"digest": found.digest, "mode": found.mode}
