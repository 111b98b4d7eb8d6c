"""Fresh plans for as long as one likes: ``SKILLKIT_SOAK_MINUTES=10 pytest tests/core/agent/test_agent_soak.py -m slow -s``.

Each round prints its seed before it begins; ``SKILLKIT_SOAK_SEED`` plays the rounds from that one on again.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from importlib.util import find_spec
from typing import Any

import pytest
from drive import Drive
from drive_places import FilePlace
from drive_plans import PLANS, Plan
from hypothesis import HealthCheck, given, seed, settings

ROUND = 500
SETTINGS = settings(
    max_examples=ROUND, deadline=None, database=None, print_blob=False, suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
def test_a_soak_of_fresh_plans(kit: Any, go: Any) -> None:
    minutes = float(os.environ.get("SKILLKIT_SOAK_MINUTES", "10"))
    first = int(os.environ.get("SKILLKIT_SOAK_SEED", random.randrange(10**6)))
    end, plans, files = time.monotonic() + 60 * minutes, itertools.count(), find_spec("skillkit_sessions") is not None

    @SETTINGS
    @given(PLANS)
    def play(plan: Plan) -> None:
        n = next(plans)
        place = FilePlace(kit.cwd / f"plan {n}") if files and n % 10 == 0 else None
        go(Drive(kit, plan, place).play)

    for n in itertools.count(first):
        if time.monotonic() > end:
            break
        print(f"soak: SKILLKIT_SOAK_SEED={n}, {max(0, end - time.monotonic()):.0f} s to go", flush=True)
        seed(n)(play)()
    print(f"soak: {next(plans)} plans, seeds {first} to {n - 1}", flush=True)
