"""The pytest plugin: fixtures for tests of SkillKit plugins. Nothing heavy is imported before a fixture is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .server import LLMServer


@pytest.fixture
def llm_server() -> Iterator[LLMServer]:
    """A scripted model server on loopback (:class:`~skillkit_testkit.server.LLMServer`), running, without a script.

    The test fails at its end when something was asked that the script did not foresee.
    """
    from .server import LLMServer

    with LLMServer() as server:
        yield server
    server.check()
