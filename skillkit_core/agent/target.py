"""The target of a request: the model and the adapter, from the configuration or from a later choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..config import AgentConfig
from ..descriptors import Provider
from ..errors import UnknownName, UsageError
from ..models import ModelDefinition
from .part import Part

if TYPE_CHECKING:
    from ..contracts.adapter import LLMAdapter
    from ..host.manager import Host
    from .runner import AgentRunner

__all__ = ["Target", "TargetSelection", "resolve_target"]


@dataclass(frozen=True, slots=True)
class Target:
    """The model and the adapter of a request.

    Attributes:
        model: the model.
        adapter: the adapter.
        provider: the name of the adapter in the registry.
    """

    model: ModelDefinition
    adapter: LLMAdapter
    provider: str


async def resolve_target(host: Host, config: AgentConfig) -> Target:
    """Return the target that ``config`` names.

    A model definition is used unchanged. A model name is looked up with ``resolve_model``, then in the registry; with a
    provider (``--provider`` or ``provider/id``) or an endpoint the name may be unknown. The default model is that of the
    provider; the default provider is the first usable one by rank.

    Raises:
        UnknownName: the model or provider is unknown.
        UsageError: no provider can be used, or a key is missing.
    """
    model, provider = await _find_model(host, config)
    found = await host.resolve("resolve_adapter", provider=provider, api=config.api or model.api or None, config=config)
    adapter = found if found is not None else await _adapter(host, config, provider, model)
    model = replace(model, provider=model.provider or provider, api=model.api or adapter.api)
    return Target(model, adapter, provider)


async def _adapter(host: Host, config: AgentConfig, provider: str, model: ModelDefinition) -> LLMAdapter:
    api = config.api
    item = host.adapters.provider(provider)
    if api is None and item is not None and host.adapters.api_of(item, model.api) is not None:
        api = model.api
    return await host.adapters.find(provider, api, base_url=config.base_url, api_key=config.api_key)


async def _find_model(host: Host, config: AgentConfig) -> tuple[ModelDefinition, str]:
    asked, provider = config.model, config.provider
    if provider is not None and provider not in host.adapters:
        raise host.adapters.unknown(provider)
    if isinstance(asked, ModelDefinition):
        return asked, provider or _provider_for(host, config, asked.provider, asked.id)
    if asked is None:
        return await _default_model(host, config)
    found = await host.resolve("resolve_model", name=asked, provider=provider)
    if found is None and provider is not None:
        found = host.models.get(f"{provider}/{asked}")
        if found is None:
            known = host.models.get(asked)
            found = known if known is not None and known.provider == provider else None
        return found or ModelDefinition(asked.removeprefix(f"{provider}/"), provider), provider
    if found is None and config.base_url is None:
        found = await _known(host, asked)
    if found is not None and config.base_url is None:
        return found, provider or _provider_for(host, config, found.provider, found.id)
    head, _, rest = asked.partition("/")
    if rest and head in host.adapters:
        return ModelDefinition(rest, head), head
    if config.base_url is not None:
        generic = _generic(host, config.api)
        return (replace(found, provider=generic) if found else ModelDefinition(asked, generic)), generic
    raise UnknownName("model", asked, host.models.list(), hint=_model_hint(host, asked))


async def _known(host: Host, name: str) -> ModelDefinition | None:
    """Return the registered model of a name; of several providers', the model of one that has a key comes first."""
    first = host.models.get(name)
    if first is None or "/" in name:
        return first
    same = [m for m in host.models.items() if m.id == first.id]
    for model in same:
        item = host.adapters.provider(model.provider) if model.provider in host.adapters else None
        if item is not None and item.api_key_env and await host.adapters.find_usable(item):
            return model
    return first


def _model_hint(host: Host, name: str) -> str:
    close = [m.id for m in host.models.find(name)[:3]]
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return hint + "a model that is not listed needs --provider"


def _provider_for(host: Host, config: AgentConfig, provider: str, model: str) -> str:
    if provider and provider in host.adapters:
        return provider
    if config.base_url is not None or not provider:
        return _generic(host, config.api)
    raise UnknownName("provider", provider, host.adapters.list(), hint=f"model {model!r} needs it; install its plugin")


def _generic(host: Host, api: str | None) -> str:
    """Return the provider that takes any endpoint, with ``api`` if that is given; raise :class:`UsageError` without one."""
    for entry in host.adapters.entries():
        item = entry.item
        if isinstance(item, Provider) and item.generic and (not api or host.adapters.api_of(item, api)):
            return host.adapters.name_of(entry)
    raise UsageError(
        "no installed provider takes an endpoint of its own" + (f" with api {api!r}" if api else ""),
        hint="name one with --provider",
    )


async def _default_model(host: Host, config: AgentConfig) -> tuple[ModelDefinition, str]:
    provider = config.provider
    if provider is None:
        provider = _generic(host, config.api) if config.base_url is not None else await host.adapters.find_default()
    if provider is None:
        raise UsageError(
            "no provider can be asked", hint=f"{host.adapters.way_out()}, or name a provider with --provider"
        )
    item = host.adapters.provider(provider)
    name = item.default_model if item is not None else None
    if name is None:
        raise UsageError(f"provider {provider!r} has no default model", hint="name one with --model")
    known = host.models.get(f"{provider}/{name}")
    return known or ModelDefinition(name, provider), provider


