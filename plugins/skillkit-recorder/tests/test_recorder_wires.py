"""Sessions are recorded from real wires and replayed elsewhere, without a network, and what differs is said."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from recorder_scripted import SECRET, counting, scripted
from skillkit_recorder import Recorder, Recording, RecordingError, replay
from skillkit_testkit import Call, Fail, Reply

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Host,
    ToolCallEventResult,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call as Calls, Reply as Says


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Two calls at once, an update each, and an answer."""
    path = tmp_path / "session.jsonl"

    async def main() -> None:
        turns = (Says("Both.", calls=[Calls("count", {"n": 1}), Calls("count", {"n": 9})]), "Done.")
        async with scripted(*turns, tools=(counting([]),)) as agent:
            with Recorder(agent, path):
                await agent.chat("Count twice.")

    asyncio.run(main())
    return path


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_session_over_a_real_wire_replays_in_another_process_without_it(
    wire: str, llm_server: Any, tmp_path: Path
) -> None:
    plugin = pytest.importorskip(f"skillkit_{wire}.plugin")
    path, ran = tmp_path / "session.jsonl", []
    llm_server.script(
        Fail(503),
        Reply(text=["Let ", "me ", "count."], tool_calls=[Call("count", {"n": 2}), Call("count", {"n": 5})]),
        Reply(text=f"All counted, and the key is {SECRET}."),
    )

    async def main() -> None:
        environ = {f"{wire.upper()}_API_KEY": SECRET, "SKILLKIT_HOME": str(tmp_path)}
        host = Host(discover=False, plugins=[(wire, plugin)], environ=environ)
        url = llm_server.openai_url if wire == "openai" else llm_server.url
        config = AgentConfig(model="any", provider=wire, base_url=url, tools=(counting(ran),))
        async with AgentRunner(config, host=host) as agent:
            with Recorder(agent, path):
                await agent.chat("Count, please.")
        await host.aclose()

    asyncio.run(main())
    assert ran == [2, 5] and SECRET not in path.read_text()
    program = """
        import asyncio, sys
        from skillkit_recorder import replay
        done = asyncio.run(replay(sys.argv[1]))
        print(done.report())
        print(done.response.content)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the replay matches"), done.stdout
    assert "All counted" in done.stdout
    assert len(llm_server.requests) == 3  # nobody was asked again


def test_a_tool_is_not_run_again_and_completion_keeps_its_order(recorded: Path) -> None:
    done = asyncio.run(replay(recorded))
    assert done.matches, done.report()
    ends = [e for e in Recording.load(recorded).events if e["type"] == "tool_execution_end"]
    assert [e["content"][0]["text"] for e in ends] == ["counted to 9", "counted to 1"]


class NoNines:
    """A plugin that was not there when the session was recorded."""

    @hookimpl
    def before_tool_call(self, event: Any) -> Any:
        return ToolCallEventResult(block=True, reason="no nines") if event.args["n"] == 9 else None


def test_what_a_changed_plugin_changes_is_said_with_its_place(recorded: Path) -> None:
    done = asyncio.run(replay(recorded, plugins=[("careful", NoNines())]))
    assert not done.matches
    said = done.report()
    assert "tool_execution_end of count" in said and "blocked" in said and "no nines" in said
    only = asyncio.run(replay(recorded, plugins=[("careful", NoNines())], events=["turn_end"]))
    assert {d.where.split(",")[-1].strip() for d in only.differences} == {"turn_end (assistant)"}


def test_the_fixture_fails_with_what_differs(recorded: Path, replay_recording: Any) -> None:
    assert replay_recording(recorded).response.content == "Done."
    with pytest.raises(pytest.fail.Exception, match="no nines"):
        replay_recording(recorded, plugins=[("careful", NoNines())])


@pytest.mark.smoke
def test_a_changed_request_is_said_with_its_path(recorded: Path) -> None:
    lines = recorded.read_text().replace("Count twice.", "Count thrice.", 1)  # what the user says; not what was sent
    recorded.write_text(lines)
    done = asyncio.run(replay(recorded))
    assert any(d.where.startswith("request 1") and "messages[0]" in d.path for d in done.differences), done.report()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: [], ":1: it is no recording: it is empty"),
        (lambda lines: lines[1:], ":1: it is no recording: the first line must be its head"),
        (lambda lines: [lines[0], "{", *lines[2:]], ":2: "),
        (lambda lines: [lines[0], '{"type":"what"}', *lines[2:]], ":2: "),
        (lambda lines: [lines[0], '{"type":["what"]}', *lines[2:]], ":2: "),
        (lambda lines: [lines[0].replace('"version": 1', '"version": 99'), *lines[1:]], ":1: "),
    ],
)
def test_a_damaged_or_newer_file_is_refused_with_its_line(recorded: Path, spoil: Any, words: str) -> None:
    recorded.write_text("".join(line + "\n" for line in spoil(recorded.read_text().splitlines())))
    with pytest.raises(RecordingError) as caught:
        Recording.load(recorded)
    assert str(caught.value).startswith(str(recorded)) and words in str(caught.value)


def test_a_recording_with_any_mistake_is_refused_or_replays_to_an_end(recorded: Path) -> None:
    """Lines that are missing, come twice or in another order, and values of another kind: never an error of our own."""
    dice = random.Random(7)
    lines = recorded.read_text().splitlines()
    ends: set[str] = set()
    for _ in range(150):
        spoiled = list(lines)
        at, to = dice.randrange(len(lines)), dice.randrange(len(lines))
        match dice.randrange(4):
            case 0:
                del spoiled[at]
            case 1:
                spoiled.insert(to, spoiled[at])
            case 2:
                spoiled[at], spoiled[to] = spoiled[to], spoiled[at]
            case _:
                spoiled[at] = json.dumps(mistaken(json.loads(spoiled[at]), dice))
        recorded.write_text("".join(line + "\n" for line in spoiled))
        try:
            ends.add(str(asyncio.run(replay(recorded, patience=0.01)).matches))
        except UsageError as error:
            assert "\n" not in str(error)
            ends.add("refused")
    assert ends == {"True", "False", "refused"}


def mistaken(value: Any, dice: random.Random) -> Any:
    """A JSON value with something in it left out or replaced."""
    if isinstance(value, list) and value:
        at = dice.randrange(len(value))
        return [*value[:at], mistaken(value[at], dice), *value[at + 1 :]]
    if not isinstance(value, dict) or not value:
        return dice.choice([None, 1, "x", [], {}, -1, True])
    key, how = dice.choice(list(value)), dice.random()
    if how < 0.2:
        return {k: v for k, v in value.items() if k != key}
    return {**value, key: dice.choice([None, 1, "x", [], {}, ["a"], True]) if how < 0.5 else mistaken(value[key], dice)}


def test_every_beginning_of_a_recording_replays(recorded: Path) -> None:
    """A file that was cut off says less, not something else."""
    lines = recorded.read_text().splitlines(keepends=True)
    for n in range(1, len(lines)):
        recorded.write_text("".join(lines[:n]))
        done = asyncio.run(replay(recorded, patience=0.05))
        assert done.matches, f"{n} lines: {done.report()}"
