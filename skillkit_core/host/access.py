"""The registries of a host by name and type."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..contracts.compactor import Compactor
    from ..contracts.runtime import SkillRuntime
    from ..contracts.session_store import SessionStore
    from ..contracts.skill_loader import SkillLoader
    from ..descriptors import Command
    from ..models import ModelRegistry
    from ..registry import Registry
    from .adapters import AdapterRegistry
    from .factories import FactoryRegistry

__all__ = ["Access"]


class Access:
    """What :class:`Host` offers for every kind of thing that plugins bring."""

    @abstractmethod
    def registry(self, kind: str) -> Any:
        """The registry of a kind, filled by the plugins when it is first asked for."""

    @property
    def adapters(self) -> AdapterRegistry:
        """Providers and adapters."""
        found: AdapterRegistry = self.registry("adapters")
        return found

    @property
    def models(self) -> ModelRegistry:
        """Model definitions."""
        found: ModelRegistry = self.registry("models")
        return found

    @property
    def runtimes(self) -> FactoryRegistry[SkillRuntime]:
        """Runtimes."""
        found: FactoryRegistry[SkillRuntime] = self.registry("runtimes")
        return found

    @property
    def compactors(self) -> FactoryRegistry[Compactor]:
        """Compactors."""
        found: FactoryRegistry[Compactor] = self.registry("compactors")
        return found

    @property
    def session_stores(self) -> FactoryRegistry[SessionStore]:
        """Session stores."""
        found: FactoryRegistry[SessionStore] = self.registry("session_stores")
        return found

    @property
    def skill_loaders(self) -> FactoryRegistry[SkillLoader]:
        """Skill loaders."""
        found: FactoryRegistry[SkillLoader] = self.registry("skill_loaders")
        return found

    @property
    def tools(self) -> Registry[Any]:
        """Tools and tool sets, as registered."""
        found: Registry[Any] = self.registry("tools")
        return found

    @property
    def commands(self) -> Registry[Command]:
        """Commands of plugins."""
        found: Registry[Command] = self.registry("commands")
        return found

    @property
    def context_providers(self) -> Registry[Any]:
        """Parts of the system prompt."""
        found: Registry[Any] = self.registry("context_providers")
        return found

    @property
    def token_estimators(self) -> Registry[Any]:
        """Token estimators."""
        found: Registry[Any] = self.registry("token_estimators")
        return found

    @property
    def skill_sources(self) -> Registry[Any]:
        """Places where skills are."""
        found: Registry[Any] = self.registry("skill_sources")
        return found
