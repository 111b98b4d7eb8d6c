"""A host with the family, and with plugins that join it: items come and go, and hooks are called in order."""

import pytest
from skillkit_core import UsageError, hookimpl

import skillkit_acme
from skillkit_acme import AcmeGreeting, acme_greet


class French:
    name = "french"

    @hookimpl(optionalhook=True)
    def register_acme_greetings(self, register):
        register(AcmeGreeting("french", "Bonjour, {name}!"))


class Loud:
    name = "loud"

    @hookimpl(optionalhook=True)
    def acme_said(self, text):
        return text.upper()


def test_a_plugin_brings_an_item_and_takes_it_away(make_host):
    host = make_host(skillkit_acme, French())
    assert acme_greet(host, "Ada", "french") == "Bonjour, Ada!"
    host.remove_plugin("french")
    with pytest.raises(UsageError, match="no plugin brings the greeting 'french'"):
        acme_greet(host, "Ada", "french")


def test_a_plugin_changes_what_is_said(make_host):
    assert acme_greet(make_host(skillkit_acme, French(), Loud()), "Ada", "french") == "BONJOUR, ADA!"


def test_what_is_no_item_is_refused_and_its_plugin_named(make_host):
    class Wrong:
        @hookimpl(optionalhook=True)
        def register_acme_greetings(self, register):
            register("Bonjour")

    host = make_host(skillkit_acme, ("wrong", Wrong()))
    assert host.registry("acme_greetings").list() == []
    assert [problem.plugin for problem in host.problems] == ["wrong"]


def test_members_load_where_the_family_is_missing(make_host):
    host = make_host(French(), Loud())
    host.collect_all()
    assert not host.problems
