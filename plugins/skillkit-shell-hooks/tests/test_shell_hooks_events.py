"""What hooks do at each event of a run, in a host with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import skillkit_bash.plugin
import skillkit_commands.plugin
import skillkit_permissions.plugin
import skillkit_skills.plugin
from skillkit_commands import Prompt, SlashCommands

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Tool,
    ToolCallEventResult,
)
from skillkit_core.events.types import HandlerErrorEvent
from skillkit_core.testing import Call, Fail, Reply

CALL = Reply(calls=[Call("bash", {"command": "npm test"})])


def results(agent: AgentRunner) -> list[Any]:
    return [message for message in agent.messages if message.role == "tool_result"]


def sent(model: Any) -> str:
    """What the model got in its last request."""
    return json.dumps([message.text for message in model.requests[-1].messages])


def go(work: Any) -> Any:
    return asyncio.run(work)


async def chat(agent: AgentRunner, *texts: str) -> Any:
    async with agent:
        for text in texts:
            answer = await agent.chat(text)
        return answer


def test_a_host_without_hooks_has_no_handler_but_the_one_that_looks(stage):
    agent, _ = stage(CALL, "done")

    async def work() -> set[str]:
        async with agent:
            await agent.chat("go")
            return {
                name for name, records in agent.events.table.items() if any(r.plugin == "shell-hooks" for r in records)
            }

    assert go(work()) == {"session_start"}


def test_only_events_with_hooks_have_handlers(stage, logged, write):
    agent, _ = stage(CALL, "done", hooks={"Stop": write.group(logged.command)})

    async def work() -> set[str]:
        async with agent:
            await agent.chat("go")
            return {
                name for name, records in agent.events.table.items() if any(r.plugin == "shell-hooks" for r in records)
            }

    assert go(work()) == {"session_start", "before_agent_end"}


def test_a_hook_gets_the_call_as_other_hosts_write_it_and_blocks_it(stage, logged, write):
    hooks = {"PreToolUse": write.group(f"{logged.command}; echo not that >&2; exit 2", "Bash")}
    agent, _ = stage(CALL, "done", hooks=hooks)
    go(chat(agent, "go"))
    assert results(agent)[0].text == "Blocked: not that"
    (seen,) = logged.seen()
    assert (seen["tool_name"], seen["tool_input"]) == ("Bash", {"command": "npm test"})
    assert {"session_id", "transcript_path", "cwd", "permission_mode", "tool_use_id"} <= seen.keys()


@pytest.mark.parametrize("command", ["exit 1", "no-such-program-xyz", "kill -9 $$", "echo '{nonsense'"])
def test_a_guard_that_fails_blocks_and_the_failure_names_the_hook(stage, write, command):
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group(command)})
    problems: list[HandlerErrorEvent] = []

    async def work() -> None:
        async with agent:
            agent.events.observe(problems.append, ["handler_error"])
            await agent.chat("go")

    go(work())
    assert results(agent)[0].outcome == "blocked" and "PreToolUse hook of" in results(agent)[0].text
    assert [(p.plugin, command in p.source) for p in problems] == [("shell-hooks", True)]


def test_a_user_opens_what_is_closed(stage, write):
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group("exit 1"), "on_failure": "open"})
    go(chat(agent, "go"))
    assert results(agent)[0].text == "ran npm test"


def test_an_observer_that_fails_stops_nothing(stage, write):
    hooks = {
        event: write.group("exit 1") for event in ("PostToolUse", "Stop", "SessionStart", "SessionEnd", "PostToolBatch")
    }
    agent, _ = stage(CALL, "done", hooks=hooks)
    assert go(chat(agent, "go")).content == "done"
    assert results(agent)[0].text == "ran npm test"


def test_a_hook_rewrites_the_arguments_and_other_guards_see_the_new_ones(stage, write):
    said = {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls", "description": "list"}}
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group(write.says(hookSpecificOutput=said))})
    saw: list[Any] = []

    async def work() -> None:
        async with agent:
            agent.events.on("before_tool_call", lambda event: saw.append(dict(event.args)), phase="guard")
            await agent.chat("go")

    go(work())
    assert results(agent)[0].text == "ran ls" and saw == [{"command": "ls"}]


def test_arguments_that_do_not_fit_the_tool_are_refused(stage, write):
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": 7}}
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group(write.says(hookSpecificOutput=said))})
    go(chat(agent, "go"))
    assert results(agent)[0].is_error and "do not fit" in results(agent)[0].text


def test_an_allow_of_a_hook_is_no_allow_of_another_guard(stage, write):
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    agent, _ = stage(CALL, CALL, "done", hooks={"PreToolUse": write.group(write.says(hookSpecificOutput=said))})

    async def work() -> None:
        async with agent:
            agent.events.on("before_tool_call", lambda event: ToolCallEventResult(ask="Really?"), phase="guard")
            await agent.chat("go")

    go(work())
    assert results(agent)[0].outcome == "denied"


def test_contexts_reach_the_model_marked_with_the_hook(stage, write):
    said = {"hookEventName": "PreToolUse", "additionalContext": "see the docs"}
    agent, model = stage(CALL, "done", hooks={"PreToolUse": write.group(write.says(hookSpecificOutput=said))})
    go(chat(agent, "go"))
    assert "[PreToolUse hook of settings]\\nsee the docs" in sent(model)


def test_continue_false_ends_the_run(stage, write):
    agent, model = stage(
        CALL, "done", hooks={"PostToolUse": write.group(write.says(**{"continue": False, "stopReason": "enough"}))}
    )
    go(chat(agent, "go"))
    assert len(model.requests) == 1


def test_a_prompt_is_blocked_before_anybody_sees_it(stage, write):
    hooks = {"UserPromptSubmit": write.group("grep -q key && { echo has a key >&2; exit 2; }; echo today is monday")}
    agent, model = stage("hello", hooks=hooks)
    assert go(chat(agent, "my key")).content == "Blocked: has a key"
    assert not model.requests and not agent.messages


def test_plain_text_of_a_prompt_hook_is_context(stage, write):
    agent, model = stage("hello", hooks={"UserPromptSubmit": write.group("echo today is monday")})
    assert go(chat(agent, "hi")).content == "hello"
    assert "today is monday" in sent(model)


SKILL = "---\nname: deploy\ndescription: Deploys.\n---\nDeploy $ARGUMENTS.\n"


def test_a_skill_that_a_person_calls_is_seen_before_it_is_put_in(stage, logged, write, skillkit_home):
    folder = skillkit_home.config_dir / "skills" / "deploy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    hooks = {"UserPromptExpansion": write.group(f"{logged.command}; echo not on Fridays >&2; exit 2", "deploy")}
    agent, model = stage("done", hooks=hooks, plugins=[("skills", skillkit_skills.plugin)])
    assert go(chat(agent, "/deploy prod")).content == "Blocked: not on Fridays"
    assert not model.requests
    (seen,) = logged.seen()
    assert (seen["command_name"], seen["command_args"], seen["prompt"]) == ("deploy", "prod", "/deploy prod")


@pytest.mark.parametrize(("code", "asked"), [(0, True), (1, False), (2, False)])
def test_a_slash_command_is_seen_before_an_agent_is_asked(stage, logged, write, skillkit_home, code, asked):
    folder = skillkit_home.config_dir / "commands"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("Fix $ARGUMENTS.\n")
    hooks = {"UserPromptExpansion": write.group(f"{logged.command}; exit {code}")}
    agent, _ = stage("done", hooks=hooks, plugins=[("commands", skillkit_commands.plugin)])

    async def work() -> Any:
        async with agent:
            commands = SlashCommands(agent)
            return await commands.run(commands.match("/fix it"))

    said = go(work())
    assert isinstance(said, Prompt) is asked
    assert [(row["command_name"], row["command_args"]) for row in logged.seen()] == [("fix", "it")]


def test_a_session_begins_with_context_and_ends_with_a_word(stage, logged, write):
    hooks = {
        "SessionStart": write.group(f"{logged.command}; echo the house rules", "startup"),
        "SessionEnd": write.group(logged.command),
    }
    agent, model = stage("hello", hooks=hooks)
    go(chat(agent, "hi"))
    assert "the house rules" in sent(model)
    assert [(row["hook_event_name"], row.get("source"), row.get("reason")) for row in logged.seen()] == [
        ("SessionStart", "startup", None),
        ("SessionEnd", None, "other"),
    ]


def test_results_are_seen_and_replaced(stage, logged, write):
    said = {"hookEventName": "PostToolUse", "updatedToolOutput": "[redacted]"}
    hooks = {"PostToolUse": [*write.group(write.says(hookSpecificOutput=said)), *write.group(logged.command)]}
    agent, _ = stage(CALL, "done", hooks=hooks)
    go(chat(agent, "go"))
    assert results(agent)[0].text == "[redacted]"
    (seen,) = logged.seen()
    assert seen["tool_response"]["content"] == "ran npm test" and seen["duration_ms"] >= 0


def test_failures_of_tools_have_an_event_of_their_own(stage, logged, write):
    async def fails(args: Any, ctx: Any) -> str:
        raise ValueError("boom")

    hooks = {name: write.group(logged.command) for name in ("PostToolUse", "PostToolUseFailure")}
    agent, _ = stage(CALL, "done", hooks=hooks, tools=(Tool("bash", "Run.", fails, {"type": "object"}),))
    go(chat(agent, "go"))
    (seen,) = logged.seen()
    assert seen["hook_event_name"] == "PostToolUseFailure" and "boom" in seen["error"]


def test_a_batch_of_calls_ends_the_run(stage, logged, write):
    agent, model = stage(CALL, "done", hooks={"PostToolBatch": write.group(f"{logged.command}; echo halt >&2; exit 2")})
    go(chat(agent, "go"))
    assert len(model.requests) == 1
    assert [call["tool_name"] for call in logged.seen()[0]["tool_calls"]] == ["Bash"]


def test_a_stop_hook_lets_the_run_go_on_and_sees_that_it_asked_before(stage, logged, write):
    asked = "grep -q 'stop_hook_active\": true' stdin || { echo run the tests >&2; exit 2; }"
    command = f"cat > stdin; cat stdin >> seen.jsonl; echo >> seen.jsonl; {asked}"
    agent, model = stage("done", "really done", hooks={"Stop": write.group(command)})
    assert go(chat(agent, "go")).content == "really done"
    assert "run the tests" in sent(model)
    assert [(row["stop_hook_active"], row["last_assistant_message"]) for row in logged.seen()] == [
        (False, "done"),
        (True, "really done"),
    ]


def test_a_stop_hook_that_always_blocks_does_not_trap(stage, write):
    agent, model = stage(
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
        hooks={"Stop": write.group("exit 2")},
    )
    assert go(chat(agent, "go")).content == "done"
    assert len(model.requests) < 10


def test_a_run_that_fails_is_told(stage, logged, write):
    agent, _ = stage(Fail("overloaded", "too busy", status=529), hooks={"StopFailure": write.group(logged.command)})
    with pytest.raises(Exception, match="too busy"):
        go(chat(agent, "go"))
    assert logged.seen("StopFailure")[0]["error"] == "overloaded"


def test_agents_below_have_hooks_of_their_own(stage, logged, write):
    context = write.says(hookSpecificOutput={"hookEventName": "SubagentStart", "additionalContext": "be brief"})
    names = ("SubagentStop", "Stop", "UserPromptSubmit", "PreToolUse")
    hooks = {"SubagentStart": write.group(context, "reviewer")} | {name: write.group(logged.command) for name in names}
    texts: list[str] = []

    async def ask(args: Any, ctx: Any) -> str:
        async with AgentRunner(AgentConfig(tools=ctx.agent.toolbox.own), name="reviewer") as below:
            below.set_adapter(ctx.agent.target.adapter)
            answer = await below.chat("look")
            texts.extend(m.text for m in below.messages if m.role == "custom")
            return answer.content

    tool = Tool("spawn", "Ask.", ask, {"type": "object"})
    agent, _ = stage(Reply(calls=[Call("spawn", {})]), "looked", "done", hooks=hooks, tools=(tool,))
    go(chat(agent, "go"))
    assert texts == ["[SubagentStart hook of settings]\nbe brief"]
    order = [row["hook_event_name"] for row in logged.seen()]
    assert order == ["UserPromptSubmit", "PreToolUse", "SubagentStop", "Stop"]
    assert logged.seen("SubagentStop")[0]["agent_type"] == "reviewer"


class Person(Approver):
    def __init__(self, decision: str) -> None:
        self.decision: Any = decision
        self.asked = 0

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked += 1
        return ApprovalDecision(self.decision)


@pytest.mark.parametrize(
    ("behaviour", "outcome", "asked"),
    [("allow", "ok", 0), ("deny", "denied", 0), (None, "ok", 1), ("failed", "ok", 1)],
)
def test_a_hook_answers_a_question_in_the_place_of_a_person(stage, logged, write, behaviour, outcome, asked):
    decision = {"decision": {"behavior": behaviour, "message": "so"}} if behaviour else {}
    command = write.says(hookSpecificOutput={"hookEventName": "PermissionRequest", **decision})
    person = Person("allow")
    hooks = {
        "PermissionRequest": write.group("exit 1" if behaviour == "failed" else command, "Bash"),
        "Notification": write.group(logged.command, "permission_prompt"),
        "PermissionDenied": write.group(logged.command),
    }
    agent, _ = stage(CALL, "done", hooks=hooks)

    async def work() -> None:
        async with agent:
            agent.configure(approver=person)  # as a front end does that comes later
            agent.events.on("before_tool_call", lambda event: ToolCallEventResult(ask="Really?"), phase="guard")
            await agent.chat("go")

    go(work())
    assert (results(agent)[0].outcome, person.asked) == (outcome, asked)
    assert len(logged.seen("Notification")) == 1
    assert len(logged.seen("PermissionDenied")) == (1 if outcome == "denied" else 0)


def test_a_compaction_is_blocked_and_told(stage, logged, write):
    agent, _ = stage("one", "two", hooks={"PreCompact": write.group(f"{logged.command}; exit 2", "manual")})

    async def work() -> bool:
        async with agent:
            await agent.chat("hi")
            return await agent.compact()

    assert go(work()) is False
    assert logged.seen()[0]["trigger"] == "manual"


def test_a_hook_that_nobody_waits_for_speaks_later(stage, write):
    said = write.says(hookSpecificOutput={"hookEventName": "PreToolUse", "additionalContext": "late news"})
    agent, model = stage(CALL, "done", "again", hooks={"PreToolUse": write.group(f"{said}; exit 0", **{"async": True})})

    async def work() -> None:
        async with agent:
            await agent.chat("go")
            await asyncio.wait(list(agent.state("shell-hooks")["work"]) or [asyncio.create_task(asyncio.sleep(0))])
            await agent.chat("and")

    go(work())
    assert results(agent)[0].text == "ran npm test" and "late news" in sent(model)


def test_hooks_see_no_key_of_the_host_but_those_that_a_person_names(stage, write, skillkit_home):
    environ = {
        "OPENAI_API_KEY": "sk-secret",
        "TICKETS": "open",
        "PATH": "/usr/bin:/bin",
        "HOME": str(skillkit_home.cwd),
    }
    environ |= {"SKILLKIT_HOME": str(skillkit_home.cwd / "home")}
    hooks = {"PreToolUse": write.group('echo "[$OPENAI_API_KEY$TICKETS]" >&2; exit 2'), "env": ["TICKETS"]}
    agent, _ = stage(CALL, "done", hooks=hooks, environ=environ)
    go(chat(agent, "go"))
    assert results(agent)[0].text == "Blocked: [open]"


def test_hooks_are_told_the_mode_in_force(stage, logged, write):
    plugins = [("permissions", skillkit_permissions.plugin), ("commands", skillkit_commands.plugin)]
    hooks = {"UserPromptSubmit": write.group(logged.command)}
    agent, _ = stage(*["hello"] * 4, hooks=hooks, plugins=plugins, settings={"permissions": {"mode": "bypass"}})

    async def work() -> None:
        async with agent:
            await agent.chat("hi")
            commands = SlashCommands(agent)
            for mode in ("read-only", "accept-edits", "ask"):
                await commands.run(commands.match(f"/mode {mode}"))
                await agent.chat("hi")

    go(work())
    said = [row["permission_mode"] for row in logged.seen()]
    assert said == ["bypassPermissions", "plan", "acceptEdits", "default"]


def test_what_a_hook_sets_at_the_start_of_a_session_is_there_for_its_commands(stage, write, skillkit_home):
    lines = [
        "export COLOUR='light green'",
        'export GREETING="hello $COLOUR"',
        'export PATH="$PATH:/opt/nowhere"',
        "echo noise",
    ]
    file = skillkit_home.cwd / "set.sh"
    file.write_text("\n".join(lines) + "\n")
    hooks = {
        "SessionStart": write.group(f'cat "{file}" >> "$CLAUDE_ENV_FILE"'),
        "PreToolUse": write.group('test -z "$CLAUDE_ENV_FILE"', "Bash"),
    }
    call = Reply(calls=[Call("bash", {"command": 'echo "$GREETING" "${PATH##*:}"'})])
    plugins = [("bash", skillkit_bash.plugin), ("permissions", skillkit_permissions.plugin)]
    agent, _ = stage(
        call, "done", hooks=hooks, plugins=plugins, tools=(), settings={"permissions": {"allow": ["Bash(echo:*)"]}}
    )
    go(chat(agent, "go"))
    assert results(agent)[0].text == "hello light green /opt/nowhere"
