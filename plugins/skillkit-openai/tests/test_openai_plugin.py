"""What the plugin registers, and that importing it is free."""

from __future__ import annotations

import subprocess
import sys

import pytest
from skillkit_openai import plugin

from skillkit_core.descriptors import Provider, load_object


def providers() -> dict[str, Provider]:
    found: dict[str, Provider] = {}
    plugin.register_adapters(lambda p: found.__setitem__(p.name, p))
    return found


def test_openai_is_the_second_choice_of_a_bare_run_and_compatible_servers_are_none() -> None:
    found = providers()
    assert found["openai"].rank == 20
    assert found["openai"].api_key_env == ("OPENAI_API_KEY",)
    assert found["openai"].base_url_env == "OPENAI_BASE_URL"
    assert [n for n, p in found.items() if p.rank is not None] == ["openai"]
    assert {"azure", "openrouter", "groq", "deepseek", "minimax", "ollama", "vllm"} <= set(found)


def test_chat_is_the_default_wire_of_openai() -> None:
    assert list(providers()["openai"].apis) == ["openai-chat", "openai-compatible", "openai-responses"]


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
        assert adapter.api == ("openai-chat" if api == "openai-compatible" else api)


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
