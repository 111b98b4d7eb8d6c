"""Resolution hooks: a name is looked up; the first implementation whose answer, *after awaiting*, is not ``None`` decides.

Implementations are asked in the order of the plugins, sync or async. An exception becomes a diagnostic and counts as
``None``. When nobody answers, the registries do.
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
    """Give the adapter for a provider name.

    When: a run starts, or ``set_adapter`` was called with a name. ``api`` is what ``--api`` or the model asks for.
    Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_adapter(provider, config, host):
            if provider == "router":
                return RouterAdapter(host)
    """


@hookspec
def resolve_model(name: str, provider: str | None, host: Host) -> Answer[ModelDefinition]:
    """Give the definition for a model name, before the registry is asked.

    When: a run starts with a model named by a string. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_model(name, host):
            if name == "cheap":
                return host.models.get("acme/acme-small")
    """


@hookspec
def resolve_runtime(name: str | None, host: Host) -> Answer[SkillRuntime]:
    """Give the runtime that runs commands and actions; ``name`` is ``None`` when nobody asked for a certain one.

    When: a command or action is about to run. Stops at the first non-None answer.

    Example::

        @hookimpl
        def resolve_runtime(name, host):
            return host.runtimes.get("docker") if name is None else None
    """


@hookspec
def resolve_executor(name: str | None, host: Host) -> Answer[ToolExecutor]:
    """Give the executor that runs the bodies of tools; ``name`` is ``None`` when nobody asked for a certain one.

    When: an agent without an executor of its own, or of the run that it is part of, is about to run tools. Stops at the first
    non-None answer; none: ``tools.executor`` of the configuration, else this process.

    Example::

        @hookimpl
        def resolve_executor(name, host):
            return host.executors.get("container") if name is None else None
    """


@hookspec
def resolve_approver(config: AgentConfig, host: Host) -> Answer[Approver]:
    """Give the approver of an agent that has none, neither of its own nor of the run that it is part of.

    When: a guard asks. Stops at the first non-None answer; none: what would be asked is denied.

    Example::

        @hookimpl
        def resolve_approver(config, host):
            return host.registry("approvers").get("slack")
    """


@hookspec
def resolve_secret(name: str, host: Host) -> Answer[str]:
    """Give the secret that an environment variable of this name would hold.

    When: the environment has no such variable. Stops at the first non-None answer. An async implementation is awaited where a
    model's adapter is chosen, and by ``await host.find_secret(name)``. ``host.secret(name)`` cannot wait inside an event loop:
    there its last answer counts, and a diagnostic says so when there is none.

    Example::

        @hookimpl
        async def resolve_secret(name):
            return await vault.read("skillkit", name)
    """


@hookspec
def refresh_secret(name: str, stale: str, host: Host) -> Answer[str]:
    """Give another value for a secret whose value ``stale`` was refused, such as a token that is over.

    When: a provider refused a request for its key (an ``auth`` failure), and the key is the secret ``name``. Stops at the first
    non-None answer. The request is made once more with it, and it counts in place of ``stale`` from then on. An answer that
    equals ``stale``, or none: the run fails.

    Example::

        @hookimpl
        async def refresh_secret(name, stale):
            return await login.renew(stale) if name == "ACME_TOKEN" else None
    """


@hookspec
def select_compactor(request: CompactionRequest, host: Host) -> Answer[Compactor]:
    """Choose the compactor for one compaction.

    When: the core has decided to compact. Stops at the first non-None answer; none: ``compactor`` of the configuration,
    else the first registered, else no compaction.

    Example::

        @hookimpl
        def select_compactor(request, host):
            return host.compactors.get("sliding-window") if request.reason == "overflow" else None
    """
