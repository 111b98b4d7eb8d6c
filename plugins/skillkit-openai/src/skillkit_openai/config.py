"""The section ``openai`` of the configuration: connection settings of all providers, and servers of one's own."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from skillkit_transport import require_url

from skillkit_core.config import setting
from skillkit_core.descriptors import Provider
from skillkit_core.errors import UsageError

from .plugin import ALIASES, CHAT, RESPONSES

__all__ = ["Connection", "OpenAISection", "Server"]


def _is_http(value: str) -> str:
    try:
        return require_url(value)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _names(section: type[Connection]) -> list[str]:
    return [one.name for one in fields(section)]


@dataclass(frozen=True, kw_only=True)
class Connection:
    """How to reach a server; what is not given is the adapter's default."""

    proxy: str | None = setting(None, "URL of an HTTP proxy; default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY")
    timeout: float | None = setting(None, "seconds until the first event of an answer (600)", gt=0)
    idle_timeout: float | None = setting(None, "longest silence in seconds within an answer (600)", gt=0)
    connect_timeout: float | None = setting(None, "seconds to reach the server (60)", gt=0)

    def options(self) -> dict[str, Any]:
        """What is given, as arguments of an adapter."""
        return {name: value for name in _names(Connection) if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, kw_only=True)
class Server(Connection):
    """A server of one's own that speaks one of the wires, or another setup of a known provider."""

    base_url: str = setting(MISSING, "endpoint with the version, without /chat/completions", check=_is_http)
    api: Literal["openai-chat", "openai-compatible", "openai-responses"] = "openai-chat"
    api_key_env: str | None = setting(None, "variable that holds the key; none: no key is sent")
    key_header: Literal["authorization", "api-key", "x-api-key"] = "authorization"
    default_model: str | None = None
    headers: dict[str, str] = setting(dict, "sent with every request")
    query: dict[str, str] = setting(dict, "added to every URL (Azure's api-version)")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    stream_usage: bool | None = None
    strict: bool | None = None
    cache_key: bool | None = None
    thinking: Literal["effort", "reasoning", "switch", "none"] | None = None
    call_ids: Literal["any", "mistral"] | None = None
    store: bool | None = None
    image_results: bool | None = None
    document_urls: bool | None = None
    summaries: bool | None = None
    cache_control: Literal["auto", "off", "5m", "1h"] | None = None

    def provider(self, name: str, common: dict[str, Any]) -> Provider:
        """The server as a provider called ``name``."""
        own = {"base_url", "api", "api_key_env", "key_header", "default_model", "headers", "query"}
        options = {k: v for k in _names(Server) if k not in own and (v := getattr(self, k)) is not None}
        if self.query:
            options["query"] = self.query
        if self.api_key_env:
            options["key_hint"] = self.api_key_env
        if self.key_header != "authorization":
            options["key_header"] = self.key_header
        first, second = {"openai-chat": CHAT}, {"openai-responses": RESPONSES}
        return Provider(
            name,
            second | first if self.api == "openai-responses" else first | second,
            self.base_url,
            api_aliases=ALIASES,
            api_key_env=(self.api_key_env,) if self.api_key_env else (),
            default_model=self.default_model,
            headers=self.headers,
            options={**common, **options},
            description="from the configuration",
        )


@dataclass(frozen=True, kw_only=True)
class OpenAISection(Connection):
    """``openai:`` in ``config.yaml``."""

    cache_control: Literal["auto", "off"] = setting("auto", "off: no cache breakpoints at any server")
    servers: dict[str, Server] = setting(dict, "servers of your own, by name")

    def options(self) -> dict[str, Any]:
        """What holds for all providers, as arguments of an adapter."""
        return {**super().options(), **({"cache_control": "off"} if self.cache_control == "off" else {})}
