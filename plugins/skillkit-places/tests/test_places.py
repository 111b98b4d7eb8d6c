"""The tools of places: a real file, and an OSRM server on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
import skillkit_permissions.plugin
import skillkit_places.plugin
import skillkit_web_tools.plugin
import yaml
from skillkit_places import Place
from skillkit_places.places import distance
from skillkit_testkit.conformance import ToolConformance

PLACES = "Home: {latitude: 59.9139, longitude: 10.7522, note: Main street 1}\nOffice: {latitude: 60.39299, longitude: 5.32415}\n"


class TestConformance(ToolConformance):
    plugin = skillkit_places.plugin
    calls: ClassVar = {
        "list_locations_tool": {"file": "places.yaml"},
        "compute_distance_tool": {"origin": "1, 2", "destination": "3, 4"},
        "save_location_tool": {"name": "A", "latitude": 1, "longitude": 2},
    }


@pytest.fixture
def call(make_host, call_tools):
    def calls(*turns, settings=None, plugins=()):
        given = {"tools.allow": ["save_location_tool"], **(settings or {})}
        parts = [("places", skillkit_places.plugin), ("web-tools", skillkit_web_tools.plugin), *plugins]
        return call_tools(make_host(*parts, settings=given), *turns)

    return calls


@pytest.mark.smoke
def test_places_are_kept_listed_and_measured(call):
    Path("places.yaml").write_text(PLACES)
    kept, listed, far, coordinates = call(
        ("save_location_tool", {"name": "Cabin", "latitude": 61.5, "longitude": 9, "note": "in the hills"}),
        ("list_locations_tool", {}),
        ("compute_distance_tool", {"origin": "home", "destination": "Off"}),
        ("compute_distance_tool", {"origin": "0, 0", "destination": "0,180"}),
    )
    assert kept.text == "Kept Cabin at 61.5, 9." and yaml.safe_load(Path("places.yaml").read_text())["Cabin"]["note"]
    assert listed.text.splitlines()[0] == "Home: 59.9139, 10.7522 (Main street 1)" and "Cabin: 61.5, 9" in listed.text
    assert far.text == "Home to Office: 305.0 km (189.5 mi) as the crow flies."
    assert coordinates.details["kilometres"] == pytest.approx(20015.1, abs=0.1)


@pytest.mark.parametrize(
    ("a", "b", "km"),
    [
        ((0, 0), (0, 0), 0),
        ((90, 0), (-90, 77), 20015.1),
        ((51.5074, -0.1278), (40.7128, -74.006), 5570.2),
        ((10, 179.5), (10, -179.5), 109.5),
    ],
)
def test_distances_are_those_of_the_great_circle(a, b, km):
    assert distance(Place("a", *a), Place("b", *b)) == pytest.approx(km, abs=0.1)


def test_what_is_wrong_is_told_in_words_and_nothing_is_written(call):
    Path("places.yaml").write_text(PLACES)
    Path("odd.yaml").write_text("Home: [1, 2]")
    Path("broken.yaml").write_text("a: [")
    unknown, several, nowhere, off, odd, broken = call(
        ("compute_distance_tool", {"origin": "Rome", "destination": "Home"}),
        ("compute_distance_tool", {"origin": "o", "destination": "Home"}),
        ("compute_distance_tool", {"origin": "91, 0", "destination": "Home"}),
        ("save_location_tool", {"name": "X", "latitude": 91, "longitude": 0}),
        ("list_locations_tool", {"file": "odd.yaml"}),
        ("list_locations_tool", {"file": "broken.yaml"}),
    )
    assert "no place is called 'Rome'; known: Home, Office" in unknown.text and "several places" in several.text
    assert "nowhere on earth" in nowhere.text and "nowhere on earth" in off.text
    assert "Home needs latitude and longitude" in odd.text and "broken.yaml cannot be read" in broken.text
    assert Path("places.yaml").read_text() == PLACES


def test_a_route_comes_from_osrm_and_goes_only_where_permissions_allow(call, web_site):
    Path("places.yaml").write_text(PLACES)
    steps = [
        {"distance": 1200, "name": "Main street", "maneuver": {"type": "depart"}},
        {"distance": 460000, "name": "E16", "maneuver": {"type": "turn", "modifier": "left"}},
        {"distance": 0, "name": "", "maneuver": {"type": "arrive"}},
    ]
    route = {"distance": 461200, "duration": 25500, "legs": [{"steps": steps}]}
    web_site.api("/route/v1/driving/10.7522,59.9139;5.32415,60.39299", lambda asked: {"code": "Ok", "routes": [route]})
    web_site.api("/route/v1/walking/10.7522,59.9139;5.32415,60.39299", lambda asked: {"code": "NoRoute"})
    settings: ClassVar = {"navigation.provider": "osrm", "navigation.osrm_url": web_site.base}
    ends = {"origin": "Home", "destination": "Office"}
    way, none = call(
        ("compute_route_tool", ends), ("compute_route_tool", {**ends, "mode": "walking"}), settings=settings
    )
    assert way.text.splitlines() == [
        "Home to Office, driving: 461.2 km, 7 h 5 min", "1. depart: Main street (1.2 km)", "2. turn left: E16 (460.0 km)",
        "3. arrive (0.0 km)", "(from osrm)",
    ]  # fmt: skip
    assert none.is_error and "found no way from Home to Office: NoRoute" in none.text
    guard = [("permissions", skillkit_permissions.plugin)]
    web_site.asked.clear()
    (refused,) = call(("compute_route_tool", ends), settings=settings, plugins=guard)
    assert refused.outcome == "denied" and web_site.asked == []


def test_without_a_provider_of_routes_it_is_said_what_is_needed(call):
    ends = {"origin": "1, 2", "destination": "3, 4"}
    (bare,) = call(("compute_route_tool", ends))
    assert bare.text == "needs navigation.provider in the configuration, one of: osrm"
    (no_url,) = call(("compute_route_tool", ends), settings={"navigation.provider": "osrm"})
    assert no_url.text == "osrm needs navigation.osrm_url"
