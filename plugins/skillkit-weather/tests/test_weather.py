"""The weather tools: Open-Meteo on loopback, as its pages say that it answers, and a provider of another plugin."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import skillkit_permissions.plugin
import skillkit_weather.plugin
import skillkit_web_tools.plugin
from skillkit_testkit.conformance import ToolConformance
from skillkit_weather import Conditions, Day, Place, WeatherProvider

from skillkit_core import Factory, hookimpl

OSLO = {"name": "Oslo", "latitude": 59.91273, "longitude": 10.74609, "country": "Norway", "admin1": "Oslo"}
DAILY = {
    "time": ["2026-01-31", "2026-02-01"], "weather_code": [71, 3], "temperature_2m_max": [-1.5, 2],
    "temperature_2m_min": [-6, -3],
    "precipitation_sum": [4.2, 0], "wind_speed_10m_max": [18, None],
}  # fmt: skip


class Sky(WeatherProvider):
    """A provider without a network."""

    name = "sky"

    async def find(self, place: str) -> Place:
        return Place(place.title(), 1, 2)

    async def conditions(self, place: Place) -> Conditions:
        return Conditions(place, "2026-01-31T12:00", "clear", temperature=20)

    async def forecast(self, place: Place, days: int) -> Any:
        return [Day(f"2026-02-0{n + 1}", "clear", low=1, high=9) for n in range(days)]

    async def history(self, place: Place, first: Any, last: Any) -> Any:
        return []


class SkyPlugin:
    @hookimpl(optionalhook=True)
    def register_weather_providers(self, register):
        register(Factory("sky", lambda host: Sky()))


class TestConformance(ToolConformance):
    plugin = skillkit_weather.plugin
    calls: ClassVar = {
        "weather_conditions_tool": {"place": "Oslo"},
        "weather_forecast_tool": {"place": "Oslo"},
        "weather_history_tool": {"place": "Oslo", "first": "2026-01-01", "last": "2026-01-02"},
    }

    @pytest.fixture
    def tool_host(self, make_host):
        return make_host(("weather", self.plugin), ("sky", SkyPlugin()), settings={"weather.provider": "sky"})


@pytest.fixture
def meteo(web_site):
    """Open-Meteo, and the settings that lead there."""
    web_site.api("/v1/search", lambda asked: {"results": [OSLO]} if asked.query["name"] == "Oslo" else {})
    now = {"time": "2026-01-31T12:00", "temperature_2m": -3.4, "apparent_temperature": -8, "relative_humidity_2m": 81,
           "precipitation": 0.2, "weather_code": 71, "wind_speed_10m": 14.4}  # fmt: skip
    web_site.api("/v1/forecast", lambda asked: {"current": now} if "current" in asked.query else {"daily": DAILY})
    web_site.api("/v1/archive", lambda asked: {"daily": DAILY})
    urls = {f"weather.{name}_url": web_site.base for name in ("forecast", "archive", "places")}
    return {"weather.provider": "open-meteo", **urls}


@pytest.fixture
def call(make_host, call_tools):
    def calls(*turns, settings=None, plugins=(), **config):
        host = make_host(
            ("weather", skillkit_weather.plugin),
            ("web-tools", skillkit_web_tools.plugin),
            *plugins,
            settings=settings or {},
        )
        return call_tools(host, *turns, **config)

    return calls


@pytest.mark.smoke
def test_conditions_forecast_and_history_come_from_open_meteo(call, meteo, web_site):
    span = {"first": "2026-01-31", "last": "2026-02-01"}
    now, days, past = call(
        ("weather_conditions_tool", {"place": "Oslo"}),
        ("weather_forecast_tool", {"place": "Oslo", "days": 2}),
        ("weather_history_tool", {"place": "Oslo", **span}),
        settings=meteo,
    )
    assert now.text == (
        "Oslo, Norway, 2026-01-31T12:00\nlight snow\ntemperature: -3.4 °C (25.9 °F)\nfeels like: -8.0 °C (17.6 °F)\n"
        "humidity: 81%\nwind: 14.4 km/h\nprecipitation: 0.2 mm\n(from open-meteo)"
    )
    lines = [
        "Oslo, Norway",
        "2026-01-31: light snow, -6.0 °C (21.2 °F) to -1.5 °C (29.3 °F), 4.2 mm, wind 18 km/h",
        "2026-02-01: overcast, -3.0 °C (26.6 °F) to 2.0 °C (35.6 °F), 0 mm",
        "(from open-meteo)",
    ]
    assert days.text.splitlines() == lines == past.text.splitlines()
    assert web_site.asked[3].query["forecast_days"] == "2" and web_site.asked[5].query["start_date"] == "2026-01-31"


def test_a_place_that_nobody_knows_and_days_that_are_none_are_told_in_words(call, meteo):
    unknown, backwards, none = call(
        ("weather_conditions_tool", {"place": "Nowhere"}),
        ("weather_history_tool", {"place": "Oslo", "first": "2026-02-01", "last": "2026-01-01"}),
        ("weather_history_tool", {"place": "Oslo", "first": "2026-02-31", "last": "2026-03-01"}),
        settings=meteo,
    )
    assert (
        "knows no place 'Nowhere'" in unknown.text and "earlier date first" in backwards.text and "no date" in none.text
    )
    assert unknown.is_error and backwards.is_error and none.is_error


def test_a_service_that_fails_is_told_in_words(call, meteo, web_site):
    web_site.page("/v1/forecast", "no", status=500)
    web_site.page("/v1/archive", "[]", "application/json")
    failed, odd = call(
        ("weather_conditions_tool", {"place": "Oslo"}),
        ("weather_history_tool", {"place": "Oslo", "first": "2026-01-01", "last": "2026-01-01"}),
        settings=meteo,
    )
    assert "HTTP 500" in failed.text and "did not answer as Open-Meteo does" in odd.text


def test_without_a_provider_it_is_said_what_is_needed(call):
    (bare,) = call(("weather_conditions_tool", {"place": "Oslo"}))
    assert bare.is_error and bare.text == "needs weather.provider in the configuration, one of: open-meteo"
    (wrong,) = call(("weather_conditions_tool", {"place": "Oslo"}), settings={"weather.provider": "x"})
    assert "needs a weather provider 'x'" in wrong.text


def test_permissions_judge_the_addresses_of_the_provider_and_nothing_is_sent_without(call, meteo, web_site):
    guard = [("permissions", skillkit_permissions.plugin)]
    turn = ("weather_conditions_tool", {"place": "Oslo"})
    (refused,) = call(turn, settings=meteo, plugins=guard)
    assert refused.outcome == "denied" and "127.0.0.1" in refused.text and web_site.asked == []
    (denied,) = call(turn, settings={**meteo, "permissions.deny": ["WebFetch"]}, plugins=guard)
    assert denied.outcome == "blocked" and web_site.asked == []
    (told,) = call(turn, settings={**meteo, "permissions.allow": ["WebFetch(domain:127.0.0.1)"]}, plugins=guard)
    assert "light snow" in told.text
    # a provider that asks nobody needs no rule
    (local,) = call(turn, settings={"weather.provider": "sky"}, plugins=[*guard, ("sky", SkyPlugin())])
    assert local.text == "Oslo, 2026-01-31T12:00\nclear\ntemperature: 20.0 °C (68.0 °F)\n(from sky)"
