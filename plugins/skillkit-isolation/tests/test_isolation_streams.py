"""What an isolated plugin does in streams: the answers of a model, and the output of commands."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from isolation_kit import gone, processes

from skillkit_core import (
    AbortSignal,
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    ProviderError,
    RetryPolicy,
    RunAborted,
)
from skillkit_core.hookspecs.markers import hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

ACME = """
class Acme(LLMAdapter):
    api = "acme-chat"
    progressive = False

    def __init__(self, host, *, provider, base_url=None, api_key=None, headers=None, greeting="?"):
        self.provider, self.key, self.url, self.greeting = provider, api_key, base_url, greeting

    async def stream(self, request):
        text = request.messages[-1].text
        if text == "wait":
            await request.signal.wait()
            yield StreamEvent("error", error=ProviderError("aborted", kind=ErrorKind.aborted))
            return
        if text == "end":
            os._exit(9) if request.session_id else None
        if text == "refuse":
            raise ProviderError("no credit", kind=ErrorKind.quota, status=402, hint="pay")
        payload, headers = {"text": text}, {"x-key": self.key}
        if request.on_request is not None:
            payload, headers = await request.on_request(payload, headers)
            await request.on_response(200, {"x-made-by": "acme"})
        facts = [self.greeting, payload["text"], headers.get("x-team"), self.key[-5:], self.url, request.model.id]
        facts += [[tool.name for tool in request.tools], request.system, request.settings.max_tokens]
        yield StreamEvent("text_start", index=0)
        for fact in facts:
            yield StreamEvent("text_delta", f"{fact};", index=0)
        yield StreamEvent("text_end", index=0)
        yield StreamEvent("done", stop_reason=StopReason.stop, usage=TokenUsage(input=7, output=3), response_id="r1")

    async def list_models(self):
        return [ModelDefinition("acme-2", self.provider)]

    async def count_tokens(self, request):
        return len(request.messages)

@hookimpl
def register_adapters(register):
    register(Provider("acme", {"acme-chat": Acme}, base_url="https://acme.test", api_key_env=("ACME_KEY",),
                      default_model="acme-1", options={"greeting": "hi"}, rank=1))

class Shell(SkillRuntime):
    def __init__(self, host):
        self.host = host

    async def execute(self, command, cwd=None, env=None, timeout=None, on_output=None, *, on_error_output=None, signal=None,
                      stdin=None, max_output=256 * 1024):
        if command == "wait":
            await signal.wait()
            return ExecutionResult(aborted=True, exit_code=None)
        if command == "none":
            raise ToolError("command not found: none")
        if on_output:
            on_output(f"{command} in {cwd}\\n")
        if on_error_output:
            on_error_output(f"{stdin} {timeout}\\n")
        return ExecutionResult(f"{env}", exit_code=3, duration=0.5, stdout_path=cwd)

@hookimpl
def register_runtimes(register):
    register(Factory("apart", Shell, "Runs nothing."))
