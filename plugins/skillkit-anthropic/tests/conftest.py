"""The recorded traffic, and a server on loopback that replays it."""

from __future__ import annotations

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
