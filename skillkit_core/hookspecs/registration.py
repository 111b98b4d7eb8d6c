"""Registration hooks: a plugin registers its items.

The host calls each hook for one plugin at a time, in the order of the plugins, when the kind is first needed. An item that
is passed to ``register`` carries the plugin's name as its ``source``. An exception removes the items that this plugin
registered in this hook, becomes a diagnostic, and the other plugins go on. Implementations are plain functions (an async one
is left out, with a diagnostic) and return nothing. They create nothing heavy: items are descriptors with a name and an
import string.

A plugin may leave parameters out. ``config`` is the plugin's validated section (see :func:`register_config`), or ``None``
for a plugin without one; ``host`` is the :class:`~skillkit_core.Host`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .markers import hookspec

if TYPE_CHECKING:
    from ..contracts.skill_loader import SkillSource
    from ..descriptors import Command, ConfigSection, ContextProvider, Factory, Provider, TokenEstimator
    from ..host.manager import Host
    from ..models import ModelDefinition
    from ..tools import Tool, ToolSet


@hookspec
def register_adapters(register: Callable[[Provider], None], host: Host, config: Any) -> None:
    """Offer providers: adapters with endpoint and credentials.

    When: before the first provider is looked up. ``register(Provider(...))`` may be called several times. Where two plugins
    offer one name, using the bare name is an error, and ``name@plugin`` works.

    Example::

        @hookimpl
        def register_adapters(register):
            register(Provider("acme", {"acme-chat": "skillkit_acme.adapter:AcmeAdapter"}, api_key_env=("ACME_API_KEY",)))
    """


@hookspec
def register_models(register: Callable[[ModelDefinition], None], host: Host, config: Any) -> None:
    """Offer model definitions: windows, prices, capabilities.

    When: before the first model is looked up. A bare id that several providers offer means the one that came first.

    Example::

        @hookimpl
        def register_models(register):
            register(ModelDefinition("acme-1", "acme", "acme-chat", context_window=128_000))
    """


@hookspec
def register_runtimes(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer runtimes: :class:`~skillkit_core.SkillRuntime` implementations, made as ``create(host)``.

    When: before the first runtime is looked up.

    Example::

        @hookimpl
        def register_runtimes(register):
            register(Factory("firejail", "skillkit_firejail.runtime:FirejailRuntime"))
    """


@hookspec
def register_compactors(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer compactors: :class:`~skillkit_core.contracts.compactor.Compactor` implementations, made as ``create(host)``.

    When: before the first compaction.

    Example::

        @hookimpl
        def register_compactors(register):
            register(Factory("keep-last", "skillkit_keep_last.compactor:KeepLast"))
    """


@hookspec
def register_tools(register: Callable[[Tool | ToolSet], None], host: Host, config: Any) -> None:
    """Offer tools to models: a :class:`~skillkit_core.tools.Tool`, or a ``ToolSet`` whose tools change with the agent's state.

    When: before the first run of an agent. Where two plugins offer one tool name, the first in order wins, with a diagnostic,
    and the other tool is ``name@plugin``.

    Example::

        @hookimpl
        def register_tools(register):
            register(Tool("now", "The current time.", "skillkit_clock.tools:now"))
    """


@hookspec
def register_skill_sources(register: Callable[[SkillSource], None], host: Host, config: Any) -> None:
    """Offer sources of skills.

    When: before skills are first loaded.

    Example::

        @hookimpl
        def register_skill_sources(register):
            register(SkillSource("acme", kind="plugin", package="skillkit_acme.skills"))
    """


@hookspec
def register_skill_loaders(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer readers of skills: :class:`~skillkit_core.contracts.skill_loader.SkillLoader`, made as ``create(host)``.

    When: before skills are first loaded. The first loader that accepts a source reads it.

    Example::

        @hookimpl
        def register_skill_loaders(register):
            register(Factory("notion", "skillkit_notion.loader:NotionLoader"))
    """


@hookspec
def register_session_stores(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer session stores: :class:`~skillkit_core.contracts.session_store.SessionStore`, made as ``create(host)``.

    When: before the first session is created or listed. The store that ``session.store`` in the configuration names is used,
    else the first.

    Example::

        @hookimpl
        def register_session_stores(register):
            register(Factory("redis", "skillkit_redis.store:RedisStore"))
    """


@hookspec
def register_token_estimators(register: Callable[[TokenEstimator], None], host: Host, config: Any) -> None:
    """Offer token estimators for models by name pattern. Without one, four characters count as a token.

    When: before the first estimate. The first estimator whose pattern fits the model's id is used, one for ``*`` after the
    others. Its ``create(model)`` may count messages, images and tools in its own way; without it a message is the sum of its
    texts.

    Example::

        @hookimpl
        def register_token_estimators(register):
            register(TokenEstimator("acme", "skillkit_acme.estimate:count", models=("acme-*",)))
    """


@hookspec
def register_context_providers(register: Callable[[ContextProvider], None], host: Host, config: Any) -> None:
    """Offer parts of the system prompt.

    When: before the first run. Parts are asked for once per run and joined by ``order``, then by plugin order.

    Example::

        @hookimpl
        def register_context_providers(register):
            register(ContextProvider("today", "skillkit_today.context:date_line"))
    """


@hookspec
def register_executors(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer executors of tools: :class:`~skillkit_core.contracts.tool_executor.ToolExecutor`, made as ``create(host)``.

    When: before an executor is first looked up. The executor that ``tools.executor`` in the configuration names is used, else
    tools run in this process. The host closes the executors that were made when it closes.

    Example::

        @hookimpl
        def register_executors(register):
            register(Factory("container", "skillkit_container.executor:ContainerExecutor"))
    """


@hookspec
def register_credentials(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer sources of secrets: ``create(host)`` returns an object with ``get(name: str) -> str | None``, sync or async.

    When: a secret is not in the environment. Sources are asked in plugin order.

    Example::

        @hookimpl
        def register_credentials(register):
            register(Factory("vault", "acme_vault.source:VaultSource"))
    """


@hookspec
def register_commands(register: Callable[[Command], None], host: Host) -> None:
    """Offer commands of the command line, whose click commands are imported only when they are called.

    When: the command line is asked for help or for a command that the core does not have. A name of two words,
    ``sessions rewind``, adds the command ``rewind`` to the group ``sessions`` of another plugin, or to one of the core. Help
    keeps the answer until code that was imported changes. An implementation that depends on anything else, such as a
    setting, takes ``host``, and is asked each time.

    Example::

        @hookimpl
        def register_commands(register):
            register(Command("sessions", "skillkit_sessions.cli:sessions", "List, show and resume sessions."))
    """


@hookspec
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Declare the plugin's section of the configuration: a dataclass of settings, or a pydantic model that forbids unknown keys.

    When: before the configuration is validated. ``host.config.section(name, default)`` reads it, and returns ``default`` while
    nothing is set.

    Example::

        @hookimpl
        def register_config(register):
            register(ConfigSection("bash", "skillkit_bash.config:BashConfig"))
    """
