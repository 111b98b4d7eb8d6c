"""The choice of a provider, in a family of this file's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from skillkit_providers import chosen_provider, provider_addresses

from skillkit_core import Factory, ToolError, hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection


class Settings(BaseModel):
    provider: str | None = None


class Provider:
    def __init__(self, lacks: str | None, *addresses: str) -> None:
        self.lacks, self.addresses = lacks, addresses

    async def usable(self) -> str | None:
        return self.lacks


class Family:
    @hookspec
    def register_tide_providers(self, register: Any, host: Any, config: Any) -> None:
        """Offer providers of tides."""


class Plugin:
    @hookimpl
    def register_hookspecs(self, add):
        add(Family, kinds={"tide_providers": Factory})

    @hookimpl
    def register_config(self, register):
        register(ConfigSection("tides", Settings))

    @hookimpl(optionalhook=True)
    def register_tide_providers(self, register):
        register(Factory("almanac", lambda host: Provider(None, "https://tides.example.org")))
        register(Factory("keyed", lambda host: Provider("needs the key TIDES_KEY")))


@pytest.fixture
def choose(make_host):
    def choose(name: str | None) -> Any:
        host = make_host(("tides", Plugin()), settings={} if name is None else {"tides.provider": name})
        found = asyncio.run(chosen_provider(host, "tide_providers", "tides.provider", "a provider of tides"))
        return found, provider_addresses(host, "tide_providers", "tides.provider")

    return choose


@pytest.mark.smoke
def test_the_named_provider_answers_and_guards_learn_its_addresses(choose, make_host):
    found, addresses = choose("almanac")
    assert isinstance(found, Provider) and addresses == ("https://tides.example.org",)
    for name in (None, "nobody"):
        host = make_host(("tides", Plugin()), settings={} if name is None else {"tides.provider": name})
        assert provider_addresses(host, "tide_providers", "tides.provider") == ()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (None, "needs tides.provider in the configuration, one of: almanac, keyed"),
        (
            "nobody",
            "needs a provider of tides 'nobody', which no plugin brings; tides.provider is one of: almanac, keyed",
        ),
        ("keyed", "keyed needs the key TIDES_KEY"),
    ],
)
def test_where_none_answers_it_is_said_what_is_needed(choose, name, told):
    with pytest.raises(ToolError) as error:
        choose(name)
    assert str(error.value) == told
