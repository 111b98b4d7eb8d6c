"""What a dictionary is, and which one answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from skillkit_core import ToolError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Dictionary", "Sense", "chosen_dictionary"]


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a word.

    Attributes:
        part_of_speech: in words, for example ``noun``; may be empty.
        definition: what it means.
        examples: sentences with the word.
        synonyms: words that mean the same.
        opposites: words that mean the opposite.
    """

    part_of_speech: str
    definition: str
    examples: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()


class Dictionary(ABC):
    """Knows words. Made by ``register_dictionaries``.

    Attributes:
        name: the name of the dictionary.
        addresses: ``https://host`` of every service that is asked; what guards judge. Empty: nothing leaves this machine.
    """

    name: str
    addresses: Sequence[str] = ()

    async def usable(self) -> str | None:
        """Return what is missing for it to be used, to be said after its name; ``None``: nothing is."""
        return None

    @abstractmethod
    async def define(self, word: str) -> Sequence[Sense]:
        """Return the meanings of a word, the most common first; none where it is not known.

        Raises:
            ToolError: the dictionary could not be asked.
        """


async def chosen_dictionary(host: Host) -> Dictionary:
    """Return the dictionary that ``dictionary.provider`` names.

    Raises:
        ToolError: none is named, there is none of that name, or something is missing for it.
    """
    registry, name = host.registry("dictionaries"), host.config.section("dictionary").provider
    known = ", ".join(registry.list())
    if name is None:
        raise ToolError(f"needs dictionary.provider in the configuration, one of: {known}")
    if name not in registry.list():
        raise ToolError(f"needs a dictionary {name!r}, which no plugin brings; dictionary.provider is one of: {known}")
    found = cast("Dictionary", registry.get(name))
    if (lacks := await found.usable()) is not None:
        raise ToolError(f"{name} {lacks}")
    return found
