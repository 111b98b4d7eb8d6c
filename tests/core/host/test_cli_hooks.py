"""``skillkit plugins trace`` and ``skillkit doctor --hooks``: who was asked, what it answered, how long it took."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from skillkit_core import Host
from skillkit_core.cli.synthetic import check_hooks
from skillkit_core.hookspecs import host as host_specs, lifecycle, registration, resolution

MODEL = """
    from skillkit_core.testing import Call, Reply, ScriptedModel
    from skillkit_core.tools import Tool
    @hookimpl
    def register_adapters(register):
        class Says(ScriptedModel):
            def __init__(self, host, **options):
                super().__init__([Reply(calls=[Call("act")]), "the answer"])
        register(Provider("says", {"scripted": Says}, default_model="m"))
    @hookimpl
    def register_tools(register):
        register(Tool("act", "Act.", lambda args, ctx: "ok"))
"""
HOOKS = """
    from skillkit_core import Transform
    @hookimpl
    def input(event):
        return Transform(text="another question")
    @hookimpl
    def turn_end(event):
        raise RuntimeError("it broke")
    @hookimpl
    async def agent_end(event):
        return None
    @hookimpl(tools=["never"])
    def before_tool_call(event):
        return None
"""
EVERY = """
    @hookimpl
    async def wrap_model_call(call_next):
        return await call_next()
    @hookimpl
    async def wrap_tool_call(call_next):
        return await call_next()
    @hookimpl
    def resolve_model(name):
        return None
    @hookimpl
    def host_started():
        pass