"""


class Team:
    """Sees and changes requests, in the host."""

    name = "team"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def before_provider_request(self, event: Any) -> Any:
        from skillkit_core import ProviderRequestResult

        self.seen.append((event.payload["text"], event.headers.get("x-key")))
        return ProviderRequestResult(headers={"x-team": "docs"})

    @hookimpl
    def after_provider_response(self, event: Any) -> None:
        self.seen.append((event.status, event.headers))


async def test_an_adapter_streams_from_its_process_and_the_host_sees_its_requests(
    install: Any, isolated: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ACME_KEY", "acme-key-12345")
    team = Team()
    host = isolated(install("acme", ACME, needs="{secrets: [ACME_KEY]}"), beside=(team,))
    config = AgentConfig(provider="acme", system_prompt="Be brief.", retry=RetryPolicy(attempts=2, base_delay=0))
    deltas: list[str] = []
    async with AgentRunner(config, host=host) as agent:
        agent.events.observe(lambda e: deltas.append(e.content), ["message_update"])
        response = await agent.chat("hello")
        assert response.content == "hi;hello;docs;12345;https://acme.test;acme-1;[];Be brief.;None;"
        assert response.usage.total == 10 and "hello;" in deltas
        assert response.messages[-1].response_id == "r1" and response.messages[-1].api == "acme-chat"
        assert team.seen == [("hello", "***"), (200, {"x-made-by": "acme"})]

        waiting = asyncio.ensure_future(agent.chat("wait"))
        while not agent.running:
            await asyncio.sleep(0)
        agent.abort("enough")
        with pytest.raises(Exception, match="enough"):
            await waiting
        with pytest.raises(Exception, match="no credit") as failed:
            await agent.chat("refuse")
        assert isinstance(failed.value.__cause__, ProviderError) and failed.value.__cause__.status == 402
        with pytest.raises(Exception, match="it ended with status 9"):  # twice: a connection that breaks is tried again
            await agent.chat("end")
        assert (await agent.chat("again")).content.startswith("hi;again;")
        adapter = host.adapters.get("acme")
        assert type(adapter).progressive is False
        assert [m.id for m in await adapter.list_models()] == ["acme-2"]
    await host.aclose()


async def test_a_process_whose_answer_was_read_as_far_as_it_matters_goes_on(
    install: Any, isolated: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ACME_KEY", "acme-key-12345")
    monkeypatch.setattr("skillkit_isolation.connection._LATE", 0.3)
    host = isolated(install("acme", ACME, needs="{secrets: [ACME_KEY]}"))
    async with AgentRunner(AgentConfig(provider="acme"), host=host) as agent:
        await agent.chat("hello")
        before = processes(host)
        for _ in range(4):
            await agent.chat("hello")  # nobody reads on after the last event
        await asyncio.sleep(0.6)
        assert processes(host) == before and len(before) == 1 and not gone(before[0])
    await host.aclose()


def test_a_provider_without_a_declared_key_is_refused_in_words(install: Any, isolated: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ACME_KEY", "acme-key-12345")
    host = isolated(
        install("acme", ACME),
        install("other", ACME.replace("base_url=", "base_url_env='URL', base_url="), needs="{secrets: [ACME_KEY]}"),
    )
    assert host.adapters.list() == []
    problem, other = (p for p in host.problems if p.severity == "error")
    assert other.plugin == "other" and "the variable URL of provider 'acme'" in other.message
    assert (
        problem.stage == "register_adapters"
        and "ACME_KEY of provider 'acme' is beyond what it declares" in problem.message
    )
    assert problem.remedy == "an isolated plugin needs 'needs: {secrets: [ACME_KEY]}' in its plugin.yaml"


async def test_a_runtime_runs_in_its_process(install: Any, isolated: Any, tmp_path: Any) -> None:
    host = isolated(install("acme", ACME, needs="{secrets: [ACME_KEY]}"))
    runtime, out, errors = await host.find_runtime("apart"), list[str](), list[str]()
    result = await runtime.execute(
        ["ls", "-l"], tmp_path, {"A": "1"}, 5.0, out.append, on_error_output=errors.append, stdin=b"\xff\x00"
    )
    assert (result.stdout, result.exit_code, result.stdout_path) == ("{'A': '1'}", 3, tmp_path) and not result.ok
    assert out == [f"('ls', '-l') in {tmp_path}\n"] and errors == ["b'\\xff\\x00' 5.0\n"]
    signal = AbortSignal()
    waiting = asyncio.ensure_future(runtime.execute("wait", signal=signal))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.05, signal.abort)
    assert (await waiting).aborted
    with pytest.raises(Exception, match="command not found: none"):
        await runtime.execute("none")
    await host.aclose()


async def test_hosts_in_several_loops_and_threads_share_nothing(install: Any, isolated: Any) -> None:
    """Two agents of one host, each in a loop of its own thread, ask the same process."""
    code = (
        "@hookimpl\ndef turn_start(event):\n    return TurnStartResult(append=[UserMessage(content=str(os.getpid()))])"
    )
    host = isolated(install("acme", code))
    host.load()

    def chat() -> str:
        async def main() -> str:
            async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
                agent.set_adapter(ScriptedModel(["done"]))
                return (await agent.chat("go")).messages[-2].text

        return asyncio.run(main())

    found = await asyncio.gather(*(asyncio.to_thread(chat) for _ in range(4)))
    assert len(set(found)) == 1 and found[0] != str(os.getpid())
    await host.aclose()


def test_settings_of_a_project_do_not_loosen_the_limits(install: Any, isolated: Any, skillkit_home: Any) -> None:
    from skillkit_core.settings.trust import Trust

    folder = skillkit_home.cwd / ".skillkit"
    folder.mkdir()
    (folder / "config.yaml").write_text("isolation: {restarts: 99, timeout: 0.001}\nplugins: {isolate: []}\n")
    Trust(skillkit_home.data_dir).add(skillkit_home.cwd)
    host = isolated(install("acme", "@hookimpl\ndef turn_end(event): ..."), settings={"isolation.restarts": 1})
    host.load()
    assert host.config.raw("isolation.timeout") == 0.001  # it is read, and counts nowhere
    (plugin,) = host.state("isolation")["plugins"].values()
    assert (plugin.config.restarts, plugin.config.timeout) == (1, 10.0)
    host.close()
    wrong = isolated("acme", settings={"isolation.restarts": -1})
    assert "acme" not in wrong.plugins
    (problem,) = wrong.problems
    assert "greater than or equal to 0" in problem.message and "isolation.restarts" in problem.message


TOOLS = """
async def book(args, ctx):
    answers = await ctx.ask(Survey("Journey", "", (SurveyQuestion("city", "Where to?"),)))
    return "nowhere" if answers is None else f"to {answers['city']}"

