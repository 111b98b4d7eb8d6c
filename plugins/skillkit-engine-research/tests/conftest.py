"""A workspace with notes, a site on loopback with a search, and an agent with the engine, whose model answers by script."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import skillkit_engine_research.plugin
import skillkit_engines.plugin
import skillkit_files.plugin
import skillkit_skills.plugin
import skillkit_web_tools.plugin
from skillkit_engines import TASK

from skillkit_core import AgentConfig, AgentError, AgentRunner, Host, RetryPolicy
from skillkit_core.testing import ScriptedModel

WEB = ["web_search", "web_fetch"]


class Site:
    """Pages by path, and ``/search``, which answers as a SearXNG does; ``asked`` has the path of each request."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.hits: list[str] = []
        self.asked: list[str] = []
        self.queries: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                site.asked.append(parts.path)
                if parts.path == "/search":
                    site.queries += parse_qs(parts.query)["q"]
                    rows = [{"title": path, "url": f"{site.url}{path}", "content": "An excerpt."} for path in site.hits]
                    self.answer(200, "application/json", json.dumps({"results": rows}))
                elif parts.path in site.pages:
                    kind = "text/plain" if parts.path == "/robots.txt" else "text/html"
                    self.answer(200, kind, site.pages[parts.path])
                else:
                    self.answer(404, "text/plain", "not here")

            def answer(self, status: int, kind: str, text: str) -> None:
                data = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def page(self, path: str, text: str, *links: str) -> None:
        body = f"<p>{text}</p>" + "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
        self.pages[path] = f"<html><head><title>Page {path}</title></head><body><main>{body}</main></body></html>"

    @property
    def fetched(self) -> list[str]:
        return [path for path in self.asked if path not in ("/search", "/robots.txt")]


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def workspace(skillkit_home: Any) -> Path:
    place: Path = skillkit_home.cwd
    (place / "notes").mkdir()
    (place / "notes" / "bees.md").write_text("# Bees\n\nA queen bee lays 1500 eggs a day.\n\nWorkers live six weeks.\n")
    (place / "notes" / "ants.md").write_text("# Ants\n\nAn ant colony has a queen, too.\n")
    (place / "notes" / "tax.md").write_text("# Tax\n\nThe form is due in May.\n")
    return place


@pytest.fixture
def skill(tmp_path: Path) -> Callable[..., None]:
    """Writes a skill of the engine: ``skill("look", mode="quick-lookup")``."""

    def write(name: str, *, body: str = "", **fields: Any) -> None:
        place = tmp_path / "skills" / name
        place.mkdir(parents=True)
        head = {
            "name": name,
            "description": f"Does {name}.",
            "metadata": {"skillkit": {"engine": "research", **fields}},
        }
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\n{body}\n")

    return write


@pytest.fixture
def stage(make_host: Callable[..., Host], workspace: Path, tmp_path: Path, site: Site) -> Callable[..., Any]:
    """Makes an agent and its model: ``agent, model = stage("the answer", web=True)``; the six skills are there."""

    def make(
        *turns: Any, web: bool = False, plugins: Any = (), tools: Any = (), settings: Mapping[str, Any] | None = None,
        approver: Any = None, limits: Any = None,
    ) -> tuple[AgentRunner, ScriptedModel]:  # fmt: skip
        host = make_host(
            ("skills", skillkit_skills.plugin),
            ("files", skillkit_files.plugin),
            *([("web-tools", skillkit_web_tools.plugin)] if web else []),
            ("engines", skillkit_engines.plugin),
            ("engine-research", skillkit_engine_research.plugin),
            *plugins,
            settings={
                "skills.dirs": [str(tmp_path / "skills")],
                "research.skills": True,
                **({"web.private_hosts": [site.host], "web.searxng_url": site.url} if web else {}),
                **({"tools.allow": WEB} if web else {}),
                **(settings or {}),
            },
        )
        given = AgentConfig(
            model="any", retry=RetryPolicy(attempts=1), tools=tuple(tools), approver=approver, limits=limits
        )
        agent, model = AgentRunner(given, host=host), ScriptedModel(turns)
        agent.set_adapter(model)
        return agent, model

    return make


class Done:
    """What became of a request: the response or its error, the notes of the task, its nodes and its data."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.notes: list[Any] = []
        self.calls: list[tuple[str, Any]] = []
        self.sources: list[Any] = []
        self.end: Any = {}
        self.content = ""
        self.outcome = ""

    @property
    def status(self) -> str:
        return str(self.notes[-1]["status"])

    @property
    def reason(self) -> str:
        return str(self.notes[-1]["reason"])


@pytest.fixture
def ask() -> Callable[..., Done]:
    """Asks an agent, and returns what became of it: ``ask(agent, "/quick-lookup eggs of a queen")``."""

    def run(agent: AgentRunner, *texts: str) -> Done:
        async def main() -> Done:
            done = Done()
            agent.events.observe(
                lambda event: done.nodes.append(event.node) if event.state == "begin" else None, ["task_node"]
            )
            async with agent:
                for text in texts:
                    try:
                        response = await agent.chat(text)
                        done.content, done.outcome = response.content, response.outcome
                    except AgentError as error:
                        done.content, done.outcome = str(error), "failed"
                session = agent.session
                done.notes = [note.data for note in session.notes(TASK)]
                done.sources = [note.data for note in session.notes("engine-research.source")]
                done.end = next((note.data for note in reversed(session.notes("engine-research.end"))), {})
                calls = [
                    call for message in agent.messages if message.role == "assistant" for call in message.tool_calls
                ]
                done.calls = [(call.name, dict(call.args)) for call in calls]
            await agent.host.aclose()
            return done

        return asyncio.run(main())

    return run
