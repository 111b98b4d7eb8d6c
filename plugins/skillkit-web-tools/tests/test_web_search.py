"""``web_search`` against the APIs of its providers, served on loopback."""

import pytest

from skillkit_core import Factory, hookimpl


def mediawiki(query, body):
    assert query["list"] == ["search"] and query["format"] == ["json"]
    words = query["srsearch"][0]
    rows = [{"pageid": 7, "title": "Bern", "snippet": f'capital &amp; <span class="searchmatch">{words}</span>'}]
    return {"query": {"search": rows * int(query["srlimit"][0])}}


@pytest.mark.smoke
def test_wikipedia_answers_without_a_key(site, call):
    site.api("/w/api.php", mediawiki)
    text, is_error = call("web_search", query="old town", limit=2, settings={"web.wikipedia_url": site.url})
    assert not is_error, text
    assert text.startswith(f"1. Bern\n   {site.url}/?curid=7\n   capital & old town\n2. Bern")
    assert text.endswith("(from wikipedia)")


def test_an_answer_in_many_pieces_is_read_whole(site, call):
    rows = [{"title": "T" * 400_000, "url": "https://example.org/", "content": "C"}]
    site.api("/search", lambda query, body: {"results": rows})
    text, is_error = call("web_search", query="x", settings={"web.searxng_url": site.url})
    assert not is_error and "https://example.org/" in text


def test_the_first_provider_that_can_be_used_answers(site, call):
    rows = [{"title": "T", "url": "https://example.org/", "content": "C"}, {"title": "no address"}]
    site.api("/search", lambda query, body: {"results": rows})
    settings = {
        "web.searxng_url": f"http://localhost:{site.server.server_port}/",  # what the user configured may be local
        "web.private_hosts": [],
    }
    text, _ = call("web_search", query="x", settings=settings)
    assert text == "1. T\n   https://example.org/\n   C\n\n(from searxng)"
    assert site.asked[0][1] == "/search?q=x&format=json"


def test_brave_is_asked_with_its_key(site, call, monkeypatch):
    monkeypatch.setenv("BRAVE_API_KEY", "brave-key-123456")
    rows = [{"title": "<b>T</b>", "url": "https://example.org/", "description": "D &gt; E"}]
    site.api("/res/v1/web/search", lambda query, body: {"web": {"results": rows}})
    text, _ = call("web_search", query="x y", limit=3, settings={"web.brave_url": site.url})
    assert text == "1. T\n   https://example.org/\n   D > E\n\n(from brave)"
    _, path, headers, _ = site.asked[0]
    assert path == "/res/v1/web/search?q=x+y&count=3"
    assert headers["X-Subscription-Token"] == "brave-key-123456"


def test_tavily_is_asked_with_its_key(site, call, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-key-123456")
    rows = [{"title": "T", "url": "https://example.org/", "content": "C"}]
    site.api("/search", lambda query, body: {"results": rows} if body == {"query": "x", "max_results": 8} else {})
    text, _ = call("web_search", query="x", settings={"web.tavily_url": site.url, "web.search": "tavily"})
    assert text == "1. T\n   https://example.org/\n   C\n\n(from tavily)"
    assert site.asked[0][2]["Authorization"] == "Bearer tvly-key-123456"


def test_a_provider_that_was_chosen_and_lacks_its_key_is_said(call):
    text, is_error = call("web_search", query="x", settings={"web.search": "brave"})
    assert is_error and text == "no search provider can be used: brave needs the key BRAVE_API_KEY"


def test_an_unknown_provider_is_said_with_those_that_exist(call):
    text, is_error = call("web_search", query="x", settings={"web.search": "brav"})
    assert is_error and "brav" in text and "'brave'" in text


def test_no_hits_and_failures_are_said(site, call):
    settings = {"web.wikipedia_url": site.url, "web.search": "wikipedia"}
    site.api("/w/api.php", lambda query, body: {"query": {"search": []}})
    assert call("web_search", query="x", settings=settings)[0] == "No hits.\n\n(from wikipedia)"
    site.page("/w/api.php", "<html>", status=200)
    assert call("web_search", query="x", settings=settings) == (
        f"127.0.0.1:{site.server.server_port} did not answer with JSON",
        True,
    )
    site.page("/w/api.php", "busy", status=503)
    assert "answered with HTTP 503: busy" in call("web_search", query="x", settings=settings)[0]


def test_a_plugin_brings_a_provider(make_host, call):
    import asyncio

    import skillkit_web_tools.plugin
    from skillkit_web_tools.search import SearchHit, SearchProvider, chosen_provider

    class Library(SearchProvider):
        name = "library"

        async def usable(self):
            return None

        async def search(self, query, limit):
            return [SearchHit(query, "https://library.example/")]

    class Plugin:
        @hookimpl(optionalhook=True)
        def register_search_providers(self, register):
            register(Factory("library", lambda host: Library()))

    host = make_host(("web-tools", skillkit_web_tools.plugin), ("library", Plugin()))

    async def main():
        provider = await chosen_provider(host, "library")
        return await provider.search("x", 1)

    assert asyncio.run(main()) == [SearchHit("x", "https://library.example/")]
