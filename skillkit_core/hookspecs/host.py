"""Host hooks: the life of the host itself, called in the order of the plugins.

An exception in one plugin becomes a diagnostic of that plugin, and the others are still called. All hooks but
``host_closing`` are plain functions: an async implementation is left out, with a diagnostic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .markers import Observed, hookspec

if TYPE_CHECKING:
    from ..errors import Diagnostic
    from ..host.manager import Host


@hookspec
def register_hookspecs(add: Any, host: Host) -> None:
    """Define hooks of your own: ``add(module_or_class, kinds=None, events=None)`` with functions marked ``@hookspec``.

    Event classes in the module (subclasses of ``Event`` whose ``type`` is the name of such a function) become events of every
    agent of this host. ``agent.events.emit(agent.events.make(MyEvent, ...))`` calls plugins and handlers alike, and ``on`` and
    ``observe`` take these classes too.

    ``events="acme.events"`` names another module of event classes, which is imported when the first agent is made, so that no
    listing pays for it.

    ``kinds={"engines": Engine}`` makes a kind of items. Other plugins register objects of class ``Engine`` (or of its import
    string, or of a tuple of these), each with a ``name``, in ``register_engines(register, host, config)``, which must be one of
    the hookspecs. ``host.registry("engines")`` holds these objects. For the class
    :class:`~skillkit_core.descriptors.Factory`, ``get(name)`` returns the object that the factory makes, as for the core's kinds.

    When: right after the plugin was imported, before any plugin's implementations are checked. An implementation of another
    plugin's hook is marked ``optionalhook=True``.

    Example::

        @hookimpl
        def register_hookspecs(add):
            from . import hooks
            add(hooks)
    """


@hookspec
def host_configure(host: Host, config: Any) -> None:
    """Read the plugin's validated configuration: ``config`` is the plugin's section or ``None``.

    When: after all plugins are loaded, before anything is looked up, and again when ``Host.configure`` sets values later, as
    options of a command do.

    Example::

        @hookimpl
        def host_configure(host, config):
            if config and config.strict:
                host.note("acme", "strict mode")
    """


@hookspec
def host_started(host: Host) -> None:
    """Start work that needs the complete host: every plugin is loaded and configured."""


@hookspec
def host_closing(host: Host) -> Observed:
    """End work that must be awaited, before the host closes. May be async.

    When: in ``Host.aclose()``, before adapters, executors and session stores are closed and before ``host_shutdown``, the last
    plugin first. Each plugin has five seconds. ``Host.close()``, which cannot wait, leaves this hook out.

    Example::

        @hookimpl
        async def host_closing(host):
            await connections.close()
    """


@hookspec
def host_shutdown(host: Host) -> None:
    """End all that the plugin started, within five seconds: the host shuts down.

    Example::

        @hookimpl
        def host_shutdown(host):
            stop_watching()
    """


@hookspec
def plugin_registered(plugin: str, host: Host) -> None:
    """Observe that the plugin named ``plugin`` was loaded."""


@hookspec
def plugin_problem(problem: Diagnostic, host: Host) -> None:
    """Observe that a plugin failed: ``problem`` names the plugin, the place and the remedy.

    Example::

        @hookimpl
        def plugin_problem(problem):
            log.warning("%s", problem)
    """


@hookspec
def project_content(register: Any, folder: str, settings: Any, host: Host) -> None:
    """Name what the plugin takes from a trusted folder: ``register(path, describe)``, where ``describe()`` gives lines.

    ``path`` is relative to ``folder``; its content must stay as it was seen. ``settings``: the project's configuration.

    Example::

        register(".acme/hooks", lambda: os.listdir(f"{folder}/.acme/hooks"))
    """
