"""The tools of feeds: RSS and Atom on loopback, through the guards of web-tools."""

from __future__ import annotations

from typing import ClassVar

import pytest
import skillkit_feeds.plugin
import skillkit_permissions.plugin
import skillkit_web_tools.plugin
from skillkit_testkit.conformance import ToolConformance

TOOLS = ["add_feed_tool", "read_feed_tool", "remove_feed_tool"]


def rss(*titles: str) -> str:
    items = "".join(
        f"<item><title>{title}</title><link>/posts/{title}</link><guid>{title}</guid>"
        f"<pubDate>Sat, 0{n} Jan 2026 10:00:00 GMT</pubDate><description>&lt;p&gt;About &lt;b&gt;{title}&lt;/b&gt; &amp;amp; "
        "more.&lt;script&gt;evil()&lt;/script&gt;&lt;/p&gt;</description></item>"
        for n, title in enumerate(titles, 1)
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title>{items}</channel></rss>'


ATOM = """<?xml version="1.0" encoding="iso-8859-1"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Caf\xe9</title>
<entry><id>urn:1</id><title>Eins</title><link href="https://example.org/1"/><updated>2026-01-02T03:04:05Z</updated></entry></feed>"""


class TestConformance(ToolConformance):
    plugin = skillkit_feeds.plugin
    calls: ClassVar = {"list_feeds_tool": {}, "search_feed_items_tool": {"query": "bees"}}


@pytest.fixture
def call(make_host, call_tools):
    def calls(*turns, settings=None, plugins=()):
        given = {"tools.allow": TOOLS, "web.private_hosts": ["127.0.0.1"], **(settings or {})}
        parts = [("feeds", skillkit_feeds.plugin), ("web-tools", skillkit_web_tools.plugin), *plugins]
        return call_tools(make_host(*parts, settings=given), *turns)

    return calls


@pytest.mark.smoke
def test_a_feed_is_subscribed_to_and_read_and_what_is_new_is_marked_also_in_a_later_run(call, web_site):
    web_site.page("/rss", rss("one", "two"), "application/rss+xml")
    url = f"{web_site.base}/rss"
    added, listed, again = call(
        ("add_feed_tool", {"url": url}), ("list_feeds_tool", {}), ("add_feed_tool", {"url": url})
    )
    assert added.text == "Subscribed to News & more (2 items)." and "already" in again.text
    assert listed.text == f"News & more: {url} (2 items kept)"
    web_site.page("/rss", rss("one", "two", "three"), "application/rss+xml")
    read, new, search = call(
        ("read_feed_tool", {"url": url}),
        ("read_feed_tool", {"url": url, "new_only": True}),
        ("search_feed_items_tool", {"query": "THREE"}),
    )
    assert read.text.splitlines()[0] == "News & more: 3 items, 1 new" and "* three (2026-01-03 10:00)" in read.text
    assert (
        f"- one (2026-01-01 10:00)\n  {web_site.base}/posts/one\n  About one & more." in read.text
        and "evil" not in read.text
    )
    assert new.text == "News & more: 3 items, 0 new"
    assert search.text.startswith("- three (2026-01-03 10:00 · News & more)")
    removed, empty, unknown = call(
        ("remove_feed_tool", {"url": url}), ("list_feeds_tool", {}), ("remove_feed_tool", {"url": url})
    )
    assert "forgotten" in removed.text and empty.text == "No feed is subscribed to." and unknown.is_error


def test_atom_in_another_encoding_is_read_and_what_is_no_feed_is_refused(call, web_site):
    web_site.page("/atom", ATOM.encode("latin-1"), "application/atom+xml")
    web_site.page("/page", "<html><body>hello</body></html>")
    web_site.page("/gone", "", status=410)
    atom, page, gone, odd = call(
        *(("read_feed_tool", {"url": f"{web_site.base}{path}"}) for path in ("/atom", "/page", "/gone")),
        ("read_feed_tool", {"url": "file:///etc/passwd"}),
    )
    assert "Café: 1 items, 1 new\n* Eins (2026-01-02 03:04)\n  https://example.org/1" in atom.text
    assert "is no RSS or Atom feed" in page.text and "HTTP 410" in gone.text and odd.is_error


def test_external_entities_and_addresses_inside_a_feed_are_not_followed(call, web_site):
    bomb = (
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "{web_site.base}/secret"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
        "<rss version='2.0'><channel><title>&x;&f;T</title><item><title>a</title><guid>1</guid></item></channel></rss>"
    )
    web_site.page("/rss", bomb, "application/rss+xml")
    (read,) = call(("read_feed_tool", {"url": f"{web_site.base}/rss"}))
    assert "root:" not in read.text and [asked.path for asked in web_site.asked if "robots" not in asked.path] == [
        "/rss"
    ]


def test_old_items_are_forgotten_but_none_that_the_feed_still_has(call, web_site):
    url = f"{web_site.base}/rss"
    web_site.page("/rss", rss("a", "b", "c", "d"), "application/rss+xml")
    settings: ClassVar = {"feeds.kept_items": 2}
    call(("read_feed_tool", {"url": url}), settings=settings)
    again, kept = call(("read_feed_tool", {"url": url}), ("search_feed_items_tool", {}), settings=settings)
    assert "4 items, 0 new" in again.text and len(kept.details) == 4
    web_site.page("/rss", rss("x"), "application/rss+xml")
    _, kept = call(("read_feed_tool", {"url": url}), ("search_feed_items_tool", {}), settings=settings)
    assert sorted(item["title"] for item in kept.details) == ["a", "x"]


def test_the_host_of_a_feed_needs_a_permission_and_a_private_one_the_setting(call, web_site):
    web_site.page("/rss", rss("one"), "application/rss+xml")
    turn, guard = ("read_feed_tool", {"url": f"{web_site.base}/rss"}), [("permissions", skillkit_permissions.plugin)]
    (private,) = call(turn, settings={"web.private_hosts": []})
    (asked,) = call(turn, plugins=guard)
    assert private.is_error and "private or local address" in private.text and asked.outcome == "denied"
    assert web_site.asked == []
    (told,) = call(turn, plugins=guard, settings={"permissions.allow": ["WebFetch(domain:127.0.0.1)"]})
    assert "1 items, 1 new" in told.text
