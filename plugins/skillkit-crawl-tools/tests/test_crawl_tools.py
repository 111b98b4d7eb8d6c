"""Search and crawl, as a model calls them, against a site and a search service on loopback."""

from __future__ import annotations

from typing import Any

import pytest
import skillkit_crawl_tools.plugin
import skillkit_permissions.plugin
import skillkit_web_tools.plugin
from skillkit_testkit.conformance import ToolConformance

BOTH = ["search_web_tool", "crawl_web_content_tool"]


class TestConformance(ToolConformance):
    plugin = skillkit_crawl_tools.plugin


@pytest.fixture
def call(make_host, call_tools, web_site):
    def calls(*turns: Any, settings: Any = None, plugins: Any = (), allow: Any = BOTH) -> Any:
        host = make_host(
            ("crawl-tools", skillkit_crawl_tools.plugin), ("web-tools", skillkit_web_tools.plugin), *plugins,
            settings={"tools.allow": allow, "crawl.pause": 0, "web.private_hosts": ["127.0.0.1"], "web.search": "searxng",
                      "web.searxng_url": web_site.base, **(settings or {})},
        )  # fmt: skip
        return call_tools(host, *turns)

    return calls


@pytest.fixture
def bees(web_site):
    """A site of six pages, one of them forbidden to programs."""
    links = lambda *names: "".join(f'<p><a href="/{name}">{name}</a></p>' for name in names)  # noqa: E731
    web_site.page("/robots.txt", "User-agent: *\nDisallow: /hidden\n", "text/plain")
    web_site.page("/", f"<title>Bees</title><h1>Bees</h1><p>They dance.</p>{links('hive', 'honey#top', 'hidden', 'pic.png')}"
                  '<a href="http://127.0.0.2:9/elsewhere">away</a>')  # fmt: skip
    web_site.page("/hive", f"<title>Hive</title><p>Six corners.</p>{links('queen', '')}")
    web_site.page("/honey", "<title>Honey</title><p>Sweet.</p>")
    web_site.page("/queen", f"<title>Queen</title><p>One.</p>{links('far')}")
    web_site.page("/hidden", "<p>Secret.</p>")
    web_site.page("/far", "<p>Too far.</p>")
    return web_site


@pytest.mark.smoke
def test_a_search_goes_to_the_provider_and_a_page_is_read_as_markdown(call, bees, web_site):
    hit = {"title": "Bees", "url": f"{web_site.base}/", "content": "They <b>dance</b>"}
    web_site.api("/search", lambda asked: {"results": [hit] if asked.query["q"] == "bees" else []})
    found, none, page = call(
        ("search_web_tool", {"query": "bees"}),
        ("search_web_tool", {"query": "wasps"}),
        ("crawl_web_content_tool", {"url": f"{web_site.base}/honey"}),
    )
    assert found.text == f"1. Bees\n   {web_site.base}/\n   They dance\n\n(from searxng)"
    assert none.text == "No hits.\n\n(from searxng)"
    assert page.text.startswith(f"Honey\n{web_site.base}/honey\n\n") and page.text.endswith("Sweet.")


def test_a_site_is_read_nearest_first_within_depth_pages_and_robots(call, bees):
    (told,) = call(("crawl_web_content_tool", {"url": f"{bees.base}/", "pages": 10}))
    assert [page["title"] for page in told.details["pages"]] == ["Bees", "Hive", "Honey", "Queen"]
    assert "robots.txt" in told.details["notes"][0] and "Secret" not in told.text
    asked = [one.path for one in bees.asked if one.path != "/robots.txt"]
    assert asked == ["/", "/hive", "/honey", "/queen"], (
        "each once, no picture, no other host, nothing that is forbidden"
    )
    (few,) = call(("crawl_web_content_tool", {"url": f"{bees.base}/", "pages": 2}))
    assert len(few.details["pages"]) == 2 and "more pages of the site were not read: 2 were read" in few.text
    (capped,) = call(("crawl_web_content_tool", {"url": f"{bees.base}/", "pages": 9}), settings={"crawl.max_pages": 1})
    assert len(capped.details["pages"]) == 1
    (shallow,) = call(("crawl_web_content_tool", {"url": f"{bees.base}/", "pages": 9, "depth": 1}))
    assert [page["title"] for page in shallow.details["pages"]] == ["Bees", "Hive", "Honey"]


def test_what_is_no_public_page_and_no_argument_is_refused_in_words(call, bees):
    private, missing, empty, big, typed, none = call(
        ("crawl_web_content_tool", {"url": "http://10.0.0.1/"}),
        ("crawl_web_content_tool", {"url": f"{bees.base}/nothing"}),
        ("crawl_web_content_tool", {"url": "  "}),
        ("crawl_web_content_tool", {"url": f"{bees.base}/", "pages": 10_000}),
        ("search_web_tool", {"query": 7}),
        ("search_web_tool", {"query": " "}),
    )
    assert private.outcome == "blocked" and "HTTP 404" in missing.text
    assert all(one.is_error for one in (empty, big, typed, none)) and "empty" in none.text


def test_permissions_judge_the_host_and_the_search_by_the_rules_of_the_web(call, bees, web_site):
    guard = [("permissions", skillkit_permissions.plugin)]
    turns = (("crawl_web_content_tool", {"url": f"{bees.base}/honey"}), ("search_web_tool", {"query": "bees"}))
    web_site.api("/search", lambda asked: {"results": []})
    refused = call(*turns, plugins=guard)
    assert [one.outcome for one in refused] == ["denied", "denied"] and web_site.asked == []
    rules = {"permissions.allow": ["WebFetch(domain:127.0.0.1)", "WebSearch"]}
    assert [one.outcome for one in call(*turns, plugins=guard, settings=rules)] == ["ok", "ok"]
    denied = call(*turns, plugins=guard, settings={**rules, "permissions.deny": ["WebSearch"]})
    assert denied[0].outcome == "ok" and denied[1].is_error and denied[1].outcome != "ok"
