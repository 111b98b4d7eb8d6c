"""Handlers that are no commands: an address, a model, an agent, a tool of a server; and where commands run."""

from __future__ import annotations

import asyncio
import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import skillkit_mcp.plugin
import skillkit_permissions.plugin
import skillkit_sandbox.plugin

from skillkit_core import AgentRunner, ApprovalDecision, Approver, Tool
from skillkit_core.testing import Call, Reply

CALL = Reply(calls=[Call("bash", {"command": "npm test"})])
PERMISSIONS = ("permissions", skillkit_permissions.plugin)


def results(agent: AgentRunner) -> list[Any]:
    return [message for message in agent.messages if message.role == "tool_result"]


def chat(agent: AgentRunner, text: str = "go") -> Any:
    async def work() -> Any:
        async with agent:
            return await agent.chat(text)

    return asyncio.run(work())


@pytest.fixture
def web() -> Iterator[Any]:
    """A server on loopback: ``web.answers["/x"] = (200, "{}")``; ``web.got`` are the requests."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            server.got.append((self.path, dict(self.headers), json.loads(body)))
            status, text = server.answers.get(self.path, (404, ""))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", text)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: Any) -> None:
            pass

    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answers, server.got = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def post(url: str, **handler: Any) -> dict[str, Any]:
    return {"PreToolUse": [{"hooks": [{"type": "http", "url": url, **handler}]}]}


def test_an_address_gets_the_call_and_denies_it(stage, web):
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "remote no"}
    web.answers["/x"] = (200, json.dumps({"hookSpecificOutput": said}))
    agent, _ = stage(CALL, "done", hooks=post(f"{web.url}/x"))
    chat(agent)
    assert results(agent)[0].text == "Blocked: remote no"
    assert web.got[0][2]["tool_input"] == {"command": "npm test"}


@pytest.mark.parametrize("status", [500, 302])
def test_an_address_that_does_not_answer_denies_and_no_redirection_is_followed(stage, web, status):
    web.answers |= {"/x": (status, f"{web.url}/y"), "/y": (200, "{}")}
    agent, _ = stage(CALL, "done", hooks=post(f"{web.url}/x"))
    chat(agent)
    assert results(agent)[0].outcome == "blocked" and str(status) in results(agent)[0].text
    assert [path for path, _, _ in web.got] == ["/x"]


def test_headers_hold_only_variables_on_the_list(stage, web, skillkit_home):
    web.answers["/x"] = (200, "")
    environ = {
        "OK": "yes",
        "SECRET": "no",
        "HOME": str(skillkit_home.cwd),
        "SKILLKIT_HOME": str(skillkit_home.cwd / "home"),
    }
    hooks = post(f"{web.url}/x", headers={"X-T": "$OK-${SECRET}"}, allowedEnvVars=["OK"])
    agent, _ = stage(CALL, "done", hooks=hooks, environ=environ)
    chat(agent)
    assert results(agent)[0].text == "ran npm test" and web.got[0][1]["X-T"] == "yes-"


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ('{"ok": true, "reason": ""}', "ok"),
        ('{"ok": false, "reason": "too early"}', "blocked"),
        ("sure, go on", "blocked"),
    ],
)
def test_a_model_is_asked_beside_the_conversation(stage, verdict, outcome):
    hooks = {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "May this run? $ARGUMENTS"}]}]}
    agent, model = stage(CALL, verdict, "done", hooks=hooks)
    chat(agent)
    assert results(agent)[0].outcome == outcome
    assert "npm test" in model.requests[1].messages[-1].text and "<event>" in model.requests[1].messages[-1].text
    assert [m.text for m in agent.messages if m.role == "user"] == ["go"]


def test_a_stop_hook_may_be_a_question_to_a_model(stage):
    hooks = {"Stop": [{"hooks": [{"type": "prompt", "prompt": "Are the tests run?"}]}]}
    agent, model = stage(
        "done", '{"ok": false, "reason": "run the tests"}', "tested", '{"ok": true, "reason": ""}', hooks=hooks
    )
    assert chat(agent).content == "tested"
    assert "run the tests" in json.dumps([m.text for m in model.requests[2].messages])


def test_an_agent_looks_with_tools_that_only_read_and_is_not_asked_about_itself(stage):
    async def look(args: Any, ctx: Any) -> str:
        return "a secret file"

    async def bash(args: Any, ctx: Any) -> str:
        return "ran"

    tools = (
        Tool("look", "Look.", look, {"type": "object"}, annotations={"mutates": "none"}),
        Tool("bash", "Run.", bash, {"type": "object"}),
    )
    hooks = {"PreToolUse": [{"hooks": [{"type": "agent", "prompt": "Is this safe?"}]}]}
    verdict = '{"ok": false, "reason": "a secret file is there"}'
    agent, model = stage(CALL, Reply(calls=[Call("look", {})]), verdict, "done", hooks=hooks, tools=tools)
    chat(agent)
    assert results(agent)[0].text == "Blocked: a secret file is there"
    assert [tool.name for tool in model.requests[1].tools] == ["look"]


class Allow(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("allow")


def test_a_tool_of_a_server_judges_a_call(stage, mcp_server):
    denies = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "s",
        }
    }
    asked: list[Any] = []

    def judge(call: Any) -> str:
        asked.append(call.arguments)
        return json.dumps(denies)

    mcp_server.tool(judge, "judge")
    handler = {"type": "mcp_tool", "server": "court", "tool": "judge", "input": {"line": "${tool_input.command}"}}
    agent, _ = stage(
        CALL, "done", hooks={"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}, approver=Allow(),
        plugins=[("mcp", skillkit_mcp.plugin)], settings={"mcp.servers": {"court": {"url": mcp_server.url}}},
    )  # fmt: skip
    chat(agent)
    assert results(agent)[0].text == "Blocked: s" and asked == [{"line": "npm test"}]


def test_a_tool_that_no_server_offers_denies(stage):
    hooks = {"PreToolUse": [{"hooks": [{"type": "mcp_tool", "server": "court", "tool": "judge"}]}]}
    agent, _ = stage(CALL, "done", hooks=hooks)
    chat(agent)
    assert "offers no tool 'judge'" in results(agent)[0].text


# --- rules, and the mode that asks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "outcome"), [("git push", "blocked"), ("ls && git push", "blocked"), ("ls", "ok")])
def test_if_is_a_rule_of_permissions(stage, write, line, outcome):
    hooks = {"PreToolUse": write.group("exit 2", **{"if": "Bash(git *)"})}
    call = Reply(calls=[Call("bash", {"command": line})])
    settings = {"permissions.mode": "bypass"}
    agent, _ = stage(call, "done", hooks=hooks, plugins=[PERMISSIONS], settings=settings, approver=Allow())
    chat(agent)
    assert results(agent)[0].outcome == outcome


def test_without_a_judge_a_hook_with_if_always_runs(stage, write):
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group("exit 2", **{"if": "Bash(git *)"})})
    chat(agent)
    assert results(agent)[0].outcome == "blocked"


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [({}, "ok"), ({"permissions.ask": ["Bash(npm:*)"]}, "denied"), ({"permissions.deny": ["Bash(npm:*)"]}, "blocked")],
)
def test_an_allow_spares_the_question_of_the_mode_and_of_no_rule(stage, write, rules, outcome):
    allow = write.says(hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": "allow"})
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group(allow)}, plugins=[PERMISSIONS], settings=rules)
    chat(agent)
    assert results(agent)[0].outcome == outcome


# --- where commands run ---------------------------------------------------------------------------------------------------


def test_a_sandbox_that_nothing_brings_denies(stage, write):
    agent, _ = stage(CALL, "done", hooks={"PreToolUse": write.group("exit 0"), "sandbox": "read-only"})
    chat(agent)
    assert "pip install skillkit-sandbox" in results(agent)[0].text


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_commands_run_in_the_sandbox_of_commands(stage, write, skillkit_home):
    (skillkit_home.cwd / "file").write_text("")
    hooks = {"PreToolUse": write.group("(echo x > file) 2>/dev/null && exit 0; echo held >&2; exit 2")}
    settings = {"sandbox.commands": "read-only"}
    agent, _ = stage(CALL, "done", hooks=hooks, plugins=[("sandbox", skillkit_sandbox.plugin)], settings=settings)
    chat(agent)
    assert results(agent)[0].text == "Blocked: held"
    assert (skillkit_home.cwd / "file").read_text() == ""
