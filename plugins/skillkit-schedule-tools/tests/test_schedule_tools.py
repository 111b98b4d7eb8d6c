"""The tools, as a model calls them, and who may take runs and see notices."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
import skillkit_permissions.plugin
import skillkit_schedule_tools.plugin
import skillkit_skills.plugin
from skillkit_schedule_tools import Loop, Schedule, store_of
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import AgentConfig, AgentRunner, Survey, UserInterface, hookimpl
from skillkit_core.testing import ScriptedModel, VirtualClock

HOUR = 3600.0
RUNS = ["schedule_skill_run_tool", "cancel_schedule_tool"]


class TestConformance(ToolConformance):
    plugin = skillkit_schedule_tools.plugin
    calls: ClassVar = {
        "notify_user_tool": {"text": "Done."},
        "schedule_reminder_tool": {"text": "Call Ida", "when": "every weekday at 8"},
        "list_schedules_tool": {},
    }


class Person(UserInterface):
    """Somebody who reads notices."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def ask(self, survey: Survey) -> None:
        return None

    async def notify(self, text: str, level: str = "info") -> None:
        self.read.append(text)


@pytest.fixture
def desk(make_host, call_tools):
    def calls(*turns: Any, settings: Any = None, plugins: Any = (), **config: Any) -> Any:
        given = {"schedule.zone": "UTC", **(settings if settings is not None else {"tools.allow": RUNS})}
        parts = [("schedule-tools", skillkit_schedule_tools.plugin), ("skills", skillkit_skills.plugin), *plugins]
        return call_tools(make_host(*parts, settings=given), *turns, **config)

    return calls


@pytest.mark.smoke
def test_a_model_reminds_schedules_lists_and_cancels(desk, host, store):
    clock = VirtualClock()
    reminder, run, listed = desk(
        ("schedule_reminder_tool", {"text": "Call Ida", "when": "tomorrow at 9"}),
        (
            "schedule_skill_run_tool",
            {"request": "Look for news.", "when": "every monday at 7", "zone": "Europe/Berlin"},
        ),
        ("list_schedules_tool", {}),
        clock=clock,
    )
    assert reminder.text.startswith(f"Kept as {reminder.details['name']}: once, Wed 2023-11-15 09:00 UTC")
    assert "At 07:00 on Monday (Europe/Berlin)" in run.text and run.details["cron"] == "0 7 * * 1"
    assert len(listed.text.splitlines()) == 2 and "Look for news." in listed.text
    kept = store.get(run.details["name"])
    assert (kept.kind, kept.missed, kept.approvals) == ("run", "once", "wait") and kept.folder
    gone, unknown = desk(*(("cancel_schedule_tool", {"name": name}) for name in (kept.id, "nosuch")))
    assert gone.text.startswith(f"Cancelled {kept.id}") and unknown.is_error and store.get(kept.id) is None


def test_what_is_empty_too_long_of_another_type_or_unclear_is_refused(desk, store):
    turns = [
        ("schedule_reminder_tool", {"text": " ", "when": "tomorrow at 9"}),
        ("schedule_reminder_tool", {"text": "x" * 2001, "when": "tomorrow at 9"}),
        ("schedule_reminder_tool", {"text": 7, "when": "tomorrow at 9"}),
        ("schedule_skill_run_tool", {"request": "x", "when": "whenever"}),
        ("schedule_skill_run_tool", {"request": "x", "when": "every day at 8", "skill": "nosuch"}),
        ("notify_user_tool", {"text": "  "}),
        ("cancel_schedule_tool", {"name": ""}),
    ]
    told = desk(*turns)
    assert all(one.is_error for one in told) and store.schedules() == []
    assert "it is not clear when" in told[3].text and "no skill 'nosuch'" in told[4].text


def test_a_run_is_scheduled_when_a_person_agrees_and_by_nobody_else(desk, store):
    guard = [("permissions", skillkit_permissions.plugin)]
    turn = ("schedule_skill_run_tool", {"request": "x", "when": "every day at 8"})
    (refused,) = desk(turn, plugins=guard, settings={})
    assert refused.outcome == "denied" and store.schedules() == []
    (kept,) = desk(turn, plugins=guard, settings={"permissions.allow": ["schedule_skill_run_tool"]})
    assert kept.outcome == "ok" and len(store.schedules()) == 1
    (denied,) = desk(turn, plugins=guard, settings={"permissions.deny": ["schedule_skill_run_tool"]})
    assert denied.is_error and len(store.schedules()) == 1


def test_a_notice_reaches_the_person_now_or_when_somebody_comes_once(desk, make_host, store):
    person = Person()
    (now,) = desk(("notify_user_tool", {"text": "Half of it is done."}), ui=person)
    assert now.text == "The person was told." and person.read == ["Half of it is done."]
    (later,) = desk(("notify_user_tool", {"text": "All is done."}))
    assert "when somebody comes" in later.text

    def come() -> list[str]:
        somebody = Person()

        async def main() -> None:
            host = make_host(("schedule-tools", skillkit_schedule_tools.plugin))
            async with AgentRunner(AgentConfig(model="any", ui=somebody), host=host) as agent:
                agent.set_adapter(ScriptedModel(["Hello."]))
                await agent.chat("Hi.")

        asyncio.run(main())
        return somebody.read

    assert come() == ["All is done."] and come() == []


class Takes:
    """A plugin that has workers elsewhere."""

    def __init__(self, answer: str | None) -> None:
        self.answer, self.taken = answer, []

    @hookimpl(optionalhook=True)
    async def take_scheduled_run(self, schedule, request, key):
        self.taken.append((schedule.id, request, key))
        return self.answer


@pytest.mark.parametrize(("answer", "state"), [("job 7", "handed-over"), (None, "failed")])
def test_another_plugin_may_take_a_run_and_the_key_of_the_run_is_its_own(make_host, tmp_path, answer, state):
    takes = Takes(answer)
    host = make_host(("schedule-tools", skillkit_schedule_tools.plugin), ("takes", takes))
    store = store_of(host)
    store.add(
        Schedule("look", "run", "Look.", folder=str(tmp_path / "gone"), next=1.0, at=1.0, zone="UTC", words="once")
    )
    ended: list[Any] = []
    asyncio.run(Loop(host, store, lambda schedule, run: ended.append(run)).run(once=True))
    assert takes.taken == [("look", "Look.", "schedule-look-1")]
    assert [run.state for run in ended] == [state] and (answer or "is not there") in ended[0].reason


def test_one_loop_runs_different_schedules_side_by_side_and_each_one_in_turn(make_host, tmp_path):
    at_work: list[str] = []
    most: list[int] = []

    class Slow:
        @hookimpl(optionalhook=True)
        async def take_scheduled_run(self, schedule):
            at_work.append(schedule.id)
            most.append(len(at_work))
            assert at_work.count(schedule.id) == 1
            await asyncio.sleep(0.02)
            at_work.remove(schedule.id)
            return "elsewhere"

    host = make_host(
        ("schedule-tools", skillkit_schedule_tools.plugin), ("slow", Slow()), settings={"schedule.parallel": 2}
    )
    store = store_of(host)
    for name in ("a", "b", "c"):
        store.add(Schedule(name, "webhook", "Look.", folder="/"))
        for _ in range(2):
            store.deliver(name, 1.0, "{}", None)
    ended: list[Any] = []
    asyncio.run(Loop(host, store, lambda schedule, run: ended.append(run.schedule)).run(once=True))
    assert sorted(ended) == ["a", "a", "b", "b", "c", "c"] and max(most) == 2
