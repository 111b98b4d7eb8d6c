"""The official SDK's client, made when it is first needed: its credentials, URLs, headers and transport, no retries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit_transport import SDKTransport

from .dialect import OPENAI_URL

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Client", "Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go.

    Attributes:
        base_url: with the version, without ``/chat/completions``.
        api_key: sent as bearer token; empty: none is sent.
        headers: sent with every request; a value replaces the SDK's own.
        query: added to every URL (Azure's ``api-version``).
        proxy: ``http://[user:password@]host:port``; default: ``HTTPS_PROXY`` and friends.
        connect_timeout: seconds to reach the server. The SDK's 5 are too few for an event loop with a thousand sessions.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = field(default=None, repr=False)
    connect_timeout: float = 60.0


class Client(SDKTransport["AsyncOpenAI"]):
    """OpenAI's SDK as a transport to one endpoint."""

    package: ClassVar[str] = "openai"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self.endpoint = endpoint

    def make(self) -> AsyncOpenAI:
        """A client of the SDK."""
        self.load()
        from openai import AsyncOpenAI

        end = self.endpoint
        http = self.http(end.connect_timeout, end.proxy)
        sdk = AsyncOpenAI(
            api_key=end.api_key,
            base_url=end.base_url,
            default_headers=dict(end.headers),
            default_query=dict(end.query),
            timeout=http.timeout,
            max_retries=0,
            http_client=http,
            _enforce_credentials=False,
        )
        if end.base_url != OPENAI_URL:
            # OPENAI_ORG_ID and OPENAI_PROJECT_ID, which the SDK reads, are for OpenAI alone.
            sdk.organization = sdk.project = None
        return sdk

    def options(self, headers: Mapping[str, Any]) -> dict[str, Any]:
        """The SDK's options of a request, all of them: it copies the defaults of missing ones deeply, every time.

        ``security`` leaves out the administrator's key, which the SDK would take from ``OPENAI_ADMIN_KEY``.
        """
        return {
            **super().options({**self._keyless(), **headers}),
            "max_retries": 0,
            "params": {},
            "security": {"bearer_auth": True},
        }

    def _keyless(self) -> dict[str, Any]:
        """What tells the SDK that there is no key, where there is none."""
        from openai import Omit

        if self.endpoint.api_key or "authorization" in {*map(str.lower, self.endpoint.headers)}:
            return {}
        return {"Authorization": Omit()}
