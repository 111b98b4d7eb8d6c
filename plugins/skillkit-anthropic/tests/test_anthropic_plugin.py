"""What the plugin registers, what it costs to load, and how configuration reaches the adapter."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import skillkit_anthropic
from skillkit_anthropic import AnthropicAdapter, AnthropicConfig, plugin
from skillkit_anthropic.models import definitions

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.descriptors import load_object
from skillkit_core.errors import ErrorKind, ProviderError, UsageError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition


def registered(hook: Any) -> list[Any]:
    out: list[Any] = []
    hook(out.append)
    return out


def test_the_provider_and_its_compatible_servers():
    providers = {p.name: p for p in registered(plugin.register_adapters)}
    own = providers["anthropic"]
    assert (own.api_key_env, own.base_url_env, own.rank) == (
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "ANTHROPIC_BASE_URL",
        10,
    )
    assert own.default_model
    assert len(providers) == 1 + len(plugin.COMPATIBLE)
    for provider in providers.values():
        assert load_object(provider.apis["anthropic-messages"]) is AnthropicAdapter
        if provider is not own:
            assert provider.rank is None
            assert provider.base_url
            assert not {"ANTHROPIC_API_KEY"} & set(provider.api_key_env)


def test_the_section_of_the_configuration():
    (section,) = registered(plugin.register_config)
    assert section.name == "anthropic"
    assert load_object(section.model) is AnthropicConfig


def test_loading_the_plugin_imports_nothing_heavy():
    code = (
        "import json, sys; from skillkit_core import hookimpl; import skillkit_core.descriptors; before = set(sys.modules);"
        "import skillkit_anthropic.plugin; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["skillkit_anthropic", "skillkit_anthropic.plugin"]


def test_the_sdk_is_imported_with_the_first_request_and_not_before():
    code = (
        "import sys; from skillkit_anthropic import AnthropicAdapter; from skillkit_core.contracts.adapter import LLMRequest;"
        "from skillkit_core.messages import UserMessage; from skillkit_core.models import ModelDefinition;"
        "a = AnthropicAdapter(None, api_key='k'); r = LLMRequest(ModelDefinition('m'), [UserMessage(content='x')]);"
        "a.validate(r); print(any(m == 'anthropic' or m == 'aiohttp' for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_public_names_exist():
    for name in skillkit_anthropic.__all__:
        assert getattr(skillkit_anthropic, name) is not None
    with pytest.raises(AttributeError):
        _ = skillkit_anthropic.nothing


class Host:
    """What the adapter asks of a host."""

    def __init__(self, section: Any = None, secrets: dict[str, str] | None = None) -> None:
        self.config = self
        self._section = section
        self._secrets = secrets or {}

    def section(self, name: str) -> Any:
        return self._section if name == "anthropic" else None

    def secret(self, name: str) -> str | None:
        return self._secrets.get(name)


def test_configuration_and_secrets_come_from_the_host_and_arguments_win(monkeypatch):
    section = AnthropicConfig(cache="1h", max_tokens=5_000, betas=("b-1",), headers={"x-a": "1"}, timeout=5)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the host decides, not this")
    host = Host(section, {"ANTHROPIC_API_KEY": "from-host"})

    async def headers(adapter: AnthropicAdapter) -> tuple[dict[str, str], Any]:
        seen: dict[str, Any] = {}

        async def look(payload, all_headers):
            seen.update(payload=payload, headers={k.lower(): v for k, v in all_headers.items()})
            raise ProviderError("looked", kind=ErrorKind.aborted)

        own = ModelSettings(headers={"anthropic-beta": "b-2"})
        request = LLMRequest(ModelDefinition("m"), [UserMessage(content="x")], on_request=look, settings=own)
        [_ async for _ in adapter.stream(request)]
        await adapter.close()
        return seen["headers"], seen["payload"]

    found, payload = asyncio.run(headers(AnthropicAdapter(host)))
    assert "from-host" in found["authorization"]
    assert (found["x-a"], found["anthropic-beta"]) == ("1", "b-1,b-2")
    assert payload["max_tokens"] == 5_000
    assert payload["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    found, payload = asyncio.run(headers(AnthropicAdapter(host, cache="off", max_tokens=7, api_key="mine")))
    assert "mine" in found["authorization"]
    assert payload["max_tokens"] == 7
    assert "cache_control" not in json.dumps(payload)
    found, _ = asyncio.run(headers(AnthropicAdapter(host, provider="other", base_url="http://127.0.0.1:9")))
    assert "authorization" not in found
    assert "x-a" not in found
    assert found["anthropic-beta"] == "b-2"
    with pytest.raises(UsageError, match="cache"):
        AnthropicAdapter(host, cache="2d")


def supported(*names: str) -> dict[str, Any]:
    return {n: {"supported": True} for n in names}


def test_the_models_that_an_endpoint_lists():
    thinking = {"supported": True, "types": supported("adaptive", "disabled")}
    effort = {"supported": True, **supported("low", "medium", "high", "max")}
    able = {**supported("image_input", "pdf_input", "structured_outputs"), "thinking": thinking, "effort": effort}
    data = [
        {
            "id": "claude-x",
            "display_name": "X",
            "max_input_tokens": 200_000,
            "max_tokens": 64_000,
            "capabilities": able,
        },
        {"id": "bare"},
        {"nothing": 1},
    ]
    full, bare = definitions({"data": data}, "anthropic")
    assert (full.id, full.display_name, full.context_window, full.max_output_tokens) == (
        "claude-x",
        "X",
        200_000,
        64_000,
    )
    assert full.capabilities == {"text", "tool_use", "image", "pdf", "reasoning", "structured_output"}
    assert full.thinking_levels["xhigh"] == "max"
    assert full.thinking_levels["off"] == "disabled"
    assert (bare.context_window, bare.reasoning, bare.capabilities) == (0, False, {"text", "tool_use"})
    assert definitions("nonsense", "anthropic") is None


def test_list_models_asks_the_endpoint():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
        good = line.startswith(b"GET /v1/models?limit=1000 ")
        body = json.dumps(
            {"data": [{"id": "m-1"}]} if good else {"error": {"type": "not_found_error", "message": "x"}}
        ).encode()
        status = b"200 OK" if good else b"404 Not Found"
        writer.write(b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nconnection: close\r\n" % status)
        writer.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def run(path: str) -> Any:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            try:
                return await adapter.list_models()
            finally:
                await adapter.close()

    assert [m.id for m in asyncio.run(run(""))] == ["m-1"]
    with pytest.raises(ProviderError) as caught:
        asyncio.run(run("/wrong"))
    assert caught.value.kind is ErrorKind.not_found


def test_the_readme_counts_the_recordings_that_are_there(cases):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", readme, re.MULTILINE)
    counted: dict[str, Counter[str]] = {}
    for case in cases:
        kinds = counted.setdefault(case.index["provider"], Counter())
        kinds["stream" if case.index["stream"] else "whole"] += 1
    assert {(n, int(s), int(w), int(t)) for n, s, w, t in rows} == {
        (name, c["stream"], c["whole"], c.total()) for name, c in counted.items()
    }
