"""Resolution hooks: a name is looked up; the first implementation whose answer, *after awaiting*, is not ``None`` decides.

Implementations are asked in the order of the plugins, sync or async. An exception becomes a diagnostic and counts as
``None``. When nobody answers, the registries do.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from .markers import hookspec

if TYPE_CHECKING:
    from ..config import AgentConfig
    from ..contracts.adapter import LLMAdapter
    from ..contracts.compactor import CompactionRequest, Compactor
    from ..contracts.runtime import SkillRuntime
    from ..host.manager import Host
    from ..models import ModelDefinition


@hookspec
def resolve_adapter(
    provider: str, api: str | None, config: AgentConfig, host: Host
) -> LLMAdapter | Awaitable[LLMAdapter | None] | None:
    """Give the adapter for a provider name.

    When: a run starts, or ``set_adapter`` was called with a name. ``api`` is what ``--api`` or the model asks for.
    Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_adapter(provider, config, host):
            if provider == "router":
                return RouterAdapter(host)

    Since 0.1.
    """


@hookspec
def resolve_model(
    name: str, provider: str | None, host: Host
) -> ModelDefinition | Awaitable[ModelDefinition | None] | None:
    """Give the definition for a model name, before the registry is asked.

    When: a run starts with a model named by a string. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_model(name, host):
            if name == "cheap":
                return host.models.get("acme/acme-small")

    Since 0.1.
    """


@hookspec
def resolve_runtime(name: str | None, host: Host) -> SkillRuntime | Awaitable[SkillRuntime | None] | None:
    """Give the runtime that runs commands and actions; ``name`` is ``None`` when nobody asked for a certain one.

    When: a command or action is about to run. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_runtime(name, host):
            return host.runtimes.get("docker") if name is None else None

    Since 0.1.
    """


@hookspec
def resolve_secret(name: str, host: Host) -> str | None:
    """Give the secret that an environment variable of this name would hold. Synchronous.

    When: the environment has no such variable. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_secret(name):
            return keyring.get_password("skillkit", name)

    Since 0.1.
    """


@hookspec
def select_compactor(request: CompactionRequest, host: Host) -> Compactor | Awaitable[Compactor | None] | None:
    """Choose the compactor for one compaction.

    When: the core has decided to compact. Stops at the first non-None answer; none: ``compactor`` of the configuration,
    else the first registered, else no compaction.

    Example::

        @hookimpl
        def select_compactor(request, host):
            return host.compactors.get("sliding-window") if request.reason == "overflow" else None

    Since 0.1.
    """
