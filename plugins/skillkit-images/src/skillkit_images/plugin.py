"""The plugin ``images``: the tools of images, and the family of providers that make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Host, Tool


class Hooks:
    """The hook of the family of image providers."""

    @hookspec
    def register_image_providers(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer providers of new images: ``register(Factory("acme", "acme.images:Acme"))``, made as ``create(host)``.

        The object is a :class:`~skillkit_images.ImageProvider`; ``images.provider`` names the one that works.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_image_providers`` and its registry ``image_providers``."""
    add(Hooks, kinds={"image_providers": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``images``."""
    register(ConfigSection("images", "skillkit_images.config:ImagesConfig"))


@hookimpl
def register_image_providers(register: Callable[[Factory], None]) -> None:
    """Offer the provider that comes with the plugin."""
    register(Factory("openai-images", "skillkit_images.openai_images:OpenAIImages", "a server of OpenAI's images API"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import image_tools

    for tool in image_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``images``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "images",
            "Find, describe and make pictures.",
            ("search_images_tool", "describe_image_tool", "generate_image_tool"),
            ("describe_image_tool", "generate_image_tool"),
            waits=True,
        )
    )
