"""The contract's own suite, on every store that the project has."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from skillkit_testkit.conformance import SessionStoreConformance

from skillkit_core import MemoryStore
from skillkit_core.contracts.session_store import SessionStore

pytestmark = pytest.mark.smoke


@pytest.mark.spec("9.39", "9.40", "9.53", "I18")
class TestJsonlStore(SessionStoreConformance):
    opener = "skillkit_sessions.store:JsonlStore.at"


@pytest.mark.spec("9.40", "9.53", "I18")
class TestSqliteStore(SessionStoreConformance):
    opener = "skillkit_sessions.sqlite_store:SqliteStore.at"


class TestMemoryStore(SessionStoreConformance):
    """One object stands for the place: what it keeps is there as long as it is."""

    @pytest.fixture
    def make_store(self) -> Callable[[], SessionStore]:
        store = MemoryStore()
        return lambda: store