async def wait(args, ctx):
    ctx.on_output("waiting")
    try:
        await ctx.signal.wait()
    finally:
        with open(args["file"], "w") as file:
            file.write(str(ctx.signal.reason))
    return "aborted"

def deaf(args, ctx):
    ctx.on_output("waiting")
    time.sleep(3600)

@hookimpl
def register_tools(register):
    text = {"type": "object", "properties": {"file": {"type": "string"}}}
    register(Tool("book", "Books.", book, annotations={"asks": True}))
    register(Tool("wait", "Waits.", wait, text))
    register(Tool("deaf", "Waits.", deaf, timeout=0.3))
"""


async def test_a_tool_asks_a_person_now_and_later(install: Any, isolated: Any) -> None:
    host = isolated(install("acme", TOOLS))
    book = Reply(calls=[Call("book", {}, "A")])
    for ui, answer in ((ScriptedUser({"city": "Oslo"}), "to Oslo"), (ScriptedUser(None), "nowhere")):
        async with AgentRunner(AgentConfig(model="any", ui=ui), host=host) as agent:
            agent.set_adapter(ScriptedModel([book, "done"]))
            response = await agent.chat("go")
            assert [m.text for m in response.messages if m.role == "tool_result"] == [answer]
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:  # nobody is there: the run waits
        agent.set_adapter(ScriptedModel([book, "done"]))
        assert (await agent.chat("go")).outcome == "suspended"
        response = await agent.resume({"A": ApprovalDecision("allow", answer={"city": "Rome"})})
        assert response.content == "done"
        assert [m.text for m in agent.messages if m.role == "tool_result"] == ["to Rome"]
    await host.aclose()


async def test_a_tool_hears_of_an_abort_and_one_that_does_not_listen_is_ended(
    install: Any, isolated: Any, tmp_path: Any
) -> None:
    host = isolated(install("acme", TOOLS))
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("wait", {"file": str(tmp_path / "told")})]), "done"]))
        agent.events.observe(lambda e: agent.abort("enough"), ["tool_execution_update"])
        with pytest.raises(RunAborted):
            await agent.chat("go")
        assert (tmp_path / "told").read_text() == "enough"
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("deaf")]), "done"]))
        response = await agent.chat("go")
        assert response.content == "done" and "0.3" in next(
            m.text for m in response.messages if m.role == "tool_result"
        )
    await host.aclose()