"""


def every_hook() -> set[str]:
    """The names of the specs, as pluggy sees them."""
    return {
        name
        for module in (host_specs, registration, resolution, lifecycle)
        for name, spec in vars(module).items()
        if inspect.isfunction(spec) and hasattr(spec, "skillkit_spec")
    }


def rows(done: Any) -> dict[tuple[str, str], Any]:
    return {(row["hook"], row["plugin"]): row for row in done.json["handlers"]}


def states(found: Any) -> dict[str, str]:
    """``slow`` is a matter of the machine."""
    return {r["hook"]: "silent" if r["state"] == "slow" else r["state"] for r in found["handlers"]}


def reasons(found: Any) -> dict[str, str]:
    return {hook["hook"]: hook["reason"] for hook in found["hooks"] if not hook["fired"]}


# --- plugins trace --------------------------------------------------------------------------------------------------


def test_trace_tells_what_each_hook_answered(site: Any) -> None:
    site.plugin("model", MODEL)
    site.plugin("hooks", HOOKS)
    site.plugin("every", EVERY)
    done = site.run("plugins", "trace", "--json", "--provider", "says", "--model", "says/m", "a", "question")
    assert done.code == 0, done.err
    assert done.json["content"] == "the answer" and done.json["outcome"] == "completed"
    found = rows(done)
    assert found["input", "hooks"]["answers"] == [{"text": "another question"}]
    assert "it broke" in found["turn_end", "hooks"]["errors"][0]
    assert found["agent_end", "hooks"]["calls"] == 1 and found["agent_end", "hooks"]["answers"] == []
    assert found["register_tools", "model"]["answers"] == [{"tools": "act"}]
    assert (found["wrap_tool_call", "every"]["next_calls"], found["wrap_model_call", "every"]["next_calls"]) == (1, 2)
    assert (
        found["resolve_model", "every"]["state"] in ("silent", "slow") and found["host_started", "every"]["calls"] == 1
    )
    families = [row["family"] for row in done.json["handlers"]]
    assert families == sorted(families, key=["host", "registration", "resolution", "around", "lifecycle"].index)
    assert all(call["seconds"] >= 0 for call in done.json["calls"])


def test_trace_prints_a_table(site: Any) -> None:
    site.plugin("model", MODEL)
    site.plugin("hooks", HOOKS)
    site.plugin("every", EVERY)
    text = site.run("plugins", "trace", "--provider", "says", "a", "question")
    for shown in ("another question", "it broke", "tools: act", "called the next once, "):
        assert shown in text.out
    assert text.out.endswith("the answer\n")


def test_trace_tells_who_was_passed_by(site: Any) -> None:
    site.plugin("model", MODEL)
    site.plugin("nobody", "@hookimpl\ndef resolve_adapter(provider): return None")
    site.plugin(
        "router",
        """
        from skillkit_core.testing import ScriptedModel
        @hookimpl
        async def resolve_adapter(provider):
            return ScriptedModel(["routed"])
        """,
    )
    site.plugin("zlast", "@hookimpl\ndef resolve_adapter(provider): return None")
    done = site.run("plugins", "trace", "--json", "--provider", "says", "hello")
    found = rows(done)
    assert done.json["content"] == "routed"
    assert found["resolve_adapter", "nobody"]["calls"] == 1
    assert found["resolve_adapter", "router"]["answers"] == [{"gives": "ScriptedModel scripted"}]
    late = found["resolve_adapter", "zlast"]
    assert (late["state"], late["calls"], late["bypassed_by"]) == ("bypassed", 0, {"router": 1})
    assert "router answered first" in site.run("plugins", "trace", "--provider", "says", "hello").out


# --- doctor --hooks -------------------------------------------------------------------------------------------------


def test_no_hook_of_the_specs_is_missing_from_the_report(site: Any) -> None:
    site.plugin("every", EVERY)
    done = site.run("doctor", "--hooks", "--json")
    assert done.code == 0, done.out + done.err
    assert {hook["hook"] for hook in done.json["hooks"]} == every_hook()
    assert [hook["hook"] for hook in done.json["hooks"] if not hook["fired"]] == []
    assert done.json["run"] == {"outcome": "completed", "error": None}
    owners = {hook["hook"]: hook["plugins"] for hook in done.json["hooks"]}
    assert owners["wrap_tool_call"] == ["every"] and owners["input"] == []


def test_without_plugins_a_hook_that_cannot_be_fired_says_why(site: Any) -> None:
    done = site.run("doctor", "--hooks", "--json")
    assert done.code == 0 and {hook["hook"] for hook in done.json["hooks"]} == every_hook()
    assert reasons(done.json) == {"plugin_registered": "no other plugin is installed"}
    text = site.run("doctor", "--hooks").out
    assert "No plugin has a hook" in text
    assert "! plugin_registered was not fired: no other plugin is installed" in text


def test_doctor_fires_every_hook_and_names_what_failed_or_was_passed_by(site: Any) -> None:
    site.plugin("hooks", HOOKS)
    done = site.run("doctor", "--hooks", "--json")
    assert done.code == 1 and done.json["ok"] is False, done.err
    assert states(done.json) == {
        "input": "answered", "turn_end": "failed", "agent_end": "silent", "before_tool_call": "bypassed"
    }  # fmt: skip
    assert rows(done)["before_tool_call", "hooks"]["reason"] == "no event was for it"
    text = site.run("doctor", "--hooks").out
    assert "failed" in text and f"✓ {len(every_hook())} of {len(every_hook())} hooks fired" in text


def test_a_plugin_that_does_not_load_is_not_passed_over(site: Any) -> None:
    site.plugin("broken", "raise RuntimeError('no')")
    done = site.run("doctor", "--hooks")
    assert done.code == 1 and "✗ problems with broken: see 'skillkit plugins doctor'" in done.out


def checked(make_host: Callable[..., Host], **options: Any) -> dict[str, Any]:
    return asyncio.run(check_hooks(make_host(), **options))


def test_what_a_guard_keeps_from_happening_has_a_reason(site: Any, make_host: Any) -> None:
    site.plugin(
        "strict",
        """
        from skillkit_core import ToolCallEventResult, BeforeCompactResult
        @hookimpl
        def before_tool_call(event):
            return ToolCallEventResult(block=True, reason="nothing runs here")
        @hookimpl
        def before_compact(event):
            return BeforeCompactResult(cancel=True)
        @hookimpl
        async def wrap_tool_call(call_next):
            return await call_next()
        """,
    )
    found = checked(make_host)
    blocked = "the synthetic call did not run: Blocked: nothing runs here"
    decided = "a handler of before_compact decided"
    assert reasons(found) == {
        "tool_execution_update": blocked, "after_tool_result": blocked, "wrap_tool_call": blocked,
        "select_compactor": decided, "compaction_start": decided, "compaction_end": decided,
        "approval_request": blocked, "approval_resolved": blocked, "queue_update": blocked,
    }  # fmt: skip
    assert states(found)["wrap_tool_call"] == "bypassed"
    assert {hook["hook"] for hook in found["hooks"]} == every_hook()


def test_a_run_that_a_hook_ends_early_says_so(site: Any, make_host: Any) -> None:
    site.plugin("no", "@hookimpl(phase='guard')\ndef input(event): raise RuntimeError('not today')")
    found = checked(make_host)
    assert "not today" in found["run"]["error"] and states(found) == {"input": "failed"}
    assert reasons(found)["wrap_model_call"].startswith("the run ended before it: the input was rejected")
    assert {hook["hook"] for hook in found["hooks"]} == every_hook()
    later = {"register_tools", "resolve_secret", "select_compactor", "session_before_fork", "host_shutdown"}
    assert {h["hook"] for h in found["hooks"] if h["fired"]} >= later


def test_a_hook_that_never_ends_does_not_keep_the_check(site: Any, make_host: Any) -> None:
    site.plugin(
        "hangs",
        """
        import asyncio
        @hookimpl
        async def wrap_model_call(call_next):
            await asyncio.Event().wait()
        """,
    )
    assert checked(make_host, seconds=1.0)["run"]["error"] == "it did not end within 1 s"


def test_hooks_that_plugins_define_are_in_the_report(site: Any, make_host: Any) -> None:
    site.plugin(
        "family",
        """
        from types import SimpleNamespace
        from skillkit_core import hookspec
        @hookspec
        def family_dinner(host): ...
        @hookimpl
        def register_hookspecs(add):
            add(SimpleNamespace(family_dinner=family_dinner))
        """,
    )
    site.plugin("guest", "@hookimpl(optionalhook=True)\ndef family_dinner(host): ...")
    found = checked(make_host)
    (own,) = [hook for hook in found["hooks"] if hook["family"] == "own"]
    assert (own["hook"], own["plugins"]) == ("family_dinner", ["guest"]) and "calls it itself" in own["reason"]
    assert states(found)["family_dinner"] == "bypassed"
