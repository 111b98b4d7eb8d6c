"""When traces are made, where they go, and what it costs where they are not made."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.settings.trust import Trust
from skillkit_core.testing import ScriptedModel

PLUGIN = Path(__file__).parent / "support" / "traced_plugin.py"
EVENTS = ("usage", "before_model_request", "tool_execution_start", "agent_start", "agent_end", "message_start")


def armed(host: Any) -> list[str]:
    async def main() -> list[str]:
        async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
            agent.set_adapter(ScriptedModel(["done"]))
            await agent.chat("go")
            found = [name for name in EVENTS if agent.events.has(name)]
        await host.aclose()
        return found

    return asyncio.run(main())


def hosts(make_host: Any, **options: Any) -> Any:
    from skillkit_otel import plugin

    return make_host(("otel", plugin), **options)


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        ({}, {}),
        ({}, {"otel.content": "span"}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, {}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "HERE"}, {"otel.enabled": False}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "HERE", "OTEL_SDK_DISABLED": "true"}, {}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "HERE", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, {}),
    ],
)
def test_where_it_is_off_no_handler_is_called(
    collector: Any, make_host: Any, monkeypatch: Any, variables: dict[str, str], settings: dict[str, Any]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("HERE", collector.base))
    host = hosts(make_host, settings=settings)
    assert armed(host) == [] and list(host.plugins) == ["otel"]
    assert collector.asked == []


def test_a_host_where_it_is_off_imports_nothing_of_it(skillkit_home: Any) -> None:
    code = """
import asyncio, sys
from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import ScriptedModel
from skillkit_otel import plugin
async def main():
    host = Host(plugins=[("otel", plugin)], discover=False)
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        agent.set_adapter(ScriptedModel(["done"]))
        await agent.chat("go")
    await host.aclose()
