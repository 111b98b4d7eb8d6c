"""Who answers the next request of an agent: the configured target, or what was chosen since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ..config import AgentConfig
from .part import Part
from .target import Target, resolve_target

if TYPE_CHECKING:
    from ..contracts.adapter import LLMAdapter
    from .runner import AgentRunner

__all__ = ["TargetSelection"]

Wrapper: TypeAlias = "Callable[[LLMAdapter], LLMAdapter]"


class TargetSelection(Part):
    """Keeps the target of an agent; a change counts from the next request on."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._chosen: tuple[str, LLMAdapter] | None = None
        self._asked = self._changed = False
        self._wrappers: tuple[Wrapper, ...] = ()
        self._plain: LLMAdapter | None = None  # what is inside the wrappers of the target
        self.target: Target | None = None

    def use_adapter(self, adapter: str | LLMAdapter) -> None:
        """Answer through this adapter, or the one of this provider."""
        if isinstance(adapter, str):
            self._chosen = (adapter, self._agent.host.adapters.get(adapter))
        else:
            self._chosen = (adapter.provider or type(adapter).__name__, adapter)

    def forget(self) -> None:
        """Resolve the configuration again."""
        self.target = self._chosen = None

    def wrap(self, wrapper: Wrapper) -> Callable[[], None]:
        """Put ``wrapper(adapter)`` in front of every adapter that answers this agent, from the next request on.

        Of several wrappers the last one is outermost. Returns a function that takes it away again.
        """
        self._rewrap((*self._wrappers, wrapper))
        return lambda: self._rewrap(tuple(known for known in self._wrappers if known is not wrapper))

    def _rewrap(self, wrappers: tuple[Wrapper, ...]) -> None:
        target, inside = self.target, self._plain if self._wrappers else None
        self._wrappers = wrappers
        if target is not None:
            self.target = self._wrapped(Target(target.model, inside or target.adapter, target.provider))

    def _wrapped(self, target: Target) -> Target:
        adapter = self._plain = target.adapter
        for wrapper in self._wrappers:
            adapter = wrapper(adapter)
        return target if adapter is target.adapter else Target(target.model, adapter, target.provider)

    async def current(self) -> Target:
        """The model and adapter of the next request."""
        if self._chosen is not None:
            name, adapter = self._chosen
            self._chosen = None
            self.target = self._wrapped(await self._retarget(name, adapter))
            self._changed = True
        if self.target is None:
            self.target = self._wrapped(await resolve_target(self._agent.host, self._effective_config()))
            self._changed = self._changed or self._asked
        self._asked = True
        return self.target

    def take_change(self) -> bool:
        """Whether the target was chosen anew since this was asked last."""
        changed, self._changed = self._changed, False
        return changed

    async def _retarget(self, name: str, adapter: LLMAdapter) -> Target:
        """The current model through another adapter: its default model where none was asked for."""
        host, asked = self._agent.host, self._agent.config.model
        item = host.adapters.provider(name) if name in host.adapters else None
        if item is not None and item.default_model and asked is None:
            config = replace(self._effective_config(), provider=name, model=item.default_model)
            model = (await resolve_target(host, config)).model
        elif self.target is not None:
            model = replace(self.target.model, provider=name, api=adapter.api)
        else:
            from ..models import ModelDefinition

            given = (
                asked if isinstance(asked, ModelDefinition) else ModelDefinition(asked or "default", name, adapter.api)
            )
            model = replace(given, provider=name, api=adapter.api or given.api)
        return Target(model, adapter, name)

    def _effective_config(self) -> AgentConfig:
        """The agent's configuration over that of the host."""
        get, given = self._agent.host.config.get, self._agent.config
        if given.model is not None:
            return given
        own = given.provider is not None or given.base_url is not None
        return replace(
            given,
            model=get("model"),
            provider=given.provider if own else get("provider"),
            api=given.api if own else get("api"),
            base_url=given.base_url if own else get("base_url"),
        )
