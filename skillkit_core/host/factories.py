"""Registries of things that are made when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..descriptors import Factory, load_object
from ..errors import PluginError, SkillKitError
from ..registry import Entry, Registry

if TYPE_CHECKING:
    from .manager import Host

__all__ = ["FactoryRegistry", "make"]

T = TypeVar("T")


def make(host: Host, kind: str, entry: Entry[Any], target: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a plugin's factory; whatever goes wrong names the plugin.

    Raises:
        PluginError: the import or the call failed (a :class:`SkillKitError` of the factory passes unchanged).
    """
    owner = f"plugin {entry.source!r}" if entry.source else "the application"
    try:
        return load_object(target)(*args, **kwargs)
    except SkillKitError:
        raise
    except ImportError as error:
        raise PluginError(
            f"{kind} {entry.name!r} needs a package that is not there: {error}",
            where=owner,
            hint=host.reinstall_hint(entry.source),
        ) from error
    except Exception as error:
        raise PluginError(
            f"{kind} {entry.name!r} could not be made: {type(error).__name__}: {error}", where=owner
        ) from error


class FactoryRegistry(Registry[Any], Generic[T]):
    """Objects by name; a registered :class:`Factory` is called with the host at the first ``get``.

    ``register(name, instance)`` takes finished objects as well.
    """

    def __init__(self, host: Host, kind: str, describe: Callable[[str], str] | None = None) -> None:
        super().__init__(describe)
        self.kind = kind
        self._host = host
        self._made: dict[int, tuple[Entry[Any], T]] = {}

    def get(self, name: str) -> T:
        """The object called ``name`` or ``name@plugin``, made now if it was not yet.

        Raises:
            UnknownName, AmbiguousName: as every registry. PluginError: it cannot be made.
        """
        entry = self.entry(name)
        if not isinstance(entry.item, Factory):
            return cast(T, entry.item)
        made = self._made.get(id(entry))
        if made is None:
            self._made[id(entry)] = made = (entry, make(self._host, self.kind, entry, entry.item.create, self._host))
        return made[1]

    def _forget(self, entry: Entry[Any]) -> None:
        self._made.pop(id(entry), None)

    def made(self) -> list[T]:
        """The objects that exist already."""
        return [obj for _, obj in self._made.values()]
