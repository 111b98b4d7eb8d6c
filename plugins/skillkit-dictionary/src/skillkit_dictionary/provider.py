"""What a dictionary is, and which one answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from skillkit_providers import chosen_provider

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
    return cast("Dictionary", await chosen_provider(host, "dictionaries", "dictionary.provider", "a dictionary"))
