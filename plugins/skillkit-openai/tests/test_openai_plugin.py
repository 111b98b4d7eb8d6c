"""What the plugin registers, and that importing it is free."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, plugin

from skillkit_core import Host
from skillkit_core.descriptors import Provider, load_object
from skillkit_core.errors import ConfigError, UsageError


def providers(config: Any = None) -> dict[str, Provider]:
    found: dict[str, Provider] = {}
    host = SimpleNamespace(config=SimpleNamespace(section=lambda name, default: config))
    plugin.register_adapters(lambda p: found.__setitem__(p.name, p), host)
    return found


def test_openai_is_the_second_choice_of_a_bare_run_and_compatible_servers_are_none() -> None:
    found = providers()
    assert found["openai"].rank == 20
    assert found["openai"].api_key_env == ("OPENAI_API_KEY",)
    assert found["openai"].base_url_env == "OPENAI_BASE_URL"
    assert [n for n, p in found.items() if p.rank is not None or p.generic] == ["openai"]
    assert {"azure", "openrouter", "groq", "deepseek", "minimax", "ollama", "vllm"} <= set(found)


def test_chat_is_the_default_wire_of_openai() -> None:
    assert list(providers()["openai"].apis) == ["openai-chat", "openai-responses"]


@pytest.mark.parametrize("name", sorted(providers()))
def test_every_provider_can_be_made(name: str) -> None:
    p = providers()[name]
    for api, target in p.apis.items():
        adapter = load_object(target)(
            None,
            provider=p.name,
            base_url=p.base_url or "http://127.0.0.1:1/v1",
            api_key="k",
            headers=p.headers,
            **p.options,
        )
        assert adapter.provider == name
        assert adapter.api == api


def test_hosted_endpoints_are_encrypted_and_name_their_key() -> None:
    for p in providers().values():
        if p.base_url and not p.base_url.startswith("http://localhost:"):
            assert p.base_url.startswith("https://"), p.name
            assert p.api_key_env, p.name


def test_the_plugin_module_imports_the_core_and_nothing_heavy() -> None:
    code = (
        "import sys; import skillkit_core; from skillkit_core import hookimpl; import skillkit_core.descriptors\n"
        "before = set(sys.modules); import skillkit_openai.plugin; print(*sorted(set(sys.modules) - before))"
    )
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(added) <= {"skillkit_openai", "skillkit_openai.plugin"}


def test_making_an_adapter_does_not_import_the_sdk() -> None:
    code = (
        "import sys; from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter\n"
        "OpenAIAdapter(None, base_url='http://localhost:8080/v1'); OpenAIResponsesAdapter(None)\n"
        "print(*[m for m in ('openai', 'aiohttp', 'httpx2', 'pydantic') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


def test_a_provider_without_an_endpoint_never_talks_to_openai() -> None:
    p = providers()["azure"]
    with pytest.raises(UsageError, match="set AZURE_OPENAI_ENDPOINT or AZURE_OPENAI_BASE_URL"):
        load_object(p.apis["openai-chat"])(None, provider="azure", base_url=None, api_key="k", **p.options)


@pytest.mark.parametrize(
    "value", ["https://r.openai.azure.com", "https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1"]
)
def test_an_azure_resource_is_enough_of_an_endpoint(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", value)
    p = providers()["azure"]
    adapter = load_object(p.apis["openai-responses"])(None, provider="azure", api_key="k", **p.options)
    assert adapter.endpoint.base_url == "https://r.openai.azure.com/openai/v1"
    assert adapter.dialect.store is False
    own = load_object(p.apis["openai-chat"])(None, provider="azure", base_url="https://x/v1", api_key="k", **p.options)
    assert own.endpoint.base_url == "https://x/v1"


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(UsageError, match="unknown option 'temprature'"):
        OpenAIAdapter(None, temprature=1)


def test_the_key_of_the_environment_goes_to_openai_and_to_no_other_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert OpenAIAdapter(None).endpoint.api_key == "sk-environment"
    assert OpenAIAdapter(None, base_url="http://127.0.0.1:9/v1").endpoint.api_key == ""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8/v1")
    assert OpenAIAdapter(None).endpoint.base_url == "http://127.0.0.1:8/v1"
    assert OpenAIAdapter(None).endpoint.api_key == "sk-environment"
    assert "sk-environment" not in repr(OpenAIAdapter(None).endpoint)


def test_servers_of_the_configuration_are_providers(section: Any) -> None:
    config = section(
        {
            "timeout": 30,
            "proxy": "http://127.0.0.1:3128",
            "servers": {
                "house": {
                    "base_url": "https://models.example/v1",
                    "api": "openai-responses",
                    "api_key_env": "HOUSE_KEY",
                    "headers": {"x-team": "a"},
                    "query": {"api-version": "1"},
                    "timeout": 5,
                    "strict": True,
                },
                "groq": {"base_url": "http://127.0.0.1:1/v1"},
            },
        }
    )
    found = providers(config)
    house = found["house"]
    assert list(house.apis) == ["openai-responses", "openai-chat"]
    assert house.api_key_env == ("HOUSE_KEY",)
    adapter = load_object(house.apis["openai-chat"])(
        None, provider="house", base_url=house.base_url, headers=house.headers, **house.options
    )
    assert adapter.dialect.strict
    assert adapter.endpoint.query == {"api-version": "1"}
    assert adapter.endpoint.proxy == "http://127.0.0.1:3128"
    assert adapter._timeout == 5
    assert found["groq"].base_url == "http://127.0.0.1:1/v1"
    assert found["openai"].options == {"timeout": 30, "proxy": "http://127.0.0.1:3128"}


@pytest.mark.parametrize(
    "data",
    [{"servers": {"a": {"base_url": "ftp://x"}}}, {"servers": {"a": {}}}, {"unknown": 1}, {"timeout": 0}],
)
def test_a_wrong_configuration_is_refused(section: Any, data: Any) -> None:
    with pytest.raises(ConfigError):
        section(data)


def test_the_host_makes_the_adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    host = Host(plugins=(plugin,), discover=False)
    assert type(host.adapters.resolve("openai", "openai-compatible")).__name__ == "OpenAIAdapter"
    assert type(host.adapters.resolve("ollama", "openai-compatible")).__name__ == "OpenAIAdapter"
    assert type(host.adapters.resolve("openai", "openai-responses")).__name__ == "OpenAIResponsesAdapter"
    assert host.adapters.resolve("ollama").endpoint.base_url == "http://localhost:11434/v1"  # type: ignore[attr-defined]
