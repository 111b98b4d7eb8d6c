"""What tests wait for: a fact that has come, one that comes, and one that does not."""

import asyncio
import subprocess
import sys
import threading

import pytest
from skillkit_testkit import until, until_changed, until_ended, until_event, waiting

from skillkit_core import AgentRunner
from skillkit_core.testing import ScriptedModel


async def test_a_condition_is_waited_for_while_other_tasks_bring_it():
    seen = []
    task = asyncio.create_task(asyncio.to_thread(seen.append, 1))
    await until(lambda: seen)
    await task


async def test_an_event_wakes_who_waits_for_what_it_brings(host):
    async with AgentRunner(host=host) as agent:
        agent.set_adapter(ScriptedModel(["hi"]))
        run = asyncio.create_task(agent.chat("go"))
        await until_event(lambda: agent.messages and agent.messages[-1].text == "hi", agent.events)
        await run
        await until_event(lambda: True, agent.events)


def test_a_change_in_a_folder_wakes_who_waits_for_it(tmp_path):
    threading.Thread(target=(tmp_path / "there").write_text, args=("x",)).start()
    until_changed((tmp_path / "there").exists, tmp_path)
    with pytest.raises(OSError, match="No such file"):
        until_changed(lambda: False, tmp_path / "nowhere")


def test_the_end_of_a_process_wakes_who_waits_for_it():
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        process.stdin.close()
        until_ended(process.pid)
    until_ended(process.pid)


def test_what_does_not_come_fails_the_test_and_says_what(tmp_path, monkeypatch, host):
    monkeypatch.setattr(waiting, "PATIENCE", 0)
    with pytest.raises(AssertionError, match="it did not come true within 0 s"):
        asyncio.run(until(lambda: False))
    with pytest.raises(AssertionError, match="no change of "):
        until_changed(lambda: False, tmp_path)
    with pytest.raises(AssertionError, match="no event made it true"):
        asyncio.run(until_event(lambda: False, AgentRunner(host=host).events))
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        with pytest.raises(AssertionError, match="goes on after 0 s"):
            until_ended(process.pid)
        process.stdin.close()