asyncio.run(main())
print([n for n in sys.modules if n.startswith(("opentelemetry", "skillkit_otel."))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['skillkit_otel.plugin', 'skillkit_otel.switch']\n", done.stderr


def test_the_address_may_be_a_setting_of_the_user_and_its_headers_are_secrets(collector: Any, make_host: Any) -> None:
    settings = {"otel.endpoint": f"{collector.base}/", "otel.headers": {"x-key": "key-0123456789"}}
    host = hosts(make_host, settings=settings)
    assert armed(host) == list(EVENTS)
    assert {asked.path for asked in collector.asked} == {"/v1/traces", "/v1/metrics"}
    assert {asked.headers["x-key"] for asked in collector.asked} == {"key-0123456789"}
    assert host.redact("a key-0123456789") == "a ***"


def test_spans_and_metrics_may_go_to_addresses_of_their_own(collector: Any, make_host: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.base}/spans")
    assert armed(hosts(make_host)) == list(EVENTS)
    assert {asked.path for asked in collector.asked} == {"/spans"}


def project(home: Any, text: str) -> None:
    folder = home.cwd / ".skillkit"
    folder.mkdir()
    (folder / "config.yaml").write_text(text, encoding="utf-8")


def trusted(make_host: Any, home: Any) -> Any:
    trust = Trust(hosts(make_host, cwd=home.cwd).data_dir)
    trust.add(home.cwd, trust.look(home.cwd, [".skillkit/config.yaml"]))
    host = hosts(make_host, cwd=home.cwd)
    assert host.config.data["otel"], "the project's settings count"
    return host


@pytest.mark.parametrize("switched", [False, True])
def test_a_project_that_is_trusted_cannot_send_the_traces_elsewhere_or_show_content(
    collector: Any, make_host: Any, skillkit_home: Any, monkeypatch: Any, switched: bool
) -> None:
    project(
        skillkit_home,
        "otel: {enabled: true, endpoint: 'http://127.0.0.1:9/evil', content: span, headers: {x: y}, sample: 0}\n",
    )
    if switched:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base)
    host = trusted(make_host, skillkit_home)
    assert armed(host) == (list(EVENTS) if switched else [])
    assert {s.name for s in collector.spans} == ({"invoke_agent main", "chat any"} if switched else set())
    assert not any("messages" in key for s in collector.spans for key in s.at)
    assert not any("x" in asked.headers for asked in collector.asked)


def test_a_project_may_switch_it_off(on: Any, make_host: Any, skillkit_home: Any) -> None:
    project(skillkit_home, "otel: {enabled: false}\n")
    assert armed(trusted(make_host, skillkit_home)) == [] and on.asked == []


def test_a_dead_collector_costs_one_warning_and_no_run(
    say: Any, skillkit_home: Any, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:word@127.0.0.1:9")
    assert say("go", "done", settings={"otel.timeout": 0.2}) == "done"
    (told,) = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert told == "the collector at http://127.0.0.1:9 takes no traces or metrics; they are dropped"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "it speaks http/protobuf alone, not grpc"),
        ({}, "OpenTelemetry's SDK is not installed; pip install 'skillkit-otel[sdk]'"),
    ],
)
def test_what_cannot_be_done_is_said_once_and_no_run_fails_of_it(
    on: Any, make_host: Any, monkeypatch: Any, caplog: Any, variables: dict[str, str], words: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if not variables:
        monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert armed(hosts(make_host)) == [] and on.asked == []
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told.startswith("no traces are made: ") and words in told


def test_agents_that_start_at_once_share_one_recorder(on: Any, make_host: Any) -> None:
    async def main() -> None:
        host = hosts(make_host)

        async def one(text: str) -> None:
            async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
                agent.set_adapter(ScriptedModel([text]))
                await agent.chat("go")

        await asyncio.gather(*map(one, "abc"))
        await host.aclose()

    asyncio.run(main())
    assert on.tree() == ["invoke_agent main", "  chat any"] * 3
    assert len({s.trace for s in on.spans}) == 3


def test_a_program_with_an_sdk_of_its_own_gets_the_spans_there(skillkit_home: Any) -> None:
    code = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import ScriptedModel
from skillkit_otel import plugin
kept, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
async def main():
    host = Host(plugins=[("otel", plugin)], discover=False, settings={"otel.enabled": True})
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        agent.set_adapter(ScriptedModel(["done"]))
        with trace.get_tracer("mine").start_as_current_span("request"):
            await agent.chat("go")
    await host.aclose()
    with trace.get_tracer("mine").start_as_current_span("later"):
        pass
asyncio.run(main())
print([s.name for s in kept.get_finished_spans()], len({s.context.trace_id for s in kept.get_finished_spans()}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['chat any', 'invoke_agent main', 'request', 'later'] 2\n", done.stderr


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(skillkit_cli: Any, install_plugin: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    install_plugin("traced", PLUGIN)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("SKILLKIT_PLUGINS", "chat,sessions,otel,traced")
    return skillkit_cli


@pytest.mark.smoke
def test_run_sends_everything_before_it_ends(on: Any, command: Any) -> None:
    done = command("run", "--provider", "traced", "go").ok()
    assert done.stdout == "The answer is 4.\n"
    assert on.tree() == ["invoke_agent main", "  chat traced-1"]
    assert "gen_ai.client.token.usage" in on.metrics


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_had_ended_is_sent_although_the_process_is_killed(on: Any, command: Any, how: signal.Signals) -> None:
    with command.start("run", "--provider", "traced", "hang", fresh=True) as process:
        on.until(lambda: any(s.name == "chat traced-1" for s in on.spans))
        os.kill(process.pid, how)
        process.communicate()
    killed = how is signal.SIGKILL
    assert [s.name for s in on.spans] == (
        ["chat traced-1"] if killed else ["invoke_agent main", "chat traced-1", "execute_tool hang"]
    )
    assert [s.at.get("error.type") for s in on.spans] == ([None] if killed else ["aborted", None, "interrupted"])


@pytest.mark.slow
def test_the_collector_of_the_shared_data_finds_nothing_wrong(
    shared_data: Path, skillkit_cli: Any, install_plugin: Any
) -> None:
    servers = shared_data / "servers"
    install_plugin("acceptance", servers / "plugin" / "src" / "skillkit_acceptance" / "plugin.py")
    words = [*skillkit_cli.argv, "-P", "no:routing", "run", "--provider", "acceptance"]
    done = subprocess.run(
        [sys.executable, str(servers / "otel" / "collector.py"), "--", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
