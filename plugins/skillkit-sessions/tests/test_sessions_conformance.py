"""The contract's own suite."""

from __future__ import annotations

from skillkit_testkit.conformance import SessionStoreConformance


class TestJsonlStore(SessionStoreConformance):
    opener = "skillkit_sessions.store:JsonlStore.at"