class TargetSelection(Part):
    """Holds the target of an agent; a change counts from the next request on.

    Attributes:
        target: the agent's own target; ``None``: not resolved yet, or the agent uses the parent's.
        inherited: the parent's target, if the last request used it.
        choices: the number of choices so far.
        changed: the target has changed without a ``model_select`` event yet.
    """

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._chosen: tuple[str, LLMAdapter] | None = None
        self._asked = self.changed = False
        self.target: Target | None = None
        self.inherited: Target | None = None
        self.choices = 0

    def use_adapter(self, adapter: str | LLMAdapter) -> None:
        """Choose an adapter, or the adapter of a provider."""
        self._chosen = self._named(adapter)
        self.choices += 1

    def forget(self) -> None:
        """Drop the target, so that the next request resolves the configuration again."""
        self.target = self._chosen = self.inherited = None
        self.choices += 1

    def _named(self, adapter: str | LLMAdapter) -> tuple[str, LLMAdapter]:
        if isinstance(adapter, str):
            return adapter, self._agent.host.adapters.get(adapter)
        return adapter.provider or type(adapter).__name__, adapter

    async def current(self) -> Target:
        """Return the target of the next request."""
        if self._chosen is not None:
            name, adapter = self._chosen
            self._chosen = None
            self.target = await self._retarget(name, adapter)
            self.changed = True
        found = self.target
        if found is None:
            found = await self._of_parent()
            if found is None:
                found = self.target = await resolve_target(self._agent.host, self._effective_config())
            if found is not self.inherited:
                self.changed = self.changed or self._asked
            self.inherited = found if self.target is None else None
        self._asked = True
        return found

    async def _of_parent(self) -> Target | None:
        """Return the target of the parent; ``None`` when the agent has no parent or configures a target of its own."""
        config, parent = self._agent.config, self._agent.nesting.parent
        if parent is None or config.model is not None or config.provider is not None or config.base_url is not None:
            return None
        return parent.run.target or await parent.run.choose_target()

    async def find(self, adapter: str | LLMAdapter | None, model: str | ModelDefinition | None) -> Target:
        """Return the target with another adapter or model, or raise as :func:`resolve_target`; ``None``: the current one."""
        host, config = self._agent.host, self._agent.config
        if adapter is None:
            return await resolve_target(host, self._effective_config(replace(config, model=model, provider=None)))
        name, found = self._named(adapter)
        if model is None:
            return await self._retarget(name, found)
        if isinstance(model, str) and name in host.adapters:
            model = (await resolve_target(host, replace(config, model=model, provider=name))).model
        elif isinstance(model, str):
            model = ModelDefinition(model, name)
        return Target(replace(model, provider=name, api=found.api or model.api), found, name)

    def fallbacks(self) -> list[str | ModelDefinition]:
        """Return the fallbacks of the agent; those of its parent when it asks the parent's model."""
        config, parent = self._effective_config(), self._agent.nesting.parent
        if parent is not None and self.target is None:
            return parent.run.agent.selection.fallbacks()
        return list(config.fallbacks)

    async def fall_back(self, model: str | ModelDefinition) -> Target:
        """Return the target of a fallback, at the configured provider unless the name has one.

        Raises as :func:`resolve_target`.
        """
        host, config = self._agent.host, replace(self._effective_config(), model=model)
        if isinstance(model, ModelDefinition) or model.partition("/")[0] in host.adapters:
            config = replace(config, provider=None, api=None, base_url=None, api_key=None)
        return await resolve_target(host, config)

    async def refresh(self, target: Target) -> Target | None:
        """Return ``target`` with a fresh secret after a refusal; ``None`` when there is no fresh secret."""
        adapter = await self._agent.host.adapters.refresh(target.adapter)
        if adapter is None:
            return None
        fresh = replace(target, adapter=adapter)
        if self.target is target:
            self.target = fresh
        return fresh

    def take_change(self) -> None:
        """Mark the change as announced by ``model_select``."""
        self.changed = False

    async def _retarget(self, name: str, adapter: LLMAdapter) -> Target:
        """Return the target with another adapter: with its provider's default model if none is configured."""
        host, asked = self._agent.host, self._agent.config.model
        item = host.adapters.provider(name) if name in host.adapters else None
        if item is not None and item.default_model and asked is None:
            config = replace(self._effective_config(), provider=name, model=item.default_model)
            model = (await resolve_target(host, config)).model
        elif (now := self.target or self.inherited) is not None:
            model = replace(now.model, provider=name, api=adapter.api)
        else:
            given = (
                asked if isinstance(asked, ModelDefinition) else ModelDefinition(asked or "default", name, adapter.api)
            )
            model = replace(given, provider=name, api=adapter.api or given.api)
        return Target(model, adapter, name)

    def _effective_config(self, given: AgentConfig | None = None) -> AgentConfig:
        """Return the agent's configuration, or ``given``, with the host's target where it asks the provider of the host."""
        get, given = self._agent.host.config.get, given or self._agent.config
        model = get("model") if given.model is None else given.model
        if given.base_url is not None or not self._at_home(given):
            return given if model is given.model else replace(given, model=model)
        provider, api = given.provider or get("provider"), given.api or get("api")
        return replace(given, model=model, provider=provider, api=api, base_url=get("base_url"))

    def _at_home(self, given: AgentConfig) -> bool:
        """Return whether ``given`` names no provider but that of the host, whose endpoint is thus meant."""
        host, named, model = self._agent.host, given.provider, given.model
        if named is None and isinstance(model, str):
            head = model.partition("/")[0]
            known = host.models.get(model)
            named = head if head in host.adapters else known.provider if known is not None else None
        elif named is None and isinstance(model, ModelDefinition):
            named = model.provider or None
        home = host.config.get("provider")
        if home is None and named is not None and host.config.get("base_url") is not None:
            home = _generic(host, given.api or host.config.get("api"))
        return named is None or named == home
