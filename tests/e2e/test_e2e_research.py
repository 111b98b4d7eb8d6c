"""Research among all plugins: chosen by routing, let to the web by a rule of permissions, explained."""

from __future__ import annotations

import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("skillkit_engine_research", reason="engines are not part of the standard distribution")

from skillkit_testkit import Reply

CHOICE = json.dumps({"skill": "site-crawl", "confidence": 0.9, "reason": "it names a site", "steps": []})
SECTION = {"heading": "Bees", "claims": [{"text": "A queen lays eggs.", "sources": ["S1"]}]}
ANSWER = json.dumps({"sections": [SECTION], "gaps": ["The site does not say how many."]})


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Any:
    """A folder with pages, on loopback; gives its host and port."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(
        "<title>Bees</title><main>A queen lays eggs. <a href='more.html'>more</a></main>"
    )
    (folder / "more.html").write_text("<title>More</title><main>Drones do not.</main>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def configure(home: Any, site: str, **permissions: Any) -> None:
    about = {"research": {"skills": True}, "web": {"private_hosts": [site]}, "permissions": permissions}
    (home.config_dir / "config.yaml").write_text(json.dumps(about))


def test_a_site_is_read_where_a_rule_names_its_host_and_the_turn_is_explained(
    skillkit_cli, skillkit_home, llm_server, monkeypatch, site
):
    configure(skillkit_home, site, allow=["WebFetch(domain:127.0.0.1)"])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    llm_server.script(Reply(text=CHOICE), Reply(text=ANSWER))
    done = skillkit_cli("run", *wire, f"What does http://{site}/ say about bees?").ok()
    assert "- A queen lays eggs. [S1]" in done.stdout and f"- [S1] Bees, http://{site}/" in done.stdout
    assert "Open:\n- The site does not say how many." in done.stdout
    assert "Drones do not" in json.dumps(llm_server.requests[1].body)

    page = skillkit_cli("why", "latest").ok().stdout
    assert "site-crawl via research" in page and "selected, 1 model call" in page and "2 found, 1 cited" in page
    by_engine = skillkit_cli("usage", "--by", "engine", "--json").ok().json
    assert [(row["engine"], row["requests"]) for row in by_engine["rows"]] == [("research", 2)]


def test_without_a_rule_a_skill_that_needs_the_web_is_dropped_with_the_tool_that_is_missing(
    skillkit_cli, skillkit_home, site
):
    configure(skillkit_home, site)
    told = skillkit_cli("routing", "why", f"What does http://{site}/ say?", "--no-model", "--json").ok().json
    assert told["dropped"]["site-crawl"] == "tool_missing:web_fetch"
    assert told["dropped"]["security-analysis"] == "tool_missing:web_search"
    assert not {"quick-lookup", "deep-research"} & set(told["dropped"])
