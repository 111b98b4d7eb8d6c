"""The plugin ``places``: the tools of places, and the family of route providers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Host, Tool


class Hooks:
    """The hook of the family of route providers."""

    @hookspec
    def register_route_providers(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer route providers: ``register(Factory("acme", "acme.routes:Acme"))``, made as ``create(host)``.

        The object is a :class:`~skillkit_places.RouteProvider`; ``navigation.provider`` names the one that answers.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_route_providers`` and its registry ``route_providers``."""
    add(Hooks, kinds={"route_providers": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``navigation``."""
    register(ConfigSection("navigation", "skillkit_places.config:NavigationConfig"))


@hookimpl
def register_route_providers(register: Callable[[Factory], None]) -> None:
    """Offer the provider that comes with the plugin."""
    register(Factory("osrm", "skillkit_places.osrm:OSRM", "an OSRM server: navigation.osrm_url"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import place_tools

    for tool in place_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``places``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "places",
            "Keep places, and distances between them.",
            ("list_locations_tool", "save_location_tool", "compute_distance_tool"),
            ("save_location_tool", "compute_distance_tool"),
            waits=True,
        )
    )
