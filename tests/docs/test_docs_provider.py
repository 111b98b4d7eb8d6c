"""The provider of docs/how-to/write-a-provider.md keeps what an adapter owes: the testkit's suite runs on the page's code."""

import sys
from dataclasses import replace
from types import ModuleType

import pytest
from markdown_blocks import ROOT, files
from skillkit_testkit import Reply
from skillkit_testkit.conformance import AdapterConformance

from skillkit_core.messages import UserMessage
from skillkit_core.models import TokenUsage

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
    thinking = False

    @pytest.fixture
    def scripted(self, echo):
        return Script(echo.EchoAdapter)

    def test_missing_usage_is_zero_and_no_error(self, scripted, stream):
        pytest.skip("its wire always counts")
