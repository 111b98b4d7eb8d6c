"""Host hooks: the life of the host itself. Plain functions but for ``host_closing``, called in the order of the plugins.

An exception in one plugin becomes a diagnostic of that plugin; the others are called. An async implementation of a hook that
must be a plain function is left out, with a diagnostic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .markers import Observed, hookspec

if TYPE_CHECKING:
    from ..errors import Diagnostic
    from ..host.manager import Host


@hookspec
def register_hookspecs(add: Any, host: Host) -> None:
    """Define hooks of your own: ``add(module_or_class, kinds=None)`` with functions marked ``@hookspec``.

    Event classes in it (subclasses of ``Event`` whose ``type`` is the name of such a function) become events of every agent of
    this host: ``agent.events.emit(agent.events.make(MyEvent, ...))`` asks plugins and handlers alike, ``on`` and ``observe`` know
    them.

    ``kinds={"engines": Engine}`` makes a kind of items of its own: other plugins register objects of class ``Engine`` (or its
    import string; a tuple takes several; each item has a ``name``) in ``register_engines(register, host, config)``, one of the
    hookspecs, and ``host.registry("engines")`` has them. With :class:`~skillkit_core.descriptors.Factory` as the class
    ``get(name)`` gives what the factory makes, as for the core's own kinds.

    When: right after the plugin was imported, before any plugin's implementations are checked. Whoever implements
    another plugin's hook marks it ``optionalhook=True``.

    Example::

        @hookimpl
        def register_hookspecs(add):
            from . import hooks
            add(hooks)
    """


@hookspec
def host_configure(host: Host, config: Any) -> None:
    """Look at the plugin's configuration once it is validated; ``config`` is the plugin's section or ``None``.

    When: after all plugins are loaded, before anything is looked up.

    Example::

        @hookimpl
        def host_configure(host, config):
            if config and config.strict:
                host.note("acme", "strict mode")
    """


@hookspec
def host_started(host: Host) -> None:
    """The host is complete: every plugin is loaded and configured."""


@hookspec
def host_closing(host: Host) -> Observed:
    """The host is about to close: end what must be awaited. May be async.

    When: ``Host.aclose()``, before adapters, executors and session stores are closed and before ``host_shutdown``; the last
    plugin first. At most five seconds each, then the host goes on. ``Host.close()``, which cannot wait, leaves it out.

    Example::

        @hookimpl
        async def host_closing(host):
            await connections.close()
    """


@hookspec
def host_shutdown(host: Host) -> None:
    """The host is going down: end what you started. At most five seconds, then the host goes on without you.

    Example::

        @hookimpl
        def host_shutdown(host):
            stop_watching()
    """


@hookspec
def plugin_registered(plugin: str, host: Host) -> None:
    """Another plugin was loaded; ``plugin`` is its name."""


@hookspec
def plugin_problem(problem: Diagnostic, host: Host) -> None:
    """A plugin failed somewhere; ``problem`` says which, where and what to do.

    Example::

        @hookimpl
        def plugin_problem(problem):
            log.warning("%s", problem)
    """
