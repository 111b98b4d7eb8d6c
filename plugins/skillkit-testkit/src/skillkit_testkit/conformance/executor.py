"""The executor suite: a tool behaves the same wherever it runs, and each call has one result, whatever happens there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    Host,
    ImageBlock,
    RunAborted,
    ToolCallEventResult,
    ToolExecutor,
    ToolResultMessage,
)
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

from . import executor_tools
from .executor_tools import LIVE_LINES
from .processes import Family
from .running import run

__all__ = ["ExecutorConformance", "MakeExecutor"]

MakeExecutor: TypeAlias = Callable[[Host], ToolExecutor]


class _SaysNo(Approver):
    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision("deny", "not today")


class Bench:
    """An agent in a folder whose tools the executor runs.

    Attributes:
        seen: what tools showed while they ran, as ``(call, stream, text)``.
    """

    def __init__(self, make: MakeExecutor, folder: Path) -> None:
        self.folder = folder
        self.host = Host(
            plugins=[("executor-tools", executor_tools)], discover=False, cwd=folder,
            environ={"SKILLKIT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        self.executor = make(self.host)
        self.seen: list[tuple[str, str, str]] = []
        self.running = asyncio.Event()

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.executor.close()
        await self.host.aclose()

    def agent(self, *calls: tuple[str, Mapping[str, Any]], **config: Any) -> AgentRunner:
        """Return an agent whose model makes the calls in one batch."""
        made = AgentRunner(AgentConfig(cwd=self.folder, executor=self.executor, **config), host=self.host)
        made.set_adapter(ScriptedModel([Reply(calls=[Call(name, args) for name, args in calls]), "done"]))

        def saw(event: Any) -> None:
            self.seen.append((event.tool_call_id, event.stream, event.output))
            if "running" in event.output:
                self.running.set()

        made.events.on("tool_execution_update", saw)
        return made

    async def call(self, *calls: tuple[str, Mapping[str, Any]], **config: Any) -> list[ToolResultMessage]:
        """Make the calls in one batch, and return their results."""
        async with self.agent(*calls, **config) as made:
            await made.chat("go")
            return results(made)

    async def until_ran(self, *what: str) -> None:
        """Wait until tools wrote down that they ran."""
        while sorted(self.ran) != sorted(what):  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)

    @property
    def ran(self) -> list[str]:
        """What ran, as the tools wrote it down."""
        path = self.folder / "ran"
        return path.read_text().split("\n")[:-1] if path.exists() else []


def results(agent: AgentRunner) -> list[ToolResultMessage]:
    """Return the results of an agent's calls."""
    return [m for m in agent.messages if isinstance(m, ToolResultMessage)]


