"""The power goes out in the middle of real runs: what was synced comes back, with the cause of everything that happened.

The file system of these tests forgets. It is the real one, and beside it is written down what a disk would have of it: of a file
what was there when a sync began that is over by now, and of a directory its names in the same way. A cut at any moment leaves
that, and any part of what was written since, torn at any byte. Syncs take their time, each another one.

All syncs of both stores go through ``os.fsync`` and ``os.fdatasync``, where this stands. So it needs neither a C compiler nor
root, as a preloaded library or a device of the kernel would, and runs wherever the tests run. SIGKILL is in
``tests/core/agent/test_agent_crash.py``.
"""

from __future__ import annotations

import asyncio
import os
import random
import stat
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from skillkit_sessions import JsonlStore, SqliteStore
from skillkit_sessions.disk import wait_for_the_disk
from skillkit_sessions.synced import SyncedSession

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, Session, Tool, ToolCallEventResult
from skillkit_core.contracts.session_store import SessionEntry, SessionStore
from skillkit_core.testing import Call, Reply, ScriptedModel

STORES: dict[str, Any] = {"jsonl": JsonlStore, "sqlite": SqliteStore}


class ForgetfulDisk:
    """What the disk has of the files below ``root``, which it had before.

    Attributes:
        lazy: no sync ends before this is set.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.root, self.random = root, random.Random(seed)
        self.lazy = threading.Event()
        self.lazy.set()
        self._sizes: dict[int, int] = {}  # by inode: bytes of a file
        self._names: dict[int, set[str]] = {root.stat().st_ino: set()}  # by inode: names in a directory
        self._lock = threading.Lock()
        monkeypatch.setattr(os, "fsync", self._sync)
        monkeypatch.setattr(os, "fdatasync", self._sync, raising=False)

    def _sync(self, fd: int) -> None:
        now = os.fstat(fd)
        names = set(os.listdir(fd)) if stat.S_ISDIR(now.st_mode) else set()
        with self._lock:
            pause = self.random.choice((0.0, 0.0005, 0.003))
        time.sleep(pause)
        assert self.lazy.wait(20)
        with self._lock:
            if stat.S_ISDIR(now.st_mode):
                self._names[now.st_ino] = names
            else:
                self._sizes[now.st_ino] = max(now.st_size, self._sizes.get(now.st_ino, 0))

    def cut(self) -> dict[str, bytes]:
        """What is left when the power goes out now: the content of files, by path."""
        with self._lock:
            return dict(self._left(self.root))

    def _left(self, folder: Path) -> Any:
        for name in sorted(self._names.get(folder.stat().st_ino, ())):
            path = folder / name
            if path.is_dir():
                yield from self._left(path)
            elif path.is_file():
                data, synced = path.read_bytes(), self._sizes.get(path.stat().st_ino, 0)
                if name == "sessions.db":
                    synced = len(data)  # SQLite itself syncs it
                kept = self.random.choice((synced, len(data), self.random.randint(synced, max(synced, len(data)))))
                yield str(path.relative_to(self.root)), data[:kept]


class Defers(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


class Play:
    """A run whose power may go out at any event, and in the middle of each tool; what was promised by then is noted."""

    def __init__(self, disk: ForgetfulDisk, store: SessionStore) -> None:
        self.disk, self.store = disk, store
        self.effects: list[str] = []
        self.suspended = False
        self.cuts: list[tuple[dict[str, bytes], tuple[str, ...], bool, int]] = []
        self.closed = 0  # entries of a session that was there when the store was closed

    def cut(self) -> None:
        self.cuts.append((self.disk.cut(), tuple(self.effects), self.suspended, self.closed))

    def agent(self, session: Session, turns: list[Any]) -> AgentRunner:
        async def act(args: Mapping[str, Any], ctx: Any) -> str:
            self.effects.append(ctx.tool_call_id)
            self.cut()
            return "done"

        tools = tuple(
            Tool(name, "Acts.", act, replay="safe" if name == "look" else "never") for name in ("look", "act", "ask")
        )
        config = AgentConfig(tools=tools, approver=Defers())
        agent = AgentRunner(config, host=Host(discover=False), session=session)
        agent.set_adapter(ScriptedModel(turns))
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="?") if e.tool_name == "ask" else None)
        agent.events.observe(lambda event: self.cut())
        return agent

    async def whole(self, turns: list[Any]) -> list[SessionEntry]:
        """Turns, a suspension that another handle of the session goes on with, the end."""
        session = await Session.create(self.store, time.time, session_id="s")
        agent = self.agent(session, [*turns, Reply("may I?", calls=[Call("ask", id="asked")])])
        await agent.chat("go")
        answer = await agent.chat("and ask")
        assert answer.outcome == "suspended"
        self.suspended = True
        self.cut()
        await agent.aclose()
        self.cut()

        session = await Session.open(self.store, "s", time.time)
        agent = self.agent(session, [Reply("more", calls=[Call("act", id="last")]), "over"])
        self.suspended = False  # it is decided, and the decision may be lost again as long as nothing came of it
        await agent.resume({"asked": "allow"})
        await agent.aclose()
        entries = list(session.entries)
        if isinstance(self.store, JsonlStore):
            await self.store.close()
            self.closed = len(entries)
            self.cut()
        await self.store.close()
        return entries

    def look_for_harm(self, folder: Path, entries: list[SessionEntry]) -> list[str]:
        """What is wrong after any of the cuts."""
        harm: list[str] = []
        for n, (files, effects, suspended, closed) in enumerate(self.cuts):
            place = folder / str(n)
            for name, data in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(data)
            kept = asyncio.run(self._kept(type(self.store)(directory=place / "new" / "sessions"), closed))
            if kept != entries[: len(kept)]:
                harm.append(f"cut {n}: what came back was never written")
            said = [e.data["message"] for e in kept if e.type == "message"]
            calls = {b["id"] for m in said for b in m["content"] if b.get("type") == "tool_call"}
            missing = [call for call in effects if call not in calls and call[0] != "l"]
            if missing:
                harm.append(f"cut {n}: effects of {missing} that the session does not know")
            if suspended and not any(e.type == "suspension" for e in kept):
                harm.append(f"cut {n}: the suspension that was told is lost")
            if len(kept) < closed:
                harm.append(f"cut {n}: {closed - len(kept)} entries are lost after the store was closed")
        return harm

    @staticmethod
    async def _kept(store: Any, closed: int) -> list[SessionEntry]:
        """The entries that are read, by a writer; it can go on."""
        if "s" not in await store.ids():
            return []
        handle = await store.open("s")
        kept = list(handle.entries())
        await handle.append(SessionEntry(len(kept) + 1, "after", None, "custom", 0.0, {}), sync=True)
        await handle.close()
        await store.close()
        return kept


def turns(seed: int) -> list[Any]:
    """Up to three turns with tools, side by side, then an answer."""
    pick, n, made = random.Random(seed), 0, []
    for _ in range(pick.randint(1, 3)):
        calls = []
        for _ in range(pick.randint(1, 3)):
            n += 1
            name = pick.choice(("act", "look"))
            calls.append(Call(name, id=f"{name}{n}"))
        made.append(Reply("word " * pick.randint(1, 400), calls=calls))
    return [*made, "well"]


@pytest.fixture(autouse=True)
def quiet() -> None:
    wait_for_the_disk()  # what earlier tests have left to the threads


def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int, **options: Any) -> list[str]:
    root = tmp_path / "disk"
    root.mkdir()
    with monkeypatch.context() as patch:
        disk = ForgetfulDisk(root, patch, seed)
        play = Play(disk, STORES[kind](directory=root / "new" / "sessions", **options))
        entries = asyncio.run(play.whole(turns(seed)))
        wait_for_the_disk()
    assert len(play.cuts) > 30 and "asked" in play.effects
    return play.look_for_harm(tmp_path / "left", entries)


@pytest.mark.spec("I10", "I18", "9.39")
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *(("jsonl", seed) for seed in range(3)),
        ("sqlite", 0),
        *(pytest.param(kind, seed, marks=pytest.mark.slow) for kind in STORES for seed in range(3, 100)),
    ],
)
def test_a_power_cut_leaves_every_effect_in_the_session(tmp_path, monkeypatch, kind, seed):
    assert played(tmp_path, monkeypatch, kind, seed) == []


@pytest.mark.parametrize("kind", STORES)
def test_without_any_sync_a_power_cut_does_harm(tmp_path, monkeypatch, kind):
    """The tests above can fail."""
    harm = played(tmp_path, monkeypatch, kind, 1, fsync="never")
    assert any("effects of" in one for one in harm) and any("suspension" in one for one in harm)


@pytest.mark.parametrize("kind", STORES)
def test_a_tool_that_would_not_wait_for_the_disk_would_do_harm(tmp_path, monkeypatch, kind):
    async def begin_only(session: SyncedSession) -> None:
        session.begin_sync()

    slow = ForgetfulDisk._sync

    def slower(disk: ForgetfulDisk, fd: int) -> None:
        disk.lazy.clear()
        threading.Timer(0.02, disk.lazy.set).start()
        slow(disk, fd)

    monkeypatch.setattr(SyncedSession, "sync", begin_only)
    monkeypatch.setattr(ForgetfulDisk, "_sync", slower)
    assert any("effects of" in one for one in played(tmp_path, monkeypatch, kind, 1))
