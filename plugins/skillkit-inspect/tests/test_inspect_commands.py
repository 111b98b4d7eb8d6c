"""``skillkit inspect trace`` and ``skillkit inspect hooks``: which plugin was called, what it answered, how long it took."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from skillkit_inspect import check_hooks
from skillkit_inspect.report import print_handlers, print_hooks

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
    """The states of the handlers of other plugins; ``slow`` is a matter of the machine."""
    others = [r for r in found["handlers"] if r["plugin"] != "inspect"]
    return {r["hook"]: "silent" if r["state"] == "slow" else r["state"] for r in others}


def reasons(found: Any) -> dict[str, str]:
    return {hook["hook"]: hook["reason"] for hook in found["hooks"] if not hook["fired"]}


# --- inspect trace --------------------------------------------------------------------------------------------------


def test_trace_tells_what_each_hook_answered(plugins: Any) -> None:
    plugins.add("model", MODEL)
    plugins.add("hooks", HOOKS)
    plugins.add("every", EVERY)
    done = plugins.run("inspect", "trace", "--json", "--provider", "says", "--model", "says/m", "a", "question")
    assert done.exit_code == 0, done.stderr
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


def test_trace_prints_a_table(plugins: Any) -> None:
    plugins.add("model", MODEL)
    plugins.add("hooks", HOOKS)
    plugins.add("every", EVERY)
    text = plugins.run("inspect", "trace", "--provider", "says", "a", "question")
    for shown in ("another question", "it broke", "tools: act", "called the next once, "):
        assert shown in text.stdout
    assert text.stdout.endswith("the answer\n")


def test_trace_tells_who_was_passed_by(plugins: Any) -> None:
    plugins.add("model", MODEL)
    plugins.add("nobody", "@hookimpl\ndef resolve_adapter(provider): return None")
    plugins.add(
        "router",
        """
        from skillkit_core.testing import ScriptedModel
        @hookimpl
        async def resolve_adapter(provider):
            return ScriptedModel(["routed"])
        """,
    )
    plugins.add("zlast", "@hookimpl\ndef resolve_adapter(provider): return None")
    done = plugins.run("inspect", "trace", "--json", "--provider", "says", "hello")
    found = rows(done)
    assert done.json["content"] == "routed"
    assert found["resolve_adapter", "nobody"]["calls"] == 1
    assert found["resolve_adapter", "router"]["answers"] == [{"gives": "ScriptedModel scripted"}]
    late = found["resolve_adapter", "zlast"]
    assert (late["state"], late["calls"], late["bypassed_by"]) == ("bypassed", 0, {"router": 1})
    assert "router answered first" in plugins.run("inspect", "trace", "--provider", "says", "hello").stdout


# --- inspect hooks -------------------------------------------------------------------------------------------------


def test_no_hook_of_the_specs_is_missing_from_the_report(plugins: Any) -> None:
    plugins.add("every", EVERY)
    done = plugins.run("inspect", "hooks", "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert {hook["hook"] for hook in done.json["hooks"]} == every_hook()
    assert [hook["hook"] for hook in done.json["hooks"] if not hook["fired"]] == []
    assert done.json["run"] == {"outcome": "completed", "error": None}
    owners = {hook["hook"]: hook["plugins"] for hook in done.json["hooks"]}
    assert owners["wrap_tool_call"] == ["every"] and owners["input"] == []


def test_without_plugins_a_hook_that_cannot_be_fired_says_why(make_host: Any, capsys: Any) -> None:
    found = asyncio.run(check_hooks(make_host()))
    assert {hook["hook"] for hook in found["hooks"]} == every_hook() and found["problems"] == []
    assert reasons(found) == {"plugin_registered": "no other plugin is installed"}
    print_handlers(found["handlers"])
    print_hooks(found["hooks"])
    text = capsys.readouterr().out
    assert "No plugin has a hook" in text
    assert "! plugin_registered was not fired: no other plugin is installed" in text


def test_every_hook_is_fired_and_what_failed_or_was_passed_by_is_named(plugins: Any) -> None:
    plugins.add("hooks", HOOKS)
    done = plugins.run("inspect", "hooks", "--json")
    assert done.exit_code == 1 and done.json["ok"] is False, done.stderr
    assert states(done.json) == {
        "input": "answered", "turn_end": "failed", "agent_end": "silent", "before_tool_call": "bypassed"
    }  # fmt: skip
    assert rows(done)["before_tool_call", "hooks"]["reason"] == "no event was for it"
    text = plugins.run("inspect", "hooks").stdout
    assert "failed" in text and f"✓ {len(every_hook())} of {len(every_hook())} hooks fired" in text


def test_a_plugin_that_does_not_load_is_not_passed_over(plugins: Any) -> None:
    plugins.add("broken", "raise RuntimeError('no')")
    done = plugins.run("inspect", "hooks")
    assert done.exit_code == 1 and "✗ problems with broken: see 'skillkit plugins doctor'" in done.stdout


def checked(make_host: Any, plugins: Any, **options: Any) -> dict[str, Any]:
    return asyncio.run(check_hooks(make_host(*plugins.embedded()), **options))


def test_what_a_guard_keeps_from_happening_has_a_reason(plugins: Any, make_host: Any) -> None:
    plugins.add(
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
    found = checked(make_host, plugins)
    blocked = "the synthetic call did not run: Blocked: nothing runs here"
    decided = "a handler of before_compact decided"
    assert reasons(found) == {
        "tool_execution_update": blocked, "after_tool_result": blocked, "wrap_tool_call": blocked,
        "select_compactor": decided, "compaction_start": decided, "compaction_end": decided,
        "approval_request": blocked, "approval_resolved": blocked, "queue_update": blocked,
        "question_asked": blocked, "question_answered": blocked,
    }  # fmt: skip
    assert states(found)["wrap_tool_call"] == "bypassed"
    assert {hook["hook"] for hook in found["hooks"]} == every_hook()


def test_a_run_that_a_hook_ends_early_says_so(plugins: Any, make_host: Any) -> None:
    plugins.add("no", "@hookimpl(phase='guard')\ndef input(event): raise RuntimeError('not today')")
    found = checked(make_host, plugins)
    assert "not today" in found["run"]["error"] and states(found) == {"input": "failed"}
    assert reasons(found)["wrap_model_call"].startswith("the run ended before it: the input was rejected")
    assert {hook["hook"] for hook in found["hooks"]} == every_hook()
    later = {"register_tools", "resolve_secret", "select_compactor", "session_before_fork", "host_shutdown"}
    assert {h["hook"] for h in found["hooks"] if h["fired"]} >= later


def test_a_hook_that_never_ends_does_not_keep_the_check(plugins: Any, make_host: Any) -> None:
    plugins.add(
        "hangs",
        """
        import asyncio
        @hookimpl
        async def wrap_model_call(call_next):
            await asyncio.Event().wait()
        """,
    )
    assert checked(make_host, plugins, seconds=1.0)["run"]["error"] == "it did not end within 1 s"


def test_hooks_that_plugins_define_are_in_the_report(plugins: Any, make_host: Any) -> None:
    plugins.add(
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
    plugins.add("guest", "@hookimpl(optionalhook=True)\ndef family_dinner(host): ...")
    found = checked(make_host, plugins)
    (own,) = [hook for hook in found["hooks"] if hook["family"] == "own"]
    assert (own["hook"], own["plugins"]) == ("family_dinner", ["guest"]) and "calls it itself" in own["reason"]
    assert states(found)["family_dinner"] == "bypassed"
