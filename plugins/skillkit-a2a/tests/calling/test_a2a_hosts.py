"""Hosts of this kind on both ends: one serves skills, the other calls them; and two that hand a task on in a ring."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from skillkit_a2a.serving.keys import Keys
from skillkit_testkit import Reply
from skillkit_testkit.engines import installed

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import Call, Reply as Says, ScriptedModel, ScriptedUser

for needed in ("skillkit_offline", "skillkit_openai", "skillkit_bundled", "skillkit_permissions"):
    pytest.importorskip(needed, reason="two whole hosts need a model's wire, a skill and permissions")

WIRE = ("--provider", "openai", "--model", "any", "--permit", "delegate_to_external_agent_tool")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(skillkit_cli: Any, home: Path, port: int, *args: str, client: Any = None, env: Any = None) -> Iterator[str]:
    """Serve skills from a home of its own; yield its address."""
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.yaml").write_text(json.dumps({"a2a": {"client": client or {}}}))
    given = {"SKILLKIT_HOME": str(home), **(env or {})}
    with skillkit_cli.start("a2a", "serve", "--port", str(port), *args, env=given) as process:
        try:
            line = process.stdout.readline()
            assert f":{port}" in line, line + process.stderr.read()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.communicate(timeout=20)


def knows(name: str, port: int, **more: Any) -> dict[str, Any]:
    """The settings with which a host calls another one."""
    agent = {"url": f"http://127.0.0.1:{port}", "description": f"Asks {name}.", **more}
    return {"allow": [f"127.0.0.1:{port}"], "agents": {name: agent}}


def test_s12_10_a_host_calls_a_skill_of_another_one_with_its_key(skillkit_cli, skillkit_home, tmp_path):
    home, port = tmp_path / "far", free_port()
    home.mkdir()
    env = {"SKILLKIT_HOME": str(home)}
    key = skillkit_cli("a2a", "keys", "add", "me", "--json", env=env).ok().json["key"]
    skillkit_home.write_config(json.dumps({"a2a": {"client": knows("sums", port, key="SUMS_KEY")}}))
    with serving(skillkit_cli, home, port, "--skill", "calculate"):
        done = skillkit_cli("a2a", "call", "sums", "what is 15% of 80", env={"SUMS_KEY": key}).ok()
        assert done.stdout == "15% of 80 = 12\n"
        data = skillkit_cli("a2a", "call", "sums/calculate", "2 + 2", "--json", env={"SUMS_KEY": key}).ok().json
        assert data["artifacts"][0]["data"]["value"] == 4
        refused = skillkit_cli("a2a", "call", "sums", "2 + 2", env={"SUMS_KEY": "another"})
        assert refused.exit_code == 1 and "does not let us in (HTTP 401)" in refused.stderr


def test_s12_11_two_hosts_that_hand_a_task_to_each_other_stop_with_a_typed_error(
    skillkit_cli, skillkit_home, tmp_path, llm_server
):
    """Each serves the other one as its only skill, so that no model decides anything: only the chain of ids ends it."""
    env = {"OPENAI_API_KEY": "sk-loopback", "OPENAI_BASE_URL": llm_server.openai_url}
    llm_server.always(Reply(text="nobody asks me"))
    one, two = free_port(), free_port()
    skillkit_home.write_config(json.dumps({"a2a": {"client": knows("one", one)}}))
    with ExitStack() as stack:
        for name, port, other, its in (("one", one, "two", two), ("two", two, "one", one)):
            args = ("--open", "--skill", f"a2a:{other}", *WIRE)
            client = knows(other, its)
            stack.enter_context(serving(skillkit_cli, tmp_path / name, port, *args, client=client, env=env))
        done = skillkit_cli("a2a", "call", "one", "why do glaciers move?", "--json")
    assert done.exit_code == 1 and done.json["error"] == "ring", str(done)
    assert re.search(r"ring: .*it was here before, 2 hosts ago", done.json["message"]), done.json


@pytest.mark.parametrize("depth", [1])
def test_s12_11_a_task_is_handed_on_as_often_as_the_settings_allow(
    skillkit_cli, skillkit_home, tmp_path, llm_server, depth
):
    env = {"OPENAI_API_KEY": "sk-loopback", "OPENAI_BASE_URL": llm_server.openai_url}
    port, far = free_port(), free_port()
    skillkit_home.write_config(json.dumps({"a2a": {"client": knows("one", port)}}))
    client = {**knows("two", far), "depth": depth}
    with serving(skillkit_cli, tmp_path / "one", port, "--open", "--skill", "a2a:two", *WIRE, client=client, env=env):
        done = skillkit_cli("a2a", "call", "one", "why?", "--json")
    assert done.exit_code == 1 and done.json["error"] == "depth" and "a2a.client.depth is 1" in done.json["message"]


def test_s12_10_what_a_host_asks_about_its_own_calls_and_tools_a_person_here_answers(serving, write_skill, tmp_path):
    """Another host wants to pay, and to know where to go: its approval and its form are questions of this host."""
    write_skill("purse")

    async def main() -> Any:
        async with serving(open_=False) as served:
            settings = {"a2a.client": knows("far", int(served.url.rpartition(":")[2]), key="FAR_KEY")}
            key = Keys(served.host.data_dir).add("me", (), approve=True)
            env = {**os.environ, "SKILLKIT_HOME": str(tmp_path / "here"), "FAR_KEY": key}
            plugins = [installed("sessions"), installed("a2a")]
            host = Host(discover=False, plugins=plugins, settings=settings, environ=env)
            person = ScriptedUser({"answer": "allow"}, {"answer": "deny"}, {"city": "Oslo", "sure": True})
            async with AgentRunner(AgentConfig(model="any", ui=person), host=host) as agent:
                tasks = ("pay 5", "pay 6", "journey there")
                tool = "delegate_to_external_agent_tool"
                turns = [Says(calls=[Call(tool, {"agent": "far", "message": text})]) for text in tasks]
                agent.set_adapter(ScriptedModel([*turns, "Done."]))
                await agent.chat("Go.")
                results = [m.details["text"] for m in agent.messages if m.role == "tool_result"]
            await host.aclose()
            return person.surveys, results, (served.folder / "paid.txt").read_text()

    surveys, (paid, refused, journey), file = asyncio.run(main())
    assert paid == "done: paid 5" and file == "5\n" and "paid 6" not in refused
    assert json.loads(journey.removeprefix("done: ")) == {"city": "Oslo", "sure": True}
    assert [option.value for option in surveys[0].questions[0].options] == ["allow", "deny"]
    assert [(q.id, q.kind) for q in surveys[2].questions] == [("city", "choice"), ("sure", "confirm")]
