"""What counts against the time of a plugin's import: its own work and its waiting, not that of a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from skillkit_core.host.loading import PluginTimeout, time_limit


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> Callable[[time_limit, float], None]:
    """``worked(limit, seconds)`` is the alarm of a body that has worked for so many seconds since it began."""
    now = [0.0]
    monkeypatch.setattr("time.thread_time", lambda: now[0])

    def alarm(limit: time_limit, seconds: float) -> None:
        now[0] = seconds
        limit._on_alarm(0, sys._getframe())

    return alarm


def test_a_body_that_is_given_a_third_of_a_busy_machine_has_its_whole_time(
    worked: Callable[[time_limit, float], None],
) -> None:
    with time_limit(1_000) as limit:
        worked(limit, 333)
        worked(limit, 666)
        assert limit.over == 0
        with pytest.raises(PluginTimeout):
            worked(limit, 999)
    assert limit.over == 1


@pytest.mark.parametrize(
    "seconds", [0, 50, 1_000], ids=["waits for ever", "looks again and again", "works all the time"]
)
def test_a_body_that_waits_or_works_all_the_time_ends_at_the_first_alarm(
    worked: Callable[[time_limit, float], None], seconds: float
) -> None:
    with time_limit(1_000) as limit, pytest.raises(PluginTimeout):
        worked(limit, seconds)
    assert limit.over == 1
