"""The guard suite: what a guard refuses never runs, what it allows does, and it decides instead of failing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver, Host, Tool, ToolCallEventResult
from skillkit_core.testing import Call

from .running import Result, results_of

__all__ = ["GuardConformance"]

BARE = "Blocked: blocked by "  # what the core says in place of a reason
ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


class _Says(Approver):
    """Answers every question alike, and keeps how many there were."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, 0

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked += 1
        return ApprovalDecision(self.answer)


class GuardConformance:
    """Subclass it, name the ``plugin``, and give calls of each kind that it tells apart.

    The tools are stand-ins that take any argument and note that they ran.

    Attributes:
        plugin: the plugin, a module or an object with ``hookimpl`` methods.
        refuses: calls that must not run, at least one of these or of ``asks``.
        asks: calls that run only if a person agrees.
        allows: calls about which it has no opinion, at least one.
        settings: settings of the host, by dotted key.
    """

    plugin: ClassVar[Any] = None
    refuses: ClassVar[Sequence[Call]] = ()
    asks: ClassVar[Sequence[Call]] = ()
    allows: ClassVar[Sequence[Call]] = ()
    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def guard_host(self, make_host: Callable[..., Host]) -> Host:
        """A host that knows only the plugin. Override it where the guard needs more."""
        if self.plugin is None or not (self.refuses or self.asks) or not self.allows:
            raise NotImplementedError("give plugin, refuses or asks, and allows")
        return make_host(self.plugin, settings=self.settings)

    @pytest.fixture
    def ran(self) -> list[str]:
        """Names of the tools that ran."""
        return []

    def play(self, host: Host, ran: list[str], calls: Sequence[Call], **options: Any) -> list[Result]:
        """Make the calls in one answer; a handler that fails is an error of the guard."""
        known = {entry.name for entry in host.tools.entries()}
        failures: list[str] = []

        def stand_in(name: str) -> Tool:
            async def execute(args: Any, ctx: Any) -> str:
                ran.append(name)
                return "it ran"

            return Tool(name, "A stand-in.", execute, ANYTHING)

        tools = [stand_in(name) for name in sorted({call.name for call in calls} - known)]
        results = results_of(host, calls, tools=tools, failures=failures, **options)
        assert not failures, f"the guard failed instead of deciding: {failures[0]}"
        return results

    def test_what_it_refuses_does_not_run_and_the_model_reads_why(self, guard_host: Host, ran: list[str]) -> None:
        """A refusal without a reason is tried again in other words."""
        for call in self.refuses:
            (result,) = self.play(guard_host, ran, [call])
            assert result.outcome == "blocked" and not ran, f"{call} ended {result.outcome}: {result.text}"
            assert not result.text.startswith(BARE), f"{call} is blocked without a reason"

    def test_what_it_allows_runs(self, guard_host: Host, ran: list[str]) -> None:
        """And nobody is asked."""
        for call in self.allows:
            person = _Says("deny")
            (result,) = self.play(guard_host, ran, [call], approver=person)
            assert result.outcome == "ok" and not person.asked, f"{call} ended {result.outcome}: {result.text}"

    def test_what_it_asks_about_runs_only_if_a_person_agrees(self, guard_host: Host, ran: list[str]) -> None:
        """Where nobody can be asked, it does not run."""
        for call in self.asks:
            for person in (None, _Says("deny")):
                (result,) = self.play(guard_host, ran, [call], approver=person)
                assert result.outcome == "denied" and not ran, f"{call} ended {result.outcome}: {result.text}"
            (result,) = self.play(guard_host, ran, [call], approver=_Says("allow"))
            assert result.outcome == "ok", f"{call} ended {result.outcome} although a person agreed: {result.text}"
            ran.clear()

    def test_no_person_overrules_a_refusal(self, guard_host: Host, ran: list[str]) -> None:
        """A block counts more than any answer."""
        for call in self.refuses:
            self.play(guard_host, ran, [call], approver=_Says("allow"))
            assert not ran, f"{call} ran"

    def test_it_tells_the_calls_of_one_answer_apart(self, guard_host: Host, ran: list[str]) -> None:
        """One refused call among others stops itself alone."""
        mixed = [*self.allows, *self.refuses, *self.asks, *self.allows]
        results = self.play(guard_host, ran, mixed)
        good = [result.outcome == "ok" for result in results]
        assert good == [call in self.allows for call in mixed], [result.outcome for result in results]

    def test_it_sees_the_arguments_that_will_run(self, guard_host: Host, ran: list[str]) -> None:
        """Another plugin may have changed them: the guard judges what runs, not what was asked for."""
        for call in [*self.refuses, *self.asks]:

            def disguise(event: Any, args: Any = call.args) -> ToolCallEventResult | None:
                return ToolCallEventResult(args=args) if not event.args else None

            self.play(guard_host, ran, [Call(call.name, {})], rewrite=disguise)
            assert not ran, f"{call} ran: its arguments came from another plugin"

    def test_a_call_without_arguments_is_decided_too(self, guard_host: Host, ran: list[str]) -> None:
        """A model may leave out what the guard looks at; ``play`` fails where a handler does."""
        for name in sorted({call.name for call in (*self.refuses, *self.asks, *self.allows)}):
            if name not in guard_host.tools:
                self.play(guard_host, ran, [Call(name, {}), Call(name, {"unknown": None})])

    def test_without_the_plugin_everything_runs(self, guard_host: Host, ran: list[str]) -> None:
        """Else the suite would have seen another guard than this one."""
        for name in list(guard_host.plugins):
            guard_host.remove_plugin(name)
        for call in [*self.refuses, *self.asks]:
            (result,) = self.play(guard_host, ran, [call])
            assert result.outcome == "ok", f"{call} ended {result.outcome}: {result.text}"
