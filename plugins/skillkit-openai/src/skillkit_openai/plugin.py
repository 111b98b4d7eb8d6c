"""What this plugin brings: OpenAI, and the servers that speak its wires."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection, Provider

if TYPE_CHECKING:
    from skillkit_core import Host

CHAT = "skillkit_openai.chat:OpenAIAdapter"
RESPONSES = "skillkit_openai.responses:OpenAIResponsesAdapter"
ALIASES = {"openai-compatible": "openai-chat"}
_CHAT = {"openai-chat": CHAT}
_BOTH = {**_CHAT, "openai-responses": RESPONSES}
_RESPONSES_FIRST = {"openai-responses": RESPONSES, **_CHAT}

_AZURE = {
    "key_hint": "AZURE_OPENAI_API_KEY",
    "url_hint": "AZURE_OPENAI_ENDPOINT or AZURE_OPENAI_BASE_URL",
    "resource_env": "AZURE_OPENAI_ENDPOINT",
}
# name, endpoint, variable of the key, APIs. The endpoint of a local server can be changed by a variable of its own.
_HOSTED: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", _CHAT),
    ("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", _CHAT),
    ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", _BOTH),
    ("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", _BOTH),
    ("google-openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", _CHAT),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", _BOTH),
    ("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", _BOTH),
    ("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY", _CHAT),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", _CHAT),
    ("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", _CHAT),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", _BOTH),
    ("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY", _CHAT),
    ("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", _CHAT),
    ("vercel", "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY", _BOTH),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY", _BOTH),
    ("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", _CHAT),
)
_LOCAL: tuple[tuple[str, str, str], ...] = (
    ("llama-cpp", "http://localhost:8080/v1", "LLAMA_CPP_BASE_URL"),
    ("lmstudio", "http://localhost:1234/v1", "LMSTUDIO_BASE_URL"),
    ("ollama", "http://localhost:11434/v1", "OLLAMA_BASE_URL"),
    ("vllm", "http://localhost:8000/v1", "VLLM_BASE_URL"),
)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """The section ``openai``."""
    register(ConfigSection("openai", "skillkit_openai.config:OpenAISection"))


@hookimpl
def register_adapters(register: Callable[[Provider], None], host: Host) -> None:
    """OpenAI first, then everybody who speaks its wires, then the servers of the configuration."""
    config = host.config.section("openai", None)
    common: dict[str, Any] = {} if config is None else config.options()
    servers: Mapping[str, Any] = {} if config is None else config.servers
    for provider in (*_openai(common), *_others(common)):
        if provider.name not in servers:
            register(provider)
    for name, server in servers.items():
        register(server.provider(name, common))


def _openai(common: Mapping[str, Any]) -> Iterator[Provider]:
    yield Provider(
        "openai",
        # Chat Completions is the default because OPENAI_BASE_URL usually points to a compatible server, and few of
        # those know /responses. `--api openai-responses` gets encrypted reasoning and server-side tools.
        _BOTH,
        api_aliases=ALIASES,
        base_url_env="OPENAI_BASE_URL",
        api_key_env=("OPENAI_API_KEY",),
        default_model="gpt-5-mini",
        options=common,
        description="OpenAI: Chat Completions and the Responses API",
        rank=20,
        generic=True,
    )
    yield Provider(
        "azure",
        _RESPONSES_FIRST,
        base_url_env="AZURE_OPENAI_BASE_URL",
        api_key_env=("AZURE_OPENAI_API_KEY",),
        options={**common, **_AZURE},
        description="Azure OpenAI: the endpoint of a resource in AZURE_OPENAI_ENDPOINT or AZURE_OPENAI_BASE_URL",
    )


def _others(common: Mapping[str, Any]) -> Iterator[Provider]:
    for name, url, key, apis in _HOSTED:
        yield Provider(name, apis, url, api_key_env=(key,), options={**common, "key_hint": key})
    for name, url, variable in _LOCAL:
        yield Provider(name, _BOTH, url, base_url_env=variable, options=common)
