"""What a provider of new images is, and which one works."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from skillkit_providers import chosen_provider as chosen

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["ImageProvider", "MadeImage", "chosen_provider"]


@dataclass(frozen=True, slots=True)
class MadeImage:
    """An image that was made.

    Attributes:
        data: the bytes of its file.
        prompt: the words that it was made from, where the provider changed them; else empty.
    """

    data: bytes
    prompt: str = ""


class ImageProvider(ABC):
    """Makes images from words. Made by ``register_image_providers``.

    Attributes:
        name: the name of the provider.
        addresses: ``https://host`` of every service that is asked; what guards judge. Empty: nothing leaves this machine.
    """

    name: str
    addresses: Sequence[str] = ()

    async def usable(self) -> str | None:
        """Return what is missing for it to be used, to be said after its name; ``None``: nothing is."""
        return None

    @abstractmethod
    async def make(self, prompt: str, size: str) -> MadeImage:
        """Return an image of what the prompt describes.

        Args:
            prompt: words.
            size: ``WIDTHxHEIGHT`` in pixels.

        Raises:
            ToolError: it could not be made.
        """


async def chosen_provider(host: Host) -> ImageProvider:
    """Return the provider that ``images.provider`` names.

    Raises:
        ToolError: none is named, there is none of that name, or something is missing for it.
    """
    return cast("ImageProvider", await chosen(host, "image_providers", "images.provider", "an image provider"))
