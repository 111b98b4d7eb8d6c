"""What the plugin registers, and that importing it is free."""

from __future__ import annotations

import subprocess
import sys

import pytest
from skillkit_openai import OpenAIAdapter, plugin

from skillkit_core.descriptors import Provider, load_object
from skillkit_core.errors import UsageError


def providers() -> dict[str, Provider]:
    found: dict[str, Provider] = {}
    plugin.register_adapters(lambda p: found.__setitem__(p.name, p))
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
    with pytest.raises(UsageError, match="set AZURE_OPENAI_BASE_URL"):
        load_object(p.apis["openai-chat"])(None, provider="azure", base_url=None, api_key="k", **p.options)


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
