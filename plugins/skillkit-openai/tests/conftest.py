"""The replay server and the recordings, found in the shared folder and never copied."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from skillkit_openai.config import OpenAISection

from skillkit_core.descriptors import ConfigSection
from skillkit_core.settings.config import Config, Layer


def shared_folder() -> Path | None:
    named = os.environ.get("SKILLKIT_SHARED")
    if named:
        return Path(named)
    for folder in Path(__file__).resolve().parents:
        if (folder / "skillkit_core").is_dir():
            found = folder.parent / "shared"
            return found if found.is_dir() else None
    return None


def need_shared(part: str) -> Path:
    folder = shared_folder()
    found = None if folder is None else folder / part
    if found is None or not found.exists():
        reason = f"no shared data {part!r}: set SKILLKIT_SHARED"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture
def section() -> Callable[[Any], OpenAISection]:
    """Return the section ``openai`` of what a configuration says."""

    def made(data: Any) -> OpenAISection:
        layers, sections = [Layer("user", {"openai": data})], {"openai": ConfigSection("openai", OpenAISection)}
        found: OpenAISection = Config(layers, lambda: sections).section("openai")
        return found

    return made


@pytest.fixture(scope="session")
def wire() -> Path:
    """The folder of recorded cases."""
    return need_shared("wire/dev")


@pytest.fixture(scope="session")
def index(wire: Path) -> list[dict[str, Any]]:
    """The recorded cases of both OpenAI wires."""
    lines = (wire / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [c for c in map(json.loads, lines) if c["api"].startswith("openai-")]


@pytest.fixture(scope="session")
def replay(wire: Path) -> Iterator[str]:
    """URL of the replay server."""
    command = [sys.executable, str(wire.parent / "replay_server.py"), "--wire", str(wire)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[1]
        finally:
            process.terminate()


class Case:
    """One recorded case, and what must come of it."""

    def __init__(self, folder: Path, entry: dict[str, Any]) -> None:
        import yaml

        self.id: str = entry["id"]
        self.api: str = entry["api"]
        self.provider: str = entry["provider"]
        self.features: list[str] = entry["features"]
        self.stream: bool = entry["stream"]
        self.folder = folder / self.id
        meta = yaml.load((self.folder / "meta.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
        self.expected: dict[str, Any] = meta["expected"]
        self.status: int = meta["status"]
        self.body = (self.folder / meta["body_file"]).read_bytes()


@pytest.fixture(scope="session")
def cases(wire: Path, index: list[dict[str, Any]]) -> list[Case]:
    """All recorded cases of both wires."""
    return [Case(wire, entry) for entry in index]


class Loopback:
    """A scripted server on 127.0.0.1: it keeps what it is asked, and answers with the next thing of its script.

    An answer is ``(status, headers, pieces)``; a piece ``None`` holds the connection until the client goes away.
    The last answer repeats.
    """

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str], list[bytes | None]]] = []
        self.requests: list[dict[str, Any]] = []
        self.connections = self.open = 0
        self.left = asyncio.Event()
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
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        """Answer with a JSON body."""
        self.script.append((status, {"content-type": "application/json", **headers}, [json.dumps(value).encode()]))

    def sse(self, *events: Any, hold: bool = False) -> None:
        """Answer with a stream of events: objects, or bytes as they are."""
        pieces: list[bytes | None] = [
            e if isinstance(e, bytes) else b"data: " + json.dumps(e).encode() + b"\n\n" for e in events
        ]
        self.script.append((200, {"content-type": "text/event-stream"}, [*pieces, None] if hold else pieces))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            self.left.set()
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head_bytes = await reader.readuntil(b"\r\n\r\n")
        lines = head_bytes.decode().split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = lines[0].split(" ")
        seen = {"method": method, "target": target, "headers": headers, "body": body, "head": head_bytes}
        self.requests.append(seen)
        status, extra, pieces = self.script[min(len(self.requests), len(self.script)) - 1]
        head = "".join(f"{k}: {v}\r\n" for k, v in {**extra, "transfer-encoding": "chunked"}.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode())
        for piece in pieces:
            if piece is None:
                await writer.drain()
                await reader.read(1)
                return False
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


@pytest.fixture
def loopback() -> type[Loopback]:
    """The scripted server; start it with ``async with``."""
    return Loopback
