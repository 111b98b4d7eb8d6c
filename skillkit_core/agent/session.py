"""The session: the tree of its entries, the leaf, the context between root and leaf, and a read-only view."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..contracts.session_store import (
    DRIVEN,
    ENTRY_TYPES,
    OFF_PATH,
    SessionEntry,
    SessionHandle,
    SessionHeader,
    SessionNote,
    SessionStore,
    new_session_id,
    no_collection,
    since_last_word,
)
from ..errors import SessionCorrupt, SessionError, UsageError
from ..frozen import EMPTY, freeze
from ..host.memory import MemoryStore
from ..messages import (
    AgentMessage,
    AssistantMessage,
    CustomMessage,
    StopReason,
    TextBlock,
    ToolResultMessage,
    UserMessage,
    blocks_of,
    message_from_dict,
    message_to_dict,
    with_time,
)
from ..models import BUCKETS, TokenUsage
from .suspension import Suspension

if TYPE_CHECKING:
    from ..host.secrets import Secrets

__all__ = ["NO_THINKING", "ModelChoice", "Session", "new_session_id"]

ON_PATH = ENTRY_TYPES - OFF_PATH  # types that move the leaf
MAX_NOTE = 64 * 1024  # characters of JSON
_NOTE_TYPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+\Z")
SUMMARY_PREFIX = "Summary of the conversation so far:\n\n"
KILLED = "[The program ended in the middle of this answer.]"


NO_THINKING = "off"


class ModelChoice(NamedTuple):
    """The model that gave an answer, as the message of the answer names it.

    Attributes:
        provider: the name of the provider.
        api: the wire protocol.
        model: the id that the provider gives the model.
    """

    provider: str
    api: str
    model: str


def _summary_message(text: str, ts: float) -> CustomMessage:
    return CustomMessage(
        custom_type="compaction_summary", content=blocks_of(SUMMARY_PREFIX + text), in_context=True, ts=ts
    )


def _last_run(ledger: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of the run that wrote the last of these usage entries: ``r7`` has 7; 0: none has written any."""
    own = (str(data.get("run_id")) for data in reversed(ledger) if data.get("purpose") != "nested")
    number = next(own, "")[1:]
    return int(number) if len(number) < 16 and number.isdecimal() else 0


def _alone(message: AgentMessage) -> AgentMessage:
    """Return a pinned message as it stands without its neighbours: a tool's result has lost its call."""
    if not isinstance(message, ToolResultMessage):
        return message
    return CustomMessage(
        custom_type="pinned_result", content=message.content, in_context=True, pinned=True, ts=message.ts
    )


class MessageData(Mapping[str, Any]):
    """The data of a message's entry, ``{"message": ...}``, made from the message at each access.

    A kept JSON form would take another 1 KiB for each message, in five objects.
    """

    __slots__ = ("message",)

    def __init__(self, message: AgentMessage) -> None:
        self.message = message

    def __getitem__(self, key: str) -> Any:
        if key != "message":
            raise KeyError(key)
        data = message_to_dict(self.message)
        data.pop("ts", None)
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(("message",))

    def __len__(self) -> int:
        return 1

    def __hash__(self) -> int:
        # FrozenDict hashes its keys, and equal mappings need equal hashes
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return repr(dict(self))


