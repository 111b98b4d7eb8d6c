"""The registry of named items with their sources, and the registry of models, which have several names each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from ..descriptors import load_object
from ..errors import AmbiguousName, PluginError, SkillKitError, UnknownName

if TYPE_CHECKING:
    from ..models import ModelDefinition, TokenUsage
    from ..settings.config import Config
    from .manager import Host

__all__ = ["Entry", "ModelRegistry", "Registry"]

T = TypeVar("T")
Names: TypeAlias = list[str]
Models: TypeAlias = "list[ModelDefinition]"


class Entry(NamedTuple, Generic[T]):
    """An item of a registry.

    Attributes:
        name: the name that the item was registered with.
        item: the item.
        source: the plugin's name; ``None``: an application registered the item.
    """

    name: str
    item: T
    source: str | None = None

    @property
    def address(self) -> str:
        """``name@source``, which always means this very entry."""
        return f"{self.name}@{self.source}" if self.source else self.name


class Registry(Generic[T]):
    """Items by name. Where two plugins offer one name, only ``name@plugin`` means one of the items.

    A name that an application registers (no source) means the application's item, whatever plugins offer. A registry is
    thread-safe. Listings keep the order of registration, which is the order of the plugins.

    Args:
        describe: returns the words of an error for a source (distribution and version).
        first_wins: the bare name of a clash means the first entry, and is no error (tools).

    Attributes:
        prefer: name to the source that a distribution chose for the name.
        version: number that grows with every change.
    """

    kind = "item"

    def __init__(self, describe: Callable[[str], str] | None = None, *, first_wins: bool = False) -> None:
        self.prefer: dict[str, str] = {}
        self._entries: dict[str, list[Entry[T]]] = {}
        self._lock = threading.RLock()
        self._describe = describe or str
        self._first_wins = first_wins
        self._all: tuple[Entry[T], ...] | None = ()
        self.version = 0

    def register(self, name: str, item: T, source: str | None = None) -> None:
        """Add ``item`` as ``name``, in place of an item that the same source registered as ``name``."""
        entry = Entry(name, item, source)
        with self._lock:
            entries = self._entries.setdefault(name, [])
            for i, old in enumerate(entries):
                if old.source == source:
                    entries[i] = entry
                    self._forget(old)
                    break
            else:
                entries.append(entry)
            self._changed()

    def unregister(self, name: str) -> None:
        """Remove the item that ``get(name)`` would return, or raise as :meth:`get` does."""
        with self._lock:
            self._remove(self.entry(name))

    def unregister_by_source(self, source: str) -> None:
        """Remove all items of ``source``, and no others."""
        with self._lock:
            for entry in [e for entries in self._entries.values() for e in entries if e.source == source]:
                self._remove(entry)

    def _remove(self, entry: Entry[T]) -> None:
        entries = self._entries[entry.name]
        entries[:] = [e for e in entries if e is not entry]
        self._forget(entry)
        if not entries:
            del self._entries[entry.name]
        self._changed()

    def _changed(self) -> None:
        self._all = None
        self.version += 1

    def _forget(self, entry: Entry[T]) -> None:
        """Drop what was made from an entry that was removed or replaced."""

    def entry(self, name: str) -> Entry[T]:
        """Return the entry called ``name`` or ``name@source``.

        Raises:
            UnknownName: there is no such entry. The hint lists close matches.
            AmbiguousName: several plugins offer the bare name.
        """
        with self._lock:
            entries = self._entries.get(name)
            if entries is None and "@" in name:
                bare, _, source = name.rpartition("@")
                entries = [e for e in self._entries.get(bare, ()) if e.source == source]
            if not entries:
                raise self.unknown(name)
            chosen = self.prefer.get(name)  # None: the application's item
            entries = [e for e in entries if e.source == chosen] or entries
            if len(entries) > 1 and not self._first_wins:
                owners = [self._describe(e.source) if e.source else "the application" for e in entries]
                raise AmbiguousName(self.kind, name, owners, [e.address for e in entries])
            return entries[0]

    def unknown(self, name: str) -> UnknownName:
        """Return the error for a name that is not there."""
        return UnknownName(self.kind, name, self.list())

    def get(self, name: str) -> T:
        """Return the item called ``name`` or ``name@source``, or raise as :meth:`entry` does."""
        return self.entry(name).item

    def has(self, name: str) -> bool:
        """Return whether there is an item called ``name``, ambiguous or not."""
        with self._lock:
            bare, _, source = name.rpartition("@")
            return name in self._entries or any(e.source == source for e in self._entries.get(bare, ()))

    def list(self) -> Names:
        """Return the names in the order of registration, with the losers of a clash as ``name@source``."""
        return [self.name_of(e) for e in self.entries()]

    def name_of(self, entry: Entry[T]) -> str:
        """Return the shortest name that means ``entry``."""
        entries = self._entries.get(entry.name, [])
        if len(entries) < 2 or (self._first_wins and entries[0] is entry):
            return entry.name
        return entry.address

    def entries(self) -> Sequence[Entry[T]]:
        """Return all entries, in the order of registration."""
        found = self._all
        if found is None:
            with self._lock:
                found = self._all = tuple(e for entries in self._entries.values() for e in entries)
        return found

    def items(self) -> Sequence[T]:
        """Return all items, in the order of registration."""
        return [e.item for e in self.entries()]

    def clashes(self) -> dict[str, Sequence[Entry[T]]]:
        """Return the names that more than one source offers, with their entries."""
        with self._lock:
            return {n: tuple(e) for n, e in self._entries.items() if len(e) > 1}

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.has(name)

    def __len__(self) -> int:
        return len(self.entries())

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())


class ModelRegistry(Registry["ModelDefinition"]):
    """The models of a host, by ``provider/id``, and by bare id or alias where that is unambiguous.

    :meth:`get` returns ``None`` for an unknown model, because a model need not be registered to be used.
    """

    kind = "model"
    _index: dict[str, ModelDefinition] = {}  # noqa: RUF012 - replaced as a whole, never changed
    _indexed = -1

    def register(
        self, model: ModelDefinition | str, item: ModelDefinition | None = None, source: str | None = None
    ) -> None:
        """Add a model: ``register(definition)`` or, as every registry, ``register(name, definition)``."""
        from ..models import ModelDefinition  # not needed to list plugins

        found = model if isinstance(model, ModelDefinition) else item
        if found is None:
            raise TypeError("register() wants a ModelDefinition")
        super().register(f"{found.provider}/{found.id}" if found.provider else found.id, found, source)

    def get(self, model_id: str) -> ModelDefinition | None:  # type: ignore[override]
        """Return the model called ``model_id`` (``provider/id``, id or alias), or ``None``.

        A bare id that several providers offer resolves to the provider that registered it first.
        """
        if self.has(model_id):
            return super().get(model_id)
        return self._short_names().get(model_id)

    def _short_names(self) -> dict[str, ModelDefinition]:
        """Return the models by id and alias without a provider, ids first, indexed again when the models change."""
        if self._indexed != self.version:
            index: dict[str, ModelDefinition] = {}
            for model in self.items():
                index.setdefault(model.id, model)
            for model in self.items():
                for alias in model.aliases:
                    index.setdefault(alias, model)
                    if model.provider:
                        index.setdefault(f"{model.provider}/{alias}", model)
            self._index, self._indexed = index, self.version
        return self._index

    def find(self, query: str) -> Models:
        """Return the models that match ``query``, best first: exact names, prefixes, all words, then close spellings."""
        import difflib

        wanted = query.casefold().strip()
        words = wanted.replace("/", " ").split()
        ranked: list[tuple[float, str, ModelDefinition]] = []
        for model in self.items():
            names = [model.id, model.display_name, f"{model.provider}/{model.id}", *model.aliases]
            low = [n.casefold() for n in names]
            if wanted in low:
                rank = 0.0
            elif any(n.startswith(wanted) for n in low):
                rank = 1.0
            elif words and all(any(w in n for n in low) for w in words):
                rank = 2.0
            else:
                ratio = max(difflib.SequenceMatcher(None, wanted, n).ratio() for n in low)
                if ratio < 0.6:
                    continue
                rank = 4.0 - ratio
            ranked.append((rank, f"{model.provider}/{model.id}", model))
        return [m for _, _, m in sorted(ranked, key=lambda r: r[:2])]

    def list_by_provider(self, provider: str) -> Models:
        """Return all models of ``provider``, in the order of registration."""
        return [m for m in self.items() if m.provider == provider]

    def calculate_cost(self, model_id: str, usage: TokenUsage) -> float:
        """Return the dollars for ``usage`` of one request to ``model_id``.

        Raises:
            UnknownName: the model is not registered.
            ValueError: its price is not known.
        """
        model = self.get(model_id)
        if model is None:
            raise self.unknown(model_id)
        cost = model.cost_of(usage)
        if cost is None:
            raise ValueError(f"the price of model {model_id!r} is not known")
        return cost


def named(config: Config, key: str, registry: Registry[Any], *, first: bool = False) -> str | None:
    """Return the value of the setting ``key``, which names an item of ``registry``, or ``None``.

    Args:
        first: without a value return the name of the item that was registered first.

    Raises:
        UnknownName: nobody offers the item. ``where`` is the place of the setting.
    """
    name: str | None = config.get(key)
    if name and name not in registry:
        error = registry.unknown(name)
        error.where = config.origin(key)
        raise error
    return name or (next(iter(registry.list()), None) if first else None)


def make(host: Host, kind: str, entry: Entry[Any], target: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a plugin's factory, and return what the factory makes.

    Raises:
        PluginError: the import or the call failed. The error names the plugin and the item.
        SkillKitError: the factory raised this error.
    """
    owner = f"plugin {entry.source!r}" if entry.source else "the application"
    try:
        return load_object(target)(*args, **kwargs)
    except PluginError as error:
        if error.where is not None:
            raise
        raise PluginError(f"{kind} {entry.name!r}: {error.message}", where=owner, hint=error.hint) from error
    except SkillKitError:
        raise
    except ImportError as error:
        raise PluginError(
            f"{kind} {entry.name!r} needs a package that is not there: {error}",
            where=owner,
            hint=host.load().reinstall_hint(entry.source),
        ) from error
    except Exception as error:
        raise PluginError(
            f"{kind} {entry.name!r} could not be made: {type(error).__name__}: {error}", where=owner
        ) from error
