"""The replay server and the recordings, found in the shared folder and never copied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


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
