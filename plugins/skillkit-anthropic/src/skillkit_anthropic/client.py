"""The official SDK as a transport: its credentials, base URLs, headers, proxies and error types, our bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit_transport import SDKTransport

if TYPE_CHECKING:
    import anthropic

__all__ = ["ANTHROPIC_URL", "PATH", "Endpoint", "Transport"]

ANTHROPIC_URL = "https://api.anthropic.com"
PATH = "/v1/messages"


class Endpoint:
    """Where requests go and with which credentials.

    Attributes:
        base_url: without ``/v1``; ``None``: the SDK's own choice (``ANTHROPIC_BASE_URL``, a profile, Anthropic).
        api_key: ``None`` with ``official``: whatever the SDK finds (environment, profile); else no credential is sent.
        official: the provider is Anthropic itself. Every other one never sees Anthropic's credentials or variables.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        official: bool,
        headers: Mapping[str, str],
        connect_timeout: float,
        proxy: str | None,
    ) -> None:
        self.base_url = base_url.rstrip("/").removesuffix("/v1") if base_url else None
        self.api_key = api_key
        self.official = official
        self.headers = dict(headers)
        self.connect_timeout = connect_timeout
        self.proxy = proxy


class Transport(SDKTransport["anthropic.AsyncAnthropic"]):
    """Anthropic's SDK as a transport to one endpoint."""

    package: ClassVar[str] = "anthropic"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._endpoint = endpoint

    def make(self) -> anthropic.AsyncAnthropic:
        """A client of the SDK."""
        self.load()
        import anthropic

        end = self._endpoint
        http = self.http(end.connect_timeout, end.proxy)
        headers: dict[str, Any] = dict(end.headers)
        api_key = end.api_key
        if not api_key and (not end.official or end.base_url is not None):
            api_key = "none"  # keeps the SDK from looking for credentials that are not meant for this server
            if not any(k.lower() in ("authorization", "x-api-key") for k in headers):
                headers["Authorization"] = anthropic.omit
        sdk = anthropic.AsyncAnthropic(
            api_key=api_key or None,
            base_url=end.base_url,
            max_retries=0,
            timeout=http.timeout,
            default_headers=headers,
            http_client=http,
        )
        if not end.official:
            # ANTHROPIC_CUSTOM_HEADERS may hold a secret meant for Anthropic; only the constructor's parameters count.
            sdk._custom_headers = headers
        return sdk

    def settings(self, sdk: anthropic.AsyncAnthropic) -> tuple[object, ...]:
        """What the URL and the headers of a request depend on, besides the request."""
        return (*super().settings(sdk), sdk.auth_token)

    def lasting(self, sdk: anthropic.AsyncAnthropic) -> bool:
        """Whether the headers of one request are right for the next; not where the credentials are tokens that are made anew."""
        return sdk.custom_auth is None and super().lasting(sdk)

    def has_credentials(self) -> bool:
        """Whether a request can prove who asks; a compatible server may want no proof."""
        if not self._endpoint.official or self.sdk().custom_auth is not None:
            return True
        return not {"authorization", "x-api-key"}.isdisjoint(name.lower() for name in self.headers({}))
