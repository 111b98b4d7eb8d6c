"""``skillkit plugins trace`` and ``skillkit doctor --hooks``: who was asked, what it answered, how long it took."""

from __future__ import annotations

from typing import Any

MODEL = """
    from skillkit_core.testing import ScriptedModel
    @hookimpl
    def register_adapters(register):
        class Says(ScriptedModel):
            def __init__(self, host, **options):
                super().__init__(["the answer"])
        register(Provider("says", {"scripted": Says}, default_model="m"))
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


def rows(done: Any) -> dict[str, Any]:
    return {row["hook"]: row for row in done.json["handlers"]}


def test_trace_tells_what_each_hook_answered(site: Any) -> None:
    site.plugin("model", MODEL)
    site.plugin("hooks", HOOKS)
    done = site.run("plugins", "trace", "--json", "--provider", "says", "a", "question")
    assert done.code == 0, done.err
    assert done.json["content"] == "the answer" and done.json["outcome"] == "completed"
    found = rows(done)
    assert found["input"]["answers"] == [{"text": "another question"}] and found["input"]["plugin"] == "hooks"
    assert "it broke" in found["turn_end"]["errors"][0]
    assert found["agent_end"]["calls"] == 1 and found["agent_end"]["answers"] == []
    assert all(call["seconds"] >= 0 for call in done.json["calls"])
    text = site.run("plugins", "trace", "--provider", "says", "a", "question")
    assert "another question" in text.out and "it broke" in text.out and text.out.endswith("the answer\n")


def test_doctor_fires_every_hook_and_names_what_failed_or_was_passed_by(site: Any) -> None:
    site.plugin("hooks", HOOKS)
    done = site.run("doctor", "--hooks", "--json")
    assert done.code == 1 and done.json["ok"] is False, done.err
    states = {hook: row["state"] for hook, row in rows(done).items()}
    assert states == {"input": "answered", "turn_end": "failed", "agent_end": "silent", "before_tool_call": "bypassed"}
    assert "failed" in site.run("doctor", "--hooks").out


def test_doctor_with_nothing_to_fire(site: Any) -> None:
    done = site.run("doctor", "--hooks")
    assert done.code == 0 and "No plugin has a hook" in done.out
