"""The sources of a task: each has an id, a note in the session, and, where it is large, a file named by its digest."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_engines import context_part

from .passages import Piece, best_pieces, lines_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Session

__all__ = ["SOURCE", "Evidence", "Source", "kept_sources", "text_of"]

SOURCE = "engine-research.source"  # type of the note
SMALL = 2_000  # characters of a text that is in the note itself


@dataclass(frozen=True, slots=True)
class Source:
    """Something that was found.

    Attributes:
        id: ``S1``, ``S2``, ...: unique in the session.
        kind: ``file``, ``page`` or ``tool``.
        where: the path, the address, or the call.
        title: the title of a page; may be empty.
        pieces: the text.
    """

    id: str
    kind: str
    where: str
    title: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n\n".join(piece.text for piece in self.pieces)


class Evidence:
    """The sources of one task, in the order in which they were found.

    Args:
        agent: the agent, whose session keeps them.
        task: the id of the task.
        most: how many are kept.
    """

    def __init__(self, agent: AgentRunner, task: str, most: int) -> None:
        self._agent, self._task, self._most = agent, task, most
        notes = [note.data for note in agent.session.notes(SOURCE)]
        self._noted = {str(data["id"]) for data in notes if data.get("task") == task}
        others = [int(str(data["id"])[1:]) for data in notes if data.get("task") != task]
        self._number = max(others, default=0)
        self._known: dict[str, Source] = {}  # by place and by digest
        self.sources: dict[str, Source] = {}
        self.left = 0

    def has(self, where: str) -> bool:
        """Return whether a place is a source already."""
        return where in self._known

    @property
    def full(self) -> bool:
        """Whether no more sources are kept."""
        return len(self.sources) >= self._most

    async def add(self, kind: str, where: str, pieces: Sequence[Piece], title: str = "") -> Source | None:
        """Keep a source; ``None``: its text is empty, it is known, or there is no room (``left`` counts these)."""
        text = "\n\n".join(piece.text for piece in pieces)
        digest = sha256(text.encode()).hexdigest()
        if not text.strip() or where in self._known or digest in self._known:
            return None
        if self.full:
            self.left += 1
            return None
        self._number += 1
        source = Source(f"S{self._number}", kind, where, " ".join(title.split())[:200], tuple(pieces))
        self._known[where] = self._known[digest] = self.sources[source.id] = source
        if source.id not in self._noted:
            await self._note(source, text, digest)
        return source

    async def _note(self, source: Source, text: str, digest: str) -> None:
        data: dict[str, Any] = {"task": self._task, "id": source.id, "kind": source.kind, "where": source.where[:4_000],
                                "title": source.title, "digest": digest, "chars": len(text)}  # fmt: skip
        if len(text) <= SMALL:
            data["text"] = text
        else:
            _keep(self._agent.host, digest, text)
        await self._agent.session.note(SOURCE, data)

    def shown(self, words: Sequence[str], room: int, ids: Sequence[str] | None = None) -> str:
        """Return sources for a model, each marked as data, with the parts that words are about; ``room`` characters in all."""
        chosen = [source for source in self.sources.values() if ids is None or source.id in ids]
        each = max(300, room // max(1, len(chosen)))
        return "\n\n".join(_shown(source, words, each) for source in chosen)

    def named(self, source_id: str, words: Sequence[str], room: int) -> str:
        """Return a source for a person: ``[S1] notes.md:3-14``."""
        source = self.sources[source_id]
        each = max(300, room // max(1, len(self.sources)))
        lines = lines_of(best_pieces(source.pieces, words, each))
        title = f"{source.title}, " if source.title else ""
        return f"[{source.id}] {title}{source.where}{f':{lines}' if lines else ''}"


def _shown(source: Source, words: Sequence[str], room: int) -> str:
    pieces = best_pieces(source.pieces, words, room)
    title = f" ({source.title})" if source.title else ""
    return context_part(f"{source.id} {source.kind} {source.where}{title}", "\n[...]\n".join(p.text for p in pieces))


# --- what is kept -------------------------------------------------------------------------------------------------


def _folder(host: Host) -> Path:
    return host.data_dir / "engine-research"


def _keep(host: Host, digest: str, text: str) -> None:
    """Write a text to the file of its digest, as a whole; one that is there stays."""
    folder = _folder(host)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / digest
    if file.exists():
        return
    handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def kept_sources(session: Session) -> Iterator[Mapping[str, Any]]:
    """Yield the notes of the sources of a session's branch, in order."""
    yield from (note.data for note in session.notes(SOURCE))


def text_of(host: Host, note: Mapping[str, Any]) -> str | None:
    """Return the text of a source that a note keeps; ``None``: its file is gone, or was changed."""
    if "text" in note:
        return str(note["text"])
    digest = str(note["digest"])
    try:
        text = (_folder(host) / digest).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if sha256(text.encode()).hexdigest() == digest else None
