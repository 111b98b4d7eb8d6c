"""Resolution hooks: the first implementation whose answer, *after awaiting*, is not ``None`` decides a lookup.

Implementations, sync or async, are asked in the order of the plugins. An exception becomes a diagnostic and counts as
``None``; of ``resolve_runtime`` and ``resolve_executor``, which may hold commands and tools in place, it fails the lookup, and
nothing runs. When no plugin answers, the registries do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .markers import Answer, hookspec

if TYPE_CHECKING:
    from ..config import AgentConfig
    from ..contracts.adapter import LLMAdapter
    from ..contracts.approver import Approver
    from ..contracts.compactor import CompactionRequest, Compactor
    from ..contracts.runtime import SkillRuntime
    from ..contracts.tool_executor import ToolExecutor
    from ..host.manager import Host
    from ..models import ModelDefinition


@hookspec
def resolve_adapter(provider: str, api: str | None, config: AgentConfig, host: Host) -> Answer[LLMAdapter]:
    """Return the adapter for a provider name.

    When: a run starts, or ``set_adapter`` was called with a name. ``api`` is the one that ``--api`` or the model names.
    Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_adapter(provider, config, host):
            if provider == "router":
                return RouterAdapter(host)
    """


@hookspec
def resolve_model(name: str, provider: str | None, host: Host) -> Answer[ModelDefinition]:
    """Return the definition for a model name, before the registry is asked.

    When: a run starts with a model named by a string. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_model(name, host):
            if name == "cheap":
                return host.models.get("acme/acme-small")
    """


@hookspec
def resolve_runtime(name: str | None, host: Host) -> Answer[SkillRuntime]:
    """Return the runtime that runs commands and actions. ``name`` is ``None`` when nobody asked for a certain runtime.

    When: a command or action is about to run. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_runtime(name, host):
            return host.runtimes.get("docker") if name is None else None
    """


@hookspec
def resolve_executor(name: str | None, host: Host) -> Answer[ToolExecutor]:
    """Return the executor that runs the bodies of tools. ``name`` is ``None`` when nobody asked for a certain executor.

    When: an agent is about to run tools, and neither the agent nor a parent has an executor. Stops at the first non-None answer;
    none: ``tools.executor`` of the configuration, else this process.

    Example::

        @hookimpl
        def resolve_executor(name, host):
            return host.executors.get("container") if name is None else None
    """


@hookspec
def resolve_approver(config: AgentConfig, host: Host) -> Answer[Approver]:
    """Return the approver of an agent, when neither the agent nor a parent has one.

    When: a guard asks for an approval. Stops at the first non-None answer; none: the call is denied.

    Example::

        @hookimpl
        def resolve_approver(config, host):
            return host.registry("approvers").get("slack")
    """


@hookspec
def resolve_secret(name: str, host: Host) -> Answer[str]:
    """Return the secret that an environment variable of this name would hold.

    When: the environment has no such variable. Stops at the first non-None answer. An async implementation is awaited where a
    model's adapter is chosen, and by ``await host.find_secret(name)``. ``host.secret(name)`` cannot wait inside an event loop:
    the last awaited answer counts there, and a diagnostic reports when there is none.

    Example::

        @hookimpl
        async def resolve_secret(name):
            return await vault.read("skillkit", name)
    """


@hookspec
def refresh_secret(name: str, stale: str, host: Host) -> Answer[str]:
    """Return another value for a secret whose value ``stale`` was refused, such as a token that has expired.

    When: a provider refused a request for its key (an ``auth`` failure), and the key is the secret ``name``. Stops at the first
    non-None answer. The answer replaces ``stale`` from then on, and the request is sent once more. Without an answer, or with
    one that equals ``stale``, the run fails.

    Example::

        @hookimpl
        async def refresh_secret(name, stale):
            return await login.renew(stale) if name == "ACME_TOKEN" else None
    """


@hookspec
def select_compactor(request: CompactionRequest, host: Host) -> Answer[Compactor]:
    """Return the compactor for one compaction.

    When: the core has decided to compact. Stops at the first non-None answer; none: ``compactor`` of the configuration,
    else the first registered, else no compaction.

    Example::

        @hookimpl
        def select_compactor(request, host):
            return host.compactors.get("sliding-window") if request.reason == "overflow" else None
    """
