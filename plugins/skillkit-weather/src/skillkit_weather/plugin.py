"""The plugin ``weather``: three tools, and the family of weather providers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Host, Tool


class Hooks:
    """The hook of the family of weather providers."""

    @hookspec
    def register_weather_providers(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer weather providers: ``register(Factory("acme", "acme.weather:Acme"))``, made as ``create(host)``.

        The object is a :class:`~skillkit_weather.WeatherProvider`; ``weather.provider`` names the one that answers.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_weather_providers`` and its registry ``weather_providers``."""
    add(Hooks, kinds={"weather_providers": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``weather``."""
    register(ConfigSection("weather", "skillkit_weather.config:WeatherConfig"))


@hookimpl
def register_weather_providers(register: Callable[[Factory], None]) -> None:
    """Offer the provider that comes with the plugin."""
    register(
        Factory("open-meteo", "skillkit_weather.open_meteo:OpenMeteo", "open-meteo.com, or one of your own; no key")
    )


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools. Where they ask a service, they go to its addresses and to no other."""
    from .tools import weather_tools

    for tool in weather_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``weather``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(
        ToolPack(
            "weather",
            "Weather now, forecasts, and past weather.",
            ("weather_conditions_tool", "weather_forecast_tool", "weather_history_tool"),
            waits=True,
        )
    )
