"""A server in the process of the test, on loopback, and callers that use it through the client of the protocol's library."""

import asyncio
import socket
from contextlib import asynccontextmanager
from importlib import import_module

import httpx
import pytest
from a2a_callers import Caller

SKILL = """---
name: {name}
description: {description}
metadata:
  skillkit:
    keywords: [{name}]
    examples: ["do {name}"]
    internal_only: {internal}{actions}
---
Instructions of {name}.
"""
ACTION = """
    actions:
      - name: count
        description: Count.
        run: [echo, '{said}']
        output: {output}
        confirm: never"""


@pytest.fixture
def write_skill(skillkit_home):
    """``write_skill("name")`` writes a skill of the user; ``output``: with an action that answers with JSON, or with a file."""

    def write(name, description="It does something.", *, internal=False, output=""):
        folder = skillkit_home.config_dir / "skills" / name
        folder.mkdir(parents=True)
        actions = ACTION.format(output=output, said={"json": '{"n": 3}', "file": "made.txt"}[output]) if output else ""
        text = SKILL.format(name=name, description=description, internal=str(internal).lower(), actions=actions)
        (folder / "SKILL.md").write_text(text)

    return write


class Serving:
    """A server that runs, and its host."""

    def __init__(self, host, url, folder):
        self.host, self.url, self.folder = host, url, folder
        self._https = []

    def caller(self, key=None, *, binding="JSONRPC"):
        """Return a caller with a key."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        http = httpx.AsyncClient(headers=headers, timeout=30, trust_env=False)
        self._https.append(http)
        return Caller(self.url, http, binding)

    async def close(self):
        """Close the connections of callers."""
        for http in self._https:
            await http.aclose()


@pytest.fixture
def serving(make_host, skillkit_home):
    """``async with serving(settings) as served`` runs a server; ``open_``: callers need no key."""

    @asynccontextmanager
    async def run(settings=None, *, skills=(), open_=True, plugins=(), grpc=None):
        import a2a_agent_plugin
        import uvicorn
        from skillkit_a2a.serving.command import settings_of
        from skillkit_a2a.serving.keys import Keys
        from skillkit_a2a.serving.server import Server

        from skillkit_core import AgentConfig

        installed = (
            (name, import_module(f"skillkit_{name}.plugin")) for name in ("sessions", "skills", "a2a", *plugins)
        )
        host = make_host(*installed, ("agent", a2a_agent_plugin), cwd=skillkit_home.cwd)
        host.configure({f"a2a.{key}": value for key, value in {"rate": 10_000, **(settings or {})}.items()})
        keys = None if open_ else Keys(host.data_dir)
        server = Server(host, AgentConfig(provider="obeys"), settings_of(host), skills=skills, keys=keys)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            async with server.app(listening.getsockname()[1], grpc) as app:
                web = uvicorn.Server(
                    uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
                )
                running = asyncio.ensure_future(web._serve(sockets=[listening]))
                while not web.started:
                    await asyncio.sleep(0)
                served = Serving(host, server.url, skillkit_home.cwd)
                try:
                    async with asyncio.timeout(60):
                        yield served
                finally:
                    await served.close()
                    web.should_exit = True
                    await running
        await host.aclose()

    return run
