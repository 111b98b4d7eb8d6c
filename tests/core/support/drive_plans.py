"""Plans of the drive: what the model answers, which handlers fail, what is decided, and what somebody does at which stop.

A plan is data and prints as the Python that makes it again, without what is left at its default.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from hypothesis import strategies as st

from skillkit_core import ErrorKind, ProviderError, StopReason
from skillkit_core.testing import Call, Fail, Reply

__all__ = ["ARGS", "FAILING", "PLANS", "TURNS", "Call", "Plan", "Turn"]

FAILING = ("session_start", "input", "turn_start", "context_transform", "message_update", "message_end", "after_tool_result",
           "turn_end", "tool_execution_start", "before_agent_end", "agent_end", "usage", "queue_update", "agent_settled",
           "approval_request", "approval_resolved", "before_compact", "compaction_start", "compaction_end",
           "session_shutdown")  # fmt: skip
ACTIONS = ("steer", "abort", "crash", "follow_up", "next_run", "cancel_item", "cancel_task", "read", "trigger")
KINDS = ("tool", "persist", "request", "mark", "persist suspension", "persist custom", "persist compaction",
         "persist tool_result", "hook", "timer", "mark in an approver", "mark in a compactor", "mark in a watcher",
         "persist user")  # fmt: skip
ARGS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LONG = "word " * 120


class Printed:
    """Prints as the call that makes it, without what is left at its default."""

    def __repr__(self) -> str:
        told = [f for f in fields(self) if getattr(self, f.name) != f.default]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in told)})"


@dataclass(frozen=True, repr=False)
class Turn(Printed):
    """What the model answers once. ``fails`` is the kind of the error that ends it, ``cut``: by its length limit."""

    text: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    cut: bool = False
    fails: str = ""

    def scripted(self) -> Reply | Fail:
        """The turn as the scripted model takes it."""
        kind = ErrorKind(self.fails) if self.fails else None
        if kind is not None and not (self.text or self.calls or self.thinking):
            return Fail(kind)
        error = ProviderError("it broke", kind=kind) if kind is not None else None
        return Reply(self.text, self.calls, self.thinking, StopReason.length if self.cut else None, fail=error)


@dataclass(frozen=True, repr=False)
class Plan(Printed):
    """One example of the drive.

    Attributes:
        turns: what the model answers; afterwards ``done``, as often as it is asked.
        actions: before the n-th stop of a kind, what to do.
        choices: which of the parked effects goes on next, by turns.
        failing: events whose handler raises. guard: what the guard of ``before_tool_call`` does.
        hooks: whether handlers are parked, too. watches: whether an async handler sees the answers arrive.
        parallel, policy, mode: the agent's configuration.
        approvals: what the approver answers, by turns. decisions: what happens to what waits, by turns.
        reopen: whether a suspended session is closed, and decided by another agent.
        window: the model's context window, 0: not known. compactor: what is installed. by_hand: whether to compact at the end.
        recover: how another process goes on after a crash.
    """

    turns: tuple[Turn, ...] = ()
    actions: tuple[tuple[str, int, str], ...] = ()
    choices: tuple[int, ...] = (0,)
    failing: tuple[str, ...] = ()
    guard: str = "allows"
    hooks: bool = False
    watches: bool = False
    parallel: bool = True
    policy: str = "skip_remaining"
    mode: str = "one_at_a_time"
    approvals: tuple[str, ...] = ("allow",)
    decisions: tuple[str, ...] = ("allow",)
    reopen: bool = False
    window: int = 0
    compactor: str = "none"
    by_hand: bool = False
    recover: str = "chat"


def mostly(value: Any, *others: Any, times: int = 9) -> st.SearchStrategy[Any]:
    """Mostly ``value``."""
    return st.sampled_from([value] * times + list(others))


def some(what: st.SearchStrategy[Any], *sizes: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """So many of them; the first size comes most often, where a list would mostly be short."""
    return st.sampled_from(sizes).flatmap(lambda n: st.tuples(*[what] * n))


CALLS = st.builds(
    Call,
    st.sampled_from(["once", "once", "safe", "safe", "waits", "waits", "raises", "alone", "unknown"]),
    st.sampled_from(
        [{"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}, {"n": "no"}, {}]
    ).map(dict),
    id=st.sampled_from(["", "c", "d"]),
    raw=mostly(None, '{"n":', times=12),
)
TEXTS = some(st.sampled_from(["some ", LONG, "text", ""]), 1, 0, 2, 3)
THINKING = mostly("", "hm", times=2)
REPLIES = st.builds(Turn, TEXTS, st.just(()), THINKING, mostly(False, True), mostly("", "server"))
ACTS = st.builds(Turn, TEXTS, some(CALLS, 2, 1, 3), THINKING, mostly(False, True), mostly("", "server"))
FAILURES = st.builds(Turn, fails=st.sampled_from(["server", "server", "auth", "overflow", "overflow"]))
TURN = st.sampled_from([ACTS, ACTS, ACTS, REPLIES, FAILURES]).flatmap(
    lambda kind: kind
)  # one_of would weigh them alike
TURNS = some(TURN, 3, 2, 4, 1, 5)


def several(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    """A few of the values, in any order."""
    return some(st.sampled_from(values), 2, 1, 3)


PLANS: st.SearchStrategy[Any] = st.builds(
    Plan,
    TURNS,
    some(
        st.one_of(
            st.tuples(st.sampled_from(KINDS), st.sampled_from([1, 0, 2, 3]), st.sampled_from(ACTIONS)),
            st.tuples(st.just("any"), st.integers(0, 30), st.sampled_from(ACTIONS)),
        ),
        *(1, 2, 0, 3, 4, 5),
    ),
    st.lists(st.integers(0, 5), min_size=1, max_size=8).map(tuple),
    st.lists(st.sampled_from(FAILING), max_size=2, unique=True).map(tuple),
    st.sampled_from(["asks", "allows", "asks", "allows", "asks", "rewrites", "asks", "allows", "blocks", "fails"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["skip_remaining", "after_batch"]),
    st.sampled_from(["one_at_a_time", "all"]),
    approvals=several("defer", "allow", "defer", "deny", "remember", "fails"),
    decisions=several("allow", "mixed", "nothing", "chat", "deny"),
    reopen=st.booleans(),
    window=st.sampled_from([500, 0, 700, 1000]),
    compactor=st.sampled_from(["keeps", "asks", "waits", "none", "fails", "empties", "frees nothing"]),
    by_hand=st.booleans(),
    recover=st.sampled_from(["chat", "resume"]),
)
