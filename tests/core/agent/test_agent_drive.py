"""Random scripts under random actions at random gates; after each, the invariants of the runtime (spec, sections 8 and 9).

A plan (``support/drive_plans.py``) says what the model answers, which handlers fail, in which order parked effects go on, what is
decided about calls that wait, how the history is compacted, and what somebody does at which stop: steer, follow up, queue for
the next run, cancel an item, abort, cancel the task, read the session, crash. ``support/drive.py`` plays it.

A failure prints its plan. Played again: ``SKILLKIT_PLAN="Plan(...)" pytest tests/core/agent/test_agent_drive.py -k printed``.
"""

from __future__ import annotations

import itertools
import os
from importlib.util import find_spec
from typing import Any

import drive_plans
import pytest
from drive import Drive
from drive_places import FilePlace
from drive_plans import FAILING, PLANS, TURNS, Call, Plan, Turn
from hypothesis import HealthCheck, example, given, settings, strategies as st

COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
}
EXAMPLES = settings.default.max_examples  # 25 in a checkout, with --hypothesis-profile=full 1,000
NUMBERS = itertools.count(1)
ONE = (Turn(calls=(Call("waits", {"n": 1}, "c"),)),)


@pytest.mark.spec(
    "I1", "I2", "I3", "I4", "I6", "I7", "I8", "I9", "I10", "I11", "I12", "I14", "I15", "I16", "I17", "I18", "I19"
)
@settings(max_examples=2 * EXAMPLES, derandomize=True, **COMMON)
@given(PLANS)
@example(Plan(ONE, actions=(("persist tool_result", 0, "abort"),)))
@example(Plan(ONE, actions=(("tool", 0, "follow_up"), ("mark", 0, "abort"))))
@example(Plan(ONE, actions=(("tool", 0, "steer"), ("persist user", 1, "abort"))))
def test_random_runs_under_random_actions_keep_the_invariants(kit: Any, go: Any, plan: Plan) -> None:
    go(Drive(kit, plan).play)


@pytest.mark.spec("I18")
@pytest.mark.skipif(find_spec("skillkit_sessions") is None, reason="skillkit-sessions is not installed")
@settings(max_examples=EXAMPLES // 2, derandomize=True, **COMMON)
@given(PLANS)
def test_random_runs_over_session_files_keep_them_too(kit: Any, go: Any, plan: Plan) -> None:
    folder = kit.cwd / f"drive {next(NUMBERS)}"
    go(Drive(kit, plan, FilePlace(folder)).play)


@pytest.mark.spec("I13")
@settings(max_examples=EXAMPLES // 2, derandomize=True, **COMMON)
@given(TURNS, st.lists(st.sampled_from(FAILING), min_size=1, max_size=4, unique=True).map(tuple), PLANS)
def test_failing_handlers_that_are_no_guards_change_nothing(
    kit: Any, go: Any, turns: Any, failing: Any, plan: Plan
) -> None:
    async def play(names: tuple[str, ...]) -> tuple[Any, ...]:
        other = {"guard": plan.guard, "compactor": plan.compactor, "window": plan.window, "parallel": plan.parallel}
        drive = Drive(kit, Plan(turns, failing=names, approvals=plan.approvals, decisions=plan.decisions, **other))
        await drive.play()
        return drive.outcome, [(m.role, m.text) for m in drive.agent.messages], drive.agent.session.usage

    assert go(lambda: play(())) == go(lambda: play(failing))


@settings(max_examples=EXAMPLES, derandomize=True, **COMMON)
@given(PLANS)
def test_a_plan_prints_as_what_makes_it_again(plan: Plan) -> None:
    assert eval(repr(plan), vars(drive_plans)) == plan


@pytest.mark.skipif("SKILLKIT_PLAN" not in os.environ, reason="SKILLKIT_PLAN holds no plan")
def test_the_printed_plan(kit: Any, go: Any) -> None:
    go(Drive(kit, eval(os.environ["SKILLKIT_PLAN"], vars(drive_plans))).play)
