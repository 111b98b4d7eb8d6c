"""What a run writes down so that it can be resumed: notes, and files for what is too large for one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, DrivenRun

__all__ = ["earlier_notes", "keep_note"]

MOST = 60 * 1024  # characters of JSON; a note holds 64 KiB
LARGE = "kept"  # of a note: the digest of the data that are in a file


async def keep_note(agent: AgentRunner, kind: str, data: Mapping[str, Any]) -> None:
    """Write a note and wait until it is on the disk. What is too large for it is in a file of the plugin's, named by its digest.

    Args:
        agent: the agent, in whose session the note is.
        kind: the type of the note, ``<plugin>.<what>``.
        data: a JSON object of any size; ``task`` is in the note in any case.
    """
    text = json.dumps(thaw(agent.host.redact(data)))
    if len(text) > MOST:
        digest = sha256(text.encode()).hexdigest()
        if agent.session.location is None:  # a session in memory leaves nothing on the disk
            agent.state("engines").setdefault(LARGE, {})[digest] = text
        else:
            _write(_folder(agent) / digest, text.encode())
        data = {"task": data.get("task"), LARGE: digest}
    await agent.session.note(kind, data, sync=True)


def earlier_notes(run: DrivenRun, kind: str, task: str) -> list[Mapping[str, Any]]:
    """Return what the notes of a task hold that a run wrote before it was resumed, oldest first.

    Notes from before the run are none of its own, whoever wrote them: an imported session may hold any. The list ends before a
    note whose file is gone.
    """
    session = run.agent.session
    if not run.resumed or session.driven is None:
        return []
    ids = [entry.id for entry in session.path()]
    own = frozenset(ids[ids.index(session.driven) :]) if session.driven in ids else frozenset()
    found: list[Mapping[str, Any]] = []
    for note in session.notes(kind):
        if note.entry_id not in own or note.data.get("task") != task:
            continue
        data = _read(run.agent, str(note.data[LARGE])) if LARGE in note.data else thaw(note.data)
        if data is None:
            break
        found.append(data)
    return found


def _folder(agent: AgentRunner) -> Path:
    return agent.host.data_dir / "engines" / "notes"


def _read(agent: AgentRunner, digest: str) -> Mapping[str, Any] | None:
    """Return the data of a digest; ``None``: they are gone, or others."""
    text: str | None = agent.state("engines").get(LARGE, {}).get(digest)
    if text is None and digest.isalnum():
        try:
            text = (_folder(agent) / digest).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
    if text is None or sha256(text.encode()).hexdigest() != digest:
        return None
    found: Mapping[str, Any] = json.loads(text)
    return found


def _write(file: Path, data: bytes) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(handle, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    Path(name).replace(file)
