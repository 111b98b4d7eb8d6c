"""Hosts of rules and of addresses: what a star stands for, and which spellings are one host."""

import pytest
from skillkit_permissions.decide import decide


def judged(url, tmp_path, **rules):
    place = {"cwd": str(tmp_path), "root": str(tmp_path), "home": str(tmp_path), "mode": "ask"}
    texts = {kind: [f"WebFetch(domain:{host})"] for kind, host in rules.items()}
    return decide(texts, {"tool": "web_fetch", "args": {"url": url}, **place})["decision"]


@pytest.mark.parametrize(
    ("rule", "host", "wanted"),
    [
        ("*.example.com", "a.example.com", "allow"),
        ("*.example.com", "a.b.example.com", "allow"),
        ("*.example.com", "example.com", "ask"),
        ("*.example.com", "a.example.com.", "allow"),
        ("api.*.example.com", "api.eu.example.com", "allow"),
        ("api.*.example.com", "api.eu.west.example.com", "ask"),
        ("*.*.example.com", "a.example.com", "ask"),
        ("*.*.example.com", "a.b.example.com", "allow"),
        ("example.*", "example.com", "ask"),
        ("example.*", "example.com.evil.test", "ask"),
        ("*.example.*", "a.example.com", "ask"),
        ("*.*", "example.com", "ask"),
        ("api.*", "api.evil.test", "ask"),
        ("*example.com", "evilexample.com", "ask"),
        ("ex*.com", "evil.com", "ask"),
        ("ex*.com", "ex.evil.com", "ask"),
        ("*", "example.com", "allow"),
        ("*.Bücher.example", "a.xn--bcher-kva.example", "allow"),
    ],
)
def test_a_star_of_an_approval_is_a_label_and_never_ends_a_name(tmp_path, rule, host, wanted):
    assert judged(f"https://{host}/", tmp_path, allow=rule) == wanted


@pytest.mark.parametrize(
    ("rule", "host"),
    [
        ("example.*", "example.com"),
        ("*.example.com", "example.com"),
        ("ex*.com", "a.example.com"),
        ("api.*", "api.a.test"),
    ],
)
def test_a_star_of_a_rule_that_denies_stands_for_anything(tmp_path, rule, host):
    assert judged(f"https://{host}/", tmp_path, deny=rule, allow="*") == "deny"


@pytest.mark.parametrize(
    ("rule", "host"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("xn--bcher-kva.example", "BÜCHER.example"),
        ("xn--bcher-kva.example", "bu\u0308cher.example"),
        ("example.com", "ｅｘａｍｐｌｅ.com"),
        ("example.com", "example。com"),
        ("example.com", "ⓔxample.com"),
        ("127.0.0.1", "１２７.０.０.１"),
        ("127.0.0.1", "①②⑦.0.0.1"),
        ("127.0.0.1", "[::ffff:7f00:1]"),
        ("127.0.0.1", "[64:ff9b::7f00:1]"),
    ],
)
def test_names_are_compared_in_their_ascii_form(tmp_path, rule, host):
    assert judged(f"https://{host}/", tmp_path, allow=rule) == "allow"
    assert judged(f"https://{host}/", tmp_path, deny=rule, allow="*") == "deny"


@pytest.mark.parametrize("host", ["straße.example", "exa\u200dmple.com", "a..b", "[::1", "xn--.example\u200b"])
def test_a_name_without_one_ascii_form_asks(tmp_path, host):
    assert judged(f"https://{host}/", tmp_path, allow="*") == "ask"


@pytest.mark.parametrize(
    "host",
    [
        "[fec0::1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::a00:1]",
        "[fd00::1]",
        "１０.0.0.1",
        "localhost",
    ],
)
def test_private_addresses_need_a_rule_of_their_own(tmp_path, host):
    assert judged(f"http://{host}/", tmp_path, allow="*") == "ask"


SERVICE = {"host": ("https://api.example.com/v1", "https://places.example.com"), "mutates": "world"}


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        ({}, "ask"),
        ({"allow": ["WebFetch(domain:api.example.com)"]}, "ask"),
        ({"allow": ["WebFetch(domain:api.example.com)", "WebFetch(domain:places.example.com)"]}, "allow"),
        ({"allow": ["WebFetch(domain:*.example.com)"]}, "allow"),
        ({"allow": ["WebFetch"], "deny": ["WebFetch(domain:places.example.com)"]}, "deny"),
        ({"deny": ["WebFetch"]}, "deny"),
    ],
)
def test_a_tool_that_always_goes_to_the_same_addresses_needs_a_rule_for_each(tmp_path, rules, wanted):
    place = {"cwd": str(tmp_path), "root": str(tmp_path), "home": str(tmp_path), "mode": "ask"}
    request = {"tool": "forecast", "args": {"place": "Oslo"}, "annotations": SERVICE, **place}
    assert decide(rules, request)["decision"] == wanted
    alone = {**request, "annotations": {**SERVICE, "host": "https://api.example.com"}}
    assert decide({"allow": ["WebFetch(domain:api.example.com)"]}, alone)["decision"] == "allow"


@pytest.mark.parametrize(
    ("mutates", "rules", "wanted"),
    [
        ("files", {}, "ask"),
        ("files", {"allow": ["Edit(/inbox.org)"]}, "allow"),
        ("files", {"allow": ["Read(/inbox.org)"]}, "ask"),
        ("files", {"allow": ["Edit"], "deny": ["Edit(*.org)"]}, "deny"),
        ("files", {"allow": ["Edit"], "deny": ["Read(inbox.org)"]}, "deny"),
        ("none", {}, "allow"),
        ("none", {"deny": ["Read(inbox.org)"]}, "deny"),
        ("none", {"ask": ["Read(inbox.org)"]}, "ask"),
        ("none", {"deny": ["Read(other.org)"]}, "allow"),
    ],
)
def test_rules_for_edits_and_reads_are_about_every_tool_that_says_that_it_is_one(tmp_path, mutates, rules, wanted):
    place = {"cwd": str(tmp_path), "root": str(tmp_path), "home": str(tmp_path), "mode": "ask"}
    facts = {"mutates": mutates, "paths": {"path": "inbox.org"}}
    assert decide(rules, {"tool": "add_note", "args": {}, "annotations": facts, **place})["decision"] == wanted
