"""The providers of docs/how-to/write-a-provider.md keep what an adapter owes, and are small."""

import asyncio
import sys
from dataclasses import replace
from types import ModuleType

import pytest
from markdown_blocks import ROOT, files
from skillkit_testkit import Fail, Reply
from skillkit_testkit.conformance import AdapterConformance

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition, TokenUsage

PAGE = ROOT / "docs" / "how-to" / "write-a-provider.md"


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """The module that the page prints, under its own name."""
    name = "skillkit_echo"
    source = files(PAGE)[f"skillkit-echo/{name}.py"]
    path = tmp_path_factory.mktemp("echo") / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    module = ModuleType(name)
    module.__file__ = str(path)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
        yield module
    finally:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before


class Script:
    """Has the echo asked for what is scripted: then it says that."""

    server = None

    def __init__(self, adapter_class):
        self._adapter_class = adapter_class

    def __call__(self, *turns):
        (turn,) = turns
        if not isinstance(turn, Reply):
            pytest.skip("the wire is inside the process: nothing fails on the way")
        if turn.tool_calls or turn.thinking or turn.stop is not None:
            pytest.skip("an echo calls nothing, does not think, and is not cut short")
        if turn.usage not in (None, Reply().usage, TokenUsage()):
            pytest.skip("its wire counts words of its own")

        class Told(self._adapter_class):
            async def stream(self, request):
                asked = replace(request, messages=(*request.messages, UserMessage(content=turn.whole_text)))
                async for event in super().stream(asked):
                    yield event

        return Told(None, provider="echo")


class TestEcho(AdapterConformance):
    lacks = frozenset({"thinking"})

    @pytest.fixture
    def scripted(self, echo):
        return Script(echo.EchoAdapter)

    def test_missing_usage_is_zero_and_no_error(self, scripted, stream):
        pytest.skip("its wire always counts")


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([{"type": "begin"}], ErrorKind.protocol),
        ([{"type": "begin", "id": "1"}, {"type": "word", "text": 7}], ErrorKind.protocol),
        ([{"type": "begin", "id": "1"}, {"type": "word", "text": "half"}, None], ErrorKind.connection),
        ([{"type": "begin", "id": "1"}, {"type": "word", "text": "half"}], ErrorKind.protocol),
        ([{"type": "begin", "id": "1"}, b"data: {half\n\n"], ErrorKind.protocol),
        ([{"type": "begin", "id": "1"}, {"type": "end", "asked": 1, "reason": "said"}, {"type": "word"}], None),
    ],
    ids=["a field is missing", "a wrong type", "the connection is lost", "no end", "no JSON", "more after the end"],
)
def test_whatever_its_wire_does_the_stream_ends_in_one_event(echo, events, kind):
    class Spoiled(echo.EchoAdapter):
        async def _ask(self, request):
            for event in events:
                if event is None:
                    raise ConnectionResetError("gone")
                yield event if isinstance(event, bytes) else echo.sent(event)

    async def ask():
        request = LLMRequest(ModelDefinition("echo-1"), [UserMessage(content="hi")])
        return [event async for event in Spoiled(None, provider="echo").stream(request)]

    *_, last = got = asyncio.run(ask())
    assert [e.terminal for e in got].count(True) == 1
    assert (last.error and last.error.kind) == kind


def test_a_silent_wire_is_left_when_the_run_is_aborted_and_the_error_says_where(echo):
    class Silent(echo.EchoAdapter):
        async def _ask(self, request):
            yield echo.sent({"type": "begin", "id": "1"})
            await asyncio.get_running_loop().create_future()

    async def ask():
        request = LLMRequest(ModelDefinition("echo-1"), [UserMessage(content="hi")])
        got = []
        async for event in Silent(None, provider="echo").stream(request):
            got.append(event)
            request.signal.abort()
        return got

    first, last = asyncio.run(ask())
    assert (first.type, last.type, last.error.kind) == ("text_start", "error", ErrorKind.aborted)
    assert str(last.error) == "echo (echo.invalid): no answer: aborted"


@pytest.mark.parametrize(
    ("path", "most"), [("skillkit-acme/skillkit_acme.py", 40), ("skillkit-oracle/skillkit_oracle.py", 90)]
)
def test_a_provider_of_the_page_is_small(path, most):
    assert len(files(PAGE)[path].splitlines()) < most


def test_the_small_provider_answers_the_command_line(skillkit_cli, install_plugin, llm_server, tmp_path, monkeypatch):
    """Installed as a plugin, asked by the real command over a real connection; then the server refuses the key."""
    for path, text in files(PAGE).items():
        if path.endswith(("skillkit_acme.py", "test_acme.py")):
            (tmp_path / path.rpartition("/")[2]).write_text(text, encoding="utf-8")
    install_plugin("acme", tmp_path / "skillkit_acme.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    from test_acme import AcmeWire

    llm_server.wires["/say"] = AcmeWire()
    llm_server.script(Reply(text="Hello from acme."), Fail(401, message="who is a-key-of-acme?"))
    env = {"ACME_BASE_URL": llm_server.url, "ACME_API_KEY": "a-key-of-acme"}
    said = skillkit_cli("run", "--provider", "acme", "--json", "hello", env=env)
    assert said.ok().json["answer"] == "Hello from acme."
    assert (llm_server.last.model, llm_server.last.user_text) == ("acme-1", "hello")
    refused = skillkit_cli("run", "--provider", "acme", "hello", env=env)
    assert refused.exit_code == 1
    assert "who is ***?; check ACME_API_KEY" in " ".join(refused.stderr.split())
