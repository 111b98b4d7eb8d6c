"""The session store ``postgres``: the suite of its contract, and two writers of whom one is paused for longer than the lease."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import durable_postgres
import pytest
from skillkit_testkit.conformance import SessionStoreConformance

from skillkit_core import SessionEntry, SessionHeader
from skillkit_core.errors import SessionLocked, SessionTaken, UsageError


class TestPostgresStore(SessionStoreConformance):
    opener = "durable_postgres:store_at"

    @pytest.fixture(autouse=True)
    def database(self, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(durable_postgres.URL, postgres)