class ExecutorConformance:
    """Subclass it and give the fixture ``make_executor``; the fixture ``crash``, too, where tools run in another process."""

    @pytest.fixture
    def make_executor(self) -> MakeExecutor:
        """Override: ``(host) -> ToolExecutor``, which runs the tools of the host's plugins."""
        raise NotImplementedError("give the fixture make_executor: (host) -> ToolExecutor")

    @pytest.fixture
    def crash(self) -> Callable[[ToolExecutor], None]:
        """Override: kills the process in which the executor runs tools."""
        pytest.skip("tools run in this process")

    @pytest.fixture
    def bench(self, make_executor: MakeExecutor, tmp_path: Path) -> Bench:
        """An agent in a folder."""
        return Bench(make_executor, tmp_path)

    @pytest.fixture
    def kin(self, tmp_path: Path) -> Iterator[Family]:
        """The processes of the tool ``family``."""
        found = Family(tmp_path)
        yield found
        found.end()

    def test_a_survey_of_a_tool_is_kept_and_waits_where_nobody_is_there(self, bench: Bench) -> None:
        """``ctx.ask`` behaves as in the agent's process: the tool that waits does nothing, and runs again with the answers."""

        async def main() -> None:
            async with bench:
                person = ScriptedUser({"city": "Oslo"}, None)
                await bench.call(("journey", {"text": "here"}), ui=person)
                await bench.call(("journey", {"text": "declined"}), ui=person)
                async with bench.agent(("journey", {"text": "later"})) as agent:
                    asked: list[Any] = []
                    agent.events.on("question_asked", asked.append)
                    assert (await agent.chat("go")).outcome == "suspended"
                    waiting = agent.suspension
                    assert waiting is not None and waiting.calls[0].survey is not None
                    assert waiting.calls[0].question == asked[0].id and len(bench.ran) == 2
                    answer = ApprovalDecision("allow", answer={"city": "Rome"})
                    assert (await agent.resume({waiting.calls[0].id: answer})).content == "done"
            assert bench.ran == ["journey Oslo", "journey nowhere", "journey Rome"]

        run(main())

    def test_an_output_comes_whole_and_limits_hold_for_it(self, bench: Bench) -> None:
        """Text, image, details, tokens, live output, failures; what is too long is cut; calls at once are kept apart."""

        async def main() -> None:
            async with bench:
                texts = ["", "é \N{GRINNING FACE} \x00\n", *(f"{n}" for n in range(20)), "x" * 200_000]
                calls = [("echo", {"text": text}) for text in texts]
                async with bench.agent(*calls, ("long", {"text": "y" * 9_000})) as agent:
                    await agent.chat("go")
                    found = results(agent)
                    spent = [e for e in agent.session.entries if e.type == "usage" and e.data.get("purpose") == "tool"]
                    assert len(spent) == len(found), "the tokens that a tool spent are lost"
                assert [r.outcome.value for r in found] == ["ok"] * (len(calls) + 1)
                assert [r.text for r in found[2:22]] == texts[2:22]
                assert "é \N{GRINNING FACE}" in found[1].text
                assert 50_000 < len(found[22].text) < 110_000 and len(found[23].text) < 3_000
                assert any(isinstance(block, ImageBlock) and block.data == "aGk=" for block in found[0].content)
                assert all(r.pinned and r.details["cwd"] == str(bench.folder) for r in found)
                assert [r.details["call"] for r in found] == [r.tool_call_id for r in found]
                assert found[0].details["path"] == ["main"]
                assert sorted(bench.ran) == sorted([*"".join(f"{t}\n" for t in [*texts, "y" * 9_000]).split("\n")[:-1]])

                failures = [("fail", {"text": "No such city: 'Rom'."}), ("fail", {"text": ""})]
                found = await bench.call(("live", {"text": "a"}), ("live", {"text": "b"}), *failures)
                said, accident = found[2:]
                assert said.is_error and said.text == "No such city: 'Rom'."
                assert accident.is_error and "ZeroDivisionError" in accident.text and "by zero" in accident.text
                assert [r.text for r in found[:2]] == ["shown", "shown"]
                for result, letter in zip(found[:2], "ab", strict=True):
                    mine = [(stream, text) for call, stream, text in bench.seen if call == result.tool_call_id]
                    whole = "".join(text for _, text in mine)
                    assert whole == "".join(f"{letter}{n}\n" for n in range(LIVE_LINES))
                    assert "".join(t for s, t in mine if s == "stderr").split() == [
                        f"{letter}{n}" for n in range(49, LIVE_LINES, 50)
                    ]

        run(main())

    def test_no_call_misses_schema_guards_and_approvals(self, bench: Bench) -> None:
        """What must not run, does not run; what a guard changed, runs as it was changed."""

        async def main() -> None:
            async with bench:
                calls = [("echo", {"text": text}) for text in ("blocked", "asked", "changed", "fine")]

                def guard(event: Any) -> ToolCallEventResult | None:
                    match event.args["text"]:
                        case "blocked":
                            return ToolCallEventResult(block=True, reason="no")
                        case "asked":
                            return ToolCallEventResult(ask="really?")
                        case "changed":
                            return ToolCallEventResult(args={"text": "other"})
                    return None

                async with bench.agent(*calls, ("echo", {"txt": 1}), approver=_SaysNo()) as agent:
                    agent.events.on("before_tool_call", guard)
                    await agent.chat("go")
                    outcomes = [r.outcome.value for r in results(agent)]
                assert outcomes == ["blocked", "denied", "ok", "ok", "error"]
                assert sorted(bench.ran) == ["fine", "other"]

        run(main())

    def test_a_timeout_and_an_abort_reach_the_tool(self, bench: Bench) -> None:
        """The tool ends, the call has its one result, and the next call works."""

        async def main() -> None:
            async with bench:
                await bench.executor.list_tools()
                (late,) = await bench.call(("linger", {"text": ""}))
                assert late.outcome.value == "timeout" and bench.ran == ["linger", "ended"]
                bench.running.clear()
                async with bench.agent(("patient", {"text": ""})) as agent:
                    chat = asyncio.create_task(agent.chat("go"))
                    await bench.running.wait()
                    agent.abort()
                    try:
                        await chat
                    except RunAborted:
                        pass
                    (found,) = results(agent)
                assert found.outcome.value == "interrupted"
                assert bench.ran == ["linger", "ended"] * 2
                (after,) = await bench.call(("echo", {"text": "still here"}))
                assert after.text == "still here"

        run(main())

    def test_closing_leaves_no_process(self, bench: Bench, kin: Family, crash: Callable[[ToolExecutor], None]) -> None:
        """Even of a tool that did not listen, in a session of its own."""

        async def main() -> None:
            async with bench:
                async with bench.agent(("family", {"text": ""})) as agent:
                    chat = asyncio.create_task(agent.chat("go"))
                    await bench.running.wait()
                    agent.abort()
                    await asyncio.gather(chat, return_exceptions=True)
                    assert len(results(agent)) == 1

        run(main())
        assert kin.gone(), "a process of a tool outlives the executor"

    def test_a_crash_in_the_middle_of_a_call_is_its_one_result(
        self, bench: Bench, kin: Family, crash: Callable[[ToolExecutor], None]
    ) -> None:
        """The model reads it, the call is not repeated, nothing is orphaned, and the next call works."""

        async def main() -> None:
            async with bench:
                async with bench.agent(("family", {"text": ""}), ("patient", {"text": ""})) as agent:
                    chat = asyncio.create_task(agent.chat("go"))
                    await bench.running.wait()
                    await bench.until_ran("family", "linger")
                    crash(bench.executor)
                    await chat
                    found = results(agent)
                assert [r.is_error for r in found] == [True, True]
                assert all("ended while" in r.text for r in found), [r.text for r in found]
                assert sorted(bench.ran) == ["family", "linger"], "a call ran twice"
                assert await asyncio.to_thread(kin.gone), "a process of a tool outlives the one that ran it"
                (after,) = await bench.call(("echo", {"text": "still here"}))
                assert after.text == "still here"

        run(main())

    def test_a_call_that_may_be_repeated_is_repeated_after_a_crash(
        self, bench: Bench, kin: Family, crash: Callable[[ToolExecutor], None]
    ) -> None:
        """Its tool says ``replay="safe"``."""

        async def main() -> None:
            async with bench:
                async with bench.agent(("again", {"text": ""})) as agent:
                    chat = asyncio.create_task(agent.chat("go"))
                    for times in (1, 2):
                        await bench.until_ran(*["family"] * times)
                        crash(bench.executor)
                    await chat
                    (found,) = results(agent)
                assert found.is_error and "ended twice" in found.text
                assert bench.ran == ["family", "family"]

        run(main())