class Session:
    """One conversation: its entries, and the state that follows from the entries.

    Attributes:
        handle: the open session of the store, which writes the entries.
        id: the id of the session.
        leaf_id: the entry that the next entry follows; ``None`` before the first.
        context: the messages from the root to the leaf, from the newest compaction on.
        context_ids: the ids of the entries that hold the messages of ``context``.
        generation: how often ``context`` was replaced as a whole: by a compaction, or by a move of the leaf.
        model: the model that the last answer or ``model_change`` of the current branch names; ``None`` without either.
        thinking_level: the last level of the current branch, ``minimal`` to ``xhigh``; default: ``off``.
        driven: the entry at which a driver began with the last input, if that run did not complete.
        usage: the tokens of all usage entries.
        cost: the price of these tokens in US dollars, as far as prices are known.
    """

    def __init__(self, handle: SessionHandle, clock: Callable[[], float]) -> None:
        self.handle = handle
        self.id = handle.header.id
        self._clock = clock
        self._secrets: Secrets | None = None
        self._by_id: dict[str, SessionEntry] = {}
        self._noted: dict[str, list[SessionEntry]] = {}
        self._tell: Callable[..., object] | None = None
        self._calls: set[str] | None = None
        self._said: tuple[AgentMessage, ...] = ()
        self._said_in = self._called_in = -1
        self._called: frozenset[str] = frozenset()
        self._looked = 0
        self._seq = self._ids = self._runs = 0
        self.leaf_id: str | None = None
        self.context: list[AgentMessage] = []
        self.context_ids: list[str] = []
        self.generation = 0
        self.model: ModelChoice | None = None
        self.thinking_level = NO_THINKING
        self.driven: str | None = None
        self.usage = TokenUsage()
        self.cost = 0.0
        with no_collection():
            self._load(handle.entries())

    @classmethod
    async def create(
        cls,
        store: SessionStore | None,
        clock: Callable[[], float],
        *,
        cwd: str = "",
        session_id: str | None = None,
        parent: str | None = None,
    ) -> Session:
        """Create a session in ``store``, default: in memory, for an agent that works in the session ``parent``."""
        now = clock()
        header = SessionHeader(
            session_id or new_session_id(now), now, cwd, parent_session=parent, nested=parent is not None
        )
        return cls(await (store or MemoryStore()).create(header), clock)

    @classmethod
    async def open(
        cls,
        store: SessionStore,
        session_id: str,
        clock: Callable[[], float],
        *,
        read_only: bool = False,
        endpoint: str | None = None,
    ) -> Session:
        """Open an existing session, or raise as :meth:`SessionStore.open`."""
        with_endpoint = {} if endpoint is None else {"endpoint": endpoint}
        handle = await store.open(session_id, read_only=read_only, **with_endpoint)
        try:
            session = cls(handle, clock)
            if not handle.read_only:
                await session._keep_partial()
            return session
        except BaseException:
            # an unreadable message must not keep the lock
            await handle.close()
            raise

    @property
    def location(self) -> str | None:
        """The file or address of the session; ``None`` when the store has none."""
        return self.handle.location

    @property
    def entries(self) -> Sequence[SessionEntry]:
        """The entries of all branches, in the order in which they were written."""
        return list(self._by_id.values())

    def call_ids(self) -> set[str]:
        """Return the ids of the tool calls of all branches, also from before compactions, in a set that grows with them."""
        if self._calls is None:
            found = [entry.data["message"] for entry in self._by_id.values() if entry.type == "message"]
            blocks = [block for said in found if said.get("role") == "assistant" for block in said.get("content", ())]
            self._calls = {block["id"] for block in blocks if block.get("type") == "tool_call"}
        return self._calls

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The messages of the current branch, from the newest compaction on."""
        if self._said_in != self.generation or len(self._said) != len(self.context):
            self._said, self._said_in = tuple(self.context), self.generation
        return self._said

    @property
    def called(self) -> frozenset[str]:
        """The names of the tools that the last answer of the branch calls. Each message is looked at once."""
        if self._called_in != self.generation or self._looked > len(self.context):
            self._called, self._looked, self._called_in = frozenset(), 0, self.generation
        for message in self.context[self._looked :]:
            if isinstance(message, AssistantMessage):
                self._called = frozenset(call.name for call in message.tool_calls)
        self._looked = len(self.context)
        return self._called

    def _load(self, entries: Sequence[SessionEntry]) -> None:
        leaf: str | None = None
        ledger = []
        for entry in entries:
            self._by_id[entry.id] = entry
            if entry.seq > self._seq:
                self._seq = entry.seq
            if entry.type in ON_PATH:
                leaf = entry.id
            elif entry.type == "leaf":
                if "entry_id" not in entry.data:
                    raise SessionCorrupt(f"entry {entry.id!r}: a leaf without entry_id", where=self.location or self.id)
                leaf = entry.data["entry_id"]
            elif entry.type == "usage":
                ledger.append(entry.data)
        self._ids = self._seq
        self._runs = max(self._seq, _last_run(ledger))
        self._count(ledger)
        self.leaf_id = leaf
        self._rebuild()

    def next_run(self, after: int = 0) -> int:
        """Return the number of a run that begins: above ``after``, and above that of each run that has left an entry (I24).

        The numbers of a session that was opened again go on from the number of its entries: each run but one that leaves
        nothing has written an entry, and not every run has written its number.
        """
        self._runs = max(self._runs, after) + 1
        return self._runs

    def _count(self, ledger: Sequence[Mapping[str, Any]]) -> None:
        """Add the data of usage entries to ``usage`` and ``cost``."""
        sums = [0] * len(BUCKETS)
        for data in ledger:
            for i, bucket in enumerate(BUCKETS):
                sums[i] += data.get(bucket, 0)
            self.cost += data.get("cost") or 0.0
        self.usage = self.usage + TokenUsage(*sums)  # type: ignore[arg-type]

    def path(self, leaf_id: str | None = None) -> list[SessionEntry]:
        """Return the entries from the root to ``leaf_id``; default: to the current leaf."""
        out: list[SessionEntry] = []
        current = self.leaf_id if leaf_id is None else leaf_id
        while current is not None:
            entry = self._by_id.get(current)
            if entry is None:
                raise SessionCorrupt(f"entry {current!r} is missing", where=self.location or self.id)
            out.append(entry)
            current = entry.parent_id
            if len(out) > len(self._by_id):
                raise SessionCorrupt("the entries form a circle", where=self.location or self.id)
        out.reverse()
        return out

    def _rebuild(self) -> None:
        path = self.path()
        self.thinking_level, self.driven = NO_THINKING, None
        self._noted = {}
        held: dict[str, AgentMessage | None] = {}
        for entry in path:
            if entry.type in ("message", "custom_message", "branch_summary"):
                held[entry.id] = None
            elif entry.type == "compaction":
                held = self._compacted(held, entry)
            else:
                self._index(entry)
        self._hold(held)
        self.model = self._model_on(path)

    def _hold(self, held: Mapping[str, AgentMessage | None]) -> None:
        """Make the context of messages by entry; ``None``: the entry's own message."""
        self.context = [message or self._message(self._by_id[entry_id]) for entry_id, message in held.items()]
        self.context_ids = list(held)
        self.generation += 1

    def _compacted(
        self, held: Mapping[str, AgentMessage | None], compaction: SessionEntry
    ) -> dict[str, AgentMessage | None]:
        """Return what a compaction leaves: its summary, pinned messages from before the cut, kept and replaced messages."""
        data, ids = compaction.data, list(held)
        cut = ids.index(data["first_kept"]) if data.get("first_kept") in held else len(ids)
        out: dict[str, AgentMessage | None] = {}
        if cut or data.get("summary"):
            out[compaction.id] = _summary_message(str(data.get("summary", "")), compaction.ts)
        for entry_id in data.get("pinned") or ():
            out[entry_id] = _alone(held.get(entry_id) or self._message(self._by_id[entry_id]))
        for entry_id in ids[cut:]:
            out[entry_id] = held[entry_id]
        for entry_id, message in (data.get("replaced") or EMPTY).items():
            out[entry_id] = self._read(message, self._by_id[entry_id])
        return out

    def _model_on(self, path: Sequence[SessionEntry]) -> ModelChoice | None:
        """Return the model that the last answer or ``model_change`` of a path names, skipping those that name none."""
        held = dict(zip(self.context_ids, self.context, strict=True))
        for entry in reversed(path):
            said: Mapping[str, Any] = entry.data if entry.type == "model_change" else EMPTY
            if (message := held.get(entry.id)) is not None:
                if isinstance(message, AssistantMessage) and message.model:
                    return ModelChoice(message.provider, message.api, message.model)
            elif entry.type == "message" and isinstance(before := entry.data.get("message"), Mapping):
                said = before if before.get("role") == "assistant" else EMPTY
            if said.get("model"):
                return ModelChoice(*(str(said.get(name, "")) for name in ModelChoice._fields))
        return None

    def _message(self, entry: SessionEntry) -> AgentMessage:
        if entry.type == "branch_summary":
            text = str(entry.data.get("summary", ""))
            return CustomMessage(custom_type="branch_summary", content=blocks_of(text), in_context=True, ts=entry.ts)
        return self._read(entry.data.get("message"), entry)

    def _read(self, message: Any, entry: SessionEntry) -> AgentMessage:
        try:
            return message_from_dict(message, entry.ts)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SessionCorrupt(f"entry {entry.id!r}: {error}", where=self.location or self.id) from None

    def suspension(self) -> Suspension | None:
        """Return the tool calls at the end of the current branch that wait for a decision; ``None``: no call waits."""
        leaf = self._by_id.get(self.leaf_id) if self.leaf_id is not None else None
        if leaf is None or leaf.type == "message":
            return None

        def parent(entry: SessionEntry) -> SessionEntry | None:
            return self._by_id.get(entry.parent_id) if entry.parent_id is not None else None

        since = since_last_word(leaf, parent)
        if leaf.type == "suspension":
            return Suspension.at_end(since, ())
        answers = (message for message in reversed(self.context) if isinstance(message, AssistantMessage))
        answer = next(answers, None)
        return Suspension.at_end(since, answer.tool_calls if answer is not None else ())

    def watch_notes(self, tell: Callable[..., object]) -> None:
        """Call ``tell(*types)`` with the types of the notes on the branch, now and for those that come."""
        self._tell = tell
        tell(*self._noted)

    def keep_out(self, secrets: Secrets) -> None:
        """Redact ``secrets`` in every entry from now on, so that store, context and reloaded context agree (I15)."""
        self._secrets = secrets

    def _redacted(self, value: Any) -> Any:
        return value if self._secrets is None or not self._secrets.known else self._secrets.redact(value)

    async def append(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        sync: bool = False,
        ts: float | None = None,
        entry_id: str | None = None,
    ) -> str:
        """Write an entry after the leaf; return the id of the entry.

        An entry that the store wrote belongs to the session also when the wait for the disk is cancelled or fails.

        Args:
            sync: wait until the entry is on the disk.
            ts: seconds since the epoch; default: now.
            entry_id: an id that :meth:`announce` returned; default: a new one.

        Raises:
            UsageError: no session has entries of this type.
            SessionError: the session cannot be written.
        """
        # a session with an entry of an unknown type opens read-only
        if kind not in ENTRY_TYPES:
            raise UsageError(
                f"unknown type {kind!r} of a session's entry",
                hint="a plugin writes session.note('<plugin>.<what>', data)",
            )
        self._seq += 1
        data = data if type(data) is MessageData else freeze(self._redacted(data))
        ts = self._clock() if ts is None else ts
        entry = SessionEntry(self._seq, entry_id or self.announce(), self.leaf_id, kind, ts, data)
        self._take_in(entry)  # before the wait, so that what others write meanwhile follows the entry on its branch
        try:
            await self.handle.append(entry, sync=sync)
        except BaseException:
            # the store may hold the entry nevertheless
            if any(kept.id == entry.id for kept in reversed(self.handle.entries())):
                self.leaf_id = data.get("entry_id") if kind == "leaf" else self.leaf_id
            else:
                self._give_up(entry)
            self._rebuild()
            raise
        return entry.id

    def _give_up(self, entry: SessionEntry) -> None:
        """Forget an entry that the store did not take."""
        del self._by_id[entry.id]
        self.leaf_id = entry.parent_id if self.leaf_id == entry.id else self.leaf_id
        if entry.type == "usage":
            self.usage, self.cost = TokenUsage(), 0.0
            self._count([kept.data for kept in self._by_id.values() if kept.type == "usage"])

    def _take_in(self, entry: SessionEntry) -> None:
        self._by_id[entry.id] = entry
        if entry.type in ON_PATH:
            self.leaf_id = entry.id
        if entry.type == "usage":
            self._count((entry.data,))
        elif entry.type == "model_change":
            self.model = ModelChoice(*(str(entry.data.get(name, "")) for name in ModelChoice._fields))
        else:
            self._index(entry)

    def _index(self, entry: SessionEntry) -> None:
        """Keep what an entry of the current branch changes: the thinking level, and notes by their type."""
        if entry.type == "thinking_level_change":
            self.thinking_level = str(entry.data.get("thinking_level") or NO_THINKING)
        elif entry.type == "custom" and isinstance(kind := entry.data.get("custom_type"), str):
            self._noted.setdefault(kind, []).append(entry)
            if self._tell is not None:
                self._tell(kind)
            if kind == DRIVEN:
                self.driven = None if entry.data.get("over") else entry.id

    def holds(self, data: Mapping[str, Any]) -> bool:
        """Return whether the session has an entry whose data is this object, not merely an equal one."""
        return any(entry.data is data for entry in reversed(self._by_id.values()))

    def announce(self) -> str:
        """Reserve the id of an entry that an event names before the entry is written; return the id."""
        self._ids += 1
        while (entry_id := f"e{self._ids}") in self._by_id:
            self._ids += 1
        return entry_id

    async def append_message(self, message: AgentMessage, *, sync: bool = False, entry_id: str | None = None) -> str:
        """Write a message and append it to the context; return the id of the entry."""
        message = self._redacted(message)
        if not message.ts:
            message = with_time(message, self._clock())
        kind = "custom_message" if isinstance(message, CustomMessage) else "message"
        entry_id = await self.append(kind, MessageData(message), sync=sync, ts=message.ts, entry_id=entry_id)
        self.context.append(message)
        self.context_ids.append(entry_id)
        if isinstance(message, AssistantMessage):
            if self._calls is not None:
                self._calls.update([call.id for call in message.tool_calls])
            if message.model:
                self.model = ModelChoice(message.provider, message.api, message.model)
        return entry_id

    async def _keep_partial(self) -> None:
        """Make a message of the answer that a killed process left in pieces, so that the model sees the answer (I7)."""
        pieces: list[Mapping[str, Any]] = []
        for entry in reversed(self._by_id.values()):
            if entry.type == "partial" and entry.data.get("text"):
                pieces.insert(0, entry.data)
            elif entry.type in ("partial", "leaf") or entry.type in ON_PATH - {"custom"}:
                break
        if pieces:
            text = TextBlock("".join(str(piece["text"]) for piece in pieces))
            about: dict[str, Any] = {name: str(pieces[0].get(name, "")) for name in ModelChoice._fields}
            await self.append_message(AssistantMessage(content=(text,), stop_reason=StopReason.aborted, **about))
            await self.append_message(UserMessage(content=blocks_of(KILLED), source="crash"))

    async def append_model_change(self, model: ModelChoice) -> str:
        """Write that another model answers from the leaf on; return the id of the entry."""
        return await self.append("model_change", model._asdict())

    async def append_thinking_level_change(self, level: str) -> str:
        """Write the thinking level that holds from the leaf on; return the id of the entry."""
        return await self.append("thinking_level_change", {"thinking_level": level})

    async def append_compaction(
        self,
        summary: str,
        keep_from: int,
        tokens_before: int,
        details: Any = None,
        replacements: Mapping[int, AgentMessage] | None = None,
    ) -> str:
        """Write a compaction that replaces ``context[:keep_from]`` by ``summary``; return the id of the entry.

        Args:
            replacements: messages that take the place of kept ones, by their index in ``context``.
        """
        ids = self.context_ids
        data = {
            "summary": summary,
            "first_kept": ids[keep_from] if keep_from < len(ids) else None,
            "tokens_before": tokens_before,
            "details": details,
            "pinned": [ids[i] for i, m in enumerate(self.context[:keep_from]) if getattr(m, "pinned", False)],
            "replaced": {ids[i]: message_to_dict(m) for i, m in (replacements or {}).items()},
        }
        entry_id = await self.append("compaction", data, sync=True)
        self._hold(self._compacted(dict(zip(ids, self.context, strict=True)), self._by_id[entry_id]))
        return entry_id

    async def append_branch_summary(self, summary: str) -> str:
        """Write the summary of an abandoned branch at the leaf and into the context; return the id of the entry."""
        entry_id = await self.append("branch_summary", {"summary": summary}, sync=True)
        self.context.append(self._message(self._by_id[entry_id]))
        self.context_ids.append(entry_id)
        return entry_id

    async def note(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> str:
        """Write a note of a plugin on the current branch; return the id of the entry. No model sees a note.

        Args:
            kind: ``<plugin>.<what>``, for example ``planning.step``.
            data: a JSON object of at most 64 KiB. Large content belongs into the plugin's folder of the host's data.
            sync: wait until the note is on the disk.

        Raises:
            UsageError: the type has no plugin in front, or the data are too large or no JSON object.
            SessionError: the session cannot be written.
        """
        if not _NOTE_TYPE.match(kind):
            raise UsageError(f"{kind!r} is no type of a note", hint="write '<plugin>.<what>'")
        try:
            size = len(json.dumps(data, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise UsageError(f"note {kind!r}: its data are no JSON: {error}") from None
        if not isinstance(data, Mapping) or "custom_type" in data:
            raise UsageError(f"note {kind!r}: its data must be a mapping without 'custom_type'")
        if size > MAX_NOTE:
            hint = "keep it in a file of the plugin's, and the file's name in the note"
            raise UsageError(f"note {kind!r} has {size} characters of JSON; at most {MAX_NOTE} are kept", hint=hint)
        return await self.append("custom", {"custom_type": kind, **data}, sync=sync)

    def notes(self, kind: str | None = None) -> list[SessionNote]:
        """Return the notes of type ``kind`` from the root to the leaf, newest last; default: notes of all types."""
        kinds = filter(_NOTE_TYPE.match, self._noted) if kind is None else (kind,)
        found = []
        for entry in sorted((e for name in kinds for e in self._noted.get(name, ())), key=lambda e: e.seq):
            data = freeze({key: value for key, value in entry.data.items() if key != "custom_type"})
            found.append(SessionNote(entry.data["custom_type"], data, entry.id, entry.ts))
        return found

    async def label(self, entry_id: str, text: str) -> None:
        """Name an entry (an empty text removes the name); raise :class:`SessionError` when there is no such entry."""
        self.require(entry_id)
        await self.append("label", {"entry_id": entry_id, "label": text}, sync=True)

    def require(self, entry_id: str | None) -> None:
        """Raise :class:`SessionError` when there is no such entry; ``None`` stands before the first entry."""
        if entry_id is not None and entry_id not in self._by_id:
            raise SessionError(
                f"session {self.id!r} has no entry {entry_id!r}", hint="'skillkit sessions tree' draws them"
            )

    async def move_to(self, entry_id: str | None) -> None:
        """Persist another entry (``None``: before the root) as the leaf; raise :class:`SessionError` if it is missing."""
        self.require(entry_id)
        await self.append("leaf", {"entry_id": entry_id}, sync=True)
        self.leaf_id = entry_id
        self._rebuild()

    async def close(self) -> None:
        """Close the session's file and release the lock."""
        await self.handle.close()
