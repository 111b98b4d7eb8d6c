"""The pytest plugin: the fixture that replays a recording. Nothing heavy is imported before the fixture is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .replaying import Replay


@pytest.fixture
def replay_recording() -> Callable[..., Replay]:
    """``replay_recording(path, plugins=[...])`` replays a recorded session and fails with what differs.

    Takes what :func:`~skillkit_recorder.replay` takes, and gives the :class:`~skillkit_recorder.Replay`.
    """
    import asyncio

    from .replaying import replay

    def check(recording: Any, **options: Any) -> Replay:
        done = asyncio.run(replay(recording, **options))
        if not done.matches:
            pytest.fail(done.report(), pytrace=False)
        return done

    return check
