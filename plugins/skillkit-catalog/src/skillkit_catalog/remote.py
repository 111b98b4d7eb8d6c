"""What an endpoint itself says it offers, with what is known here about the same models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_core import Host, ModelDefinition

__all__ = ["listed", "offered"]


def offered(
    host: Host, provider: str | None, api: str | None, base_url: str | None, query: str | None
) -> Sequence[ModelDefinition]:
    """The models that the provider's endpoint lists; ``query``: those whose id has every word of it.

    A model that is known here is shown with what is known, any other with what the endpoint says about it.

    Raises:
        UsageError: no provider was named, or its key is missing. ProviderError: the endpoint cannot be asked.
    """
    if provider is None:
        raise UsageError("there are many endpoints", hint="name one with --provider")
    words = (query or "").casefold().split()
    return [_known(host, m) for m in listed(host, provider, api, base_url) if all(w in m.id.casefold() for w in words)]


def listed(host: Host, provider: str, api: str | None, base_url: str | None) -> Sequence[ModelDefinition]:
    """The models that the provider's endpoint lists, with what the endpoint says about them.

    Raises:
        UsageError: the provider's key is missing. ProviderError: the endpoint cannot be asked.
    """
    if provider not in host.adapters:
        raise host.adapters.unknown(provider)
    return asyncio.run(_ask(host, provider, api, base_url))


async def _ask(host: Host, provider: str, api: str | None, base_url: str | None) -> Sequence[ModelDefinition]:
    try:
        adapter = await host.adapters.find(provider, api, base_url=base_url)
        return await adapter.list_models()
    finally:
        await host.adapters.close()


def _known(host: Host, model: ModelDefinition) -> ModelDefinition:
    known = host.models.get(f"{model.provider}/{model.id}")
    return model if known is None else known
