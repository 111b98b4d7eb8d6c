"""The recorded traffic, and a server on loopback that replays it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml


def shared_dir() -> Path:
    """Where the shared material lies: ``SKILLKIT_SHARED``, else ``../shared`` beside the repository."""
    given = os.environ.get("SKILLKIT_SHARED")
    if given:
        return Path(given)
    here = Path(__file__).resolve()
    root = next((p for p in here.parents if (p / "skillkit_core").is_dir()), here.parents[3])
    return root.parent / "shared"


@dataclass(frozen=True)
class Case:
    """One recorded answer and what it must become."""

    id: str
    index: dict[str, Any]
    path: Path

    @property
    def meta(self) -> dict[str, Any]:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return yaml.load((self.path / "meta.yaml").read_text(encoding="utf-8"), loader)

    @property
    def request(self) -> dict[str, Any]:
        return json.loads((self.path / "request.json").read_text(encoding="utf-8"))

    @property
    def body(self) -> bytes:
        return next(p for p in self.path.iterdir() if p.name.startswith("response.")).read_bytes()


@pytest.fixture(scope="session")
def wire() -> Path:
    path = shared_dir() / "wire"
    if not (path / "dev" / "index.jsonl").is_file():
        reason = "recorded traffic not found: set SKILLKIT_SHARED to the directory that holds wire/dev"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def cases(wire: Path) -> list[Case]:
    lines = (wire / "dev" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return [Case(e["id"], e, wire / "dev" / e["id"]) for e in entries if e["api"] == "anthropic-messages"]


@pytest.fixture(scope="session")
def replay(wire: Path) -> Iterator[str]:
    """The address of a replay server."""
    command = [sys.executable, str(wire / "replay_server.py"), "--wire", str(wire / "dev")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            word, url = process.stdout.readline().split()
            assert word == "REPLAY"
            yield url
        finally:
            process.terminate()


class Loopback:
    """A scripted server on 127.0.0.1: it keeps what it is asked, and answers with the next thing of its script.

    An answer is ``(status, headers, body)``; the last one repeats. A request is kept as the bytes of its head and body.
    """

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[Received] = []
        self.connections = self.open = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def say(self, text: str, **headers: str) -> None:
        """Answer with a stream."""
        start = {"type": "message_start", "message": {"id": "m", "content": []}}
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}}
        events = (start, block, {"type": "content_block_stop", "index": 0}, {"type": "message_stop"})
        body = b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)
        self.script.append((200, {"content-type": "text/event-stream", **headers}, body))

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        """Answer with a JSON body."""
        self.script.append((status, {"content-type": "application/json", **headers}, json.dumps(value).encode()))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while True:
                await self._one(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = Received(await reader.readuntil(b"\r\n\r\n"))
        received.body = await reader.readexactly(int(received.headers.get("content-length", 0)))
        self.requests.append(received)
        status, headers, body = self.script[min(len(self.requests), len(self.script)) - 1]
        head = "".join(f"{k}: {v}\r\n" for k, v in {**headers, "content-length": str(len(body))}.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)
        await writer.drain()


class Received:
    """A request as it came."""

    def __init__(self, head: bytes) -> None:
        self.head, self.body = head, b""

    @property
    def target(self) -> str:
        return self.head.split(b" ")[1].decode()

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode().split("\r\n")[1:]
        return {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}


@pytest.fixture
def loopback() -> type[Loopback]:
    """The scripted server; start it with ``async with``."""
    return Loopback
