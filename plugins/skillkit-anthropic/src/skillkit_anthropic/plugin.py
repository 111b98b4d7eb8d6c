"""What this plugin brings: the provider ``anthropic``, servers that speak the same protocol, one section of configuration."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection, Provider

APIS = {"anthropic-messages": "skillkit_anthropic.adapter:AnthropicAdapter"}

COMPATIBLE = (
    # name, endpoint, variables that hold a key, default model, description
    ("deepseek-anthropic", "https://api.deepseek.com/anthropic", ("DEEPSEEK_API_KEY",), "deepseek-chat", "DeepSeek"),
    ("minimax-anthropic", "https://api.minimax.io/anthropic", ("MINIMAX_API_KEY",), "MiniMax-M2", "MiniMax"),
    ("moonshot-anthropic", "https://api.moonshot.ai/anthropic", ("MOONSHOT_API_KEY",), "kimi-k2-0905-preview", "Kimi"),
    ("zai-anthropic", "https://api.z.ai/api/anthropic", ("ZAI_API_KEY",), "glm-4.6", "Z.ai GLM"),
    ("openrouter-anthropic", "https://openrouter.ai/api", ("OPENROUTER_API_KEY",), None, "OpenRouter"),
    ("ollama-anthropic", "http://127.0.0.1:11434", (), None, "Ollama on this machine"),
)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Declare the section ``anthropic``."""
    register(ConfigSection("anthropic", "skillkit_anthropic.config:AnthropicConfig"))


@hookimpl
def register_adapters(register: Callable[[Provider], None]) -> None:
    """Offer Anthropic and the servers that speak its protocol."""
    register(
        Provider(
            "anthropic",
            APIS,
            base_url_env="ANTHROPIC_BASE_URL",
            api_key_env=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            default_model="claude-sonnet-5",
            description="Claude, over the Messages API",
            rank=10,
        )
    )
    for name, base_url, keys, model, title in COMPATIBLE:
        register(
            Provider(
                name,
                APIS,
                base_url=base_url,
                base_url_env=None if keys else "OLLAMA_BASE_URL",
                api_key_env=keys,
                default_model=model,
                options={"signed_thinking": False} | ({"key_hint": keys[0]} if keys else {}),
                description=f"{title}, over the Messages API",
            )
        )
