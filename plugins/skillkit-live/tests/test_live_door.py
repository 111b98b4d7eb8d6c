"""The socket of a session: who may come in, where it is, and what is left of one whose process was killed."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from skillkit_live import Lives, RpcClient
from skillkit_live.door import address_of
from skillkit_testkit import until

from skillkit_core import AgentConfig, Host, Origin, Provider, SessionError, hookimpl
from skillkit_core.testing import ScriptedModel

OWNER = Origin("test")


class Echo:
    @hookimpl
    def register_adapters(self, register):
        model = ScriptedModel([lambda request: f"You said: {request.messages[-1].text}"], repeat=True)
        register(Provider("echo", {"scripted": lambda host, **_: model}, default_model="m"))


@pytest.fixture
def host(tmp_path):
    environ = {"SKILLKIT_DATA_DIR": str(tmp_path)}
    return Host(plugins=[("echo", Echo())], discover=False, cwd=tmp_path, environ=environ)


def test_a_client_of_another_process_speaks_the_protocol(host):
    async def main():
        async with Lives(host, listen=True) as lives:
            live = await lives.open(origin=OWNER, config=AgentConfig(provider="echo"))
            door = Path(live.endpoint)
            assert stat.S_IMODE(door.stat().st_mode) == 0o600
            seen = []
            async with RpcClient(endpoint=str(door), on_message=seen.append) as client:
                assert (await client.prompt("hello")).content == "You said: hello"
            await until(lambda: live.clients == 0)
            assert seen[0]["type"] == "snapshot"
            await live.agent.fork()
            while live.endpoint is None:
                await asyncio.sleep(0)
            moved = Path(live.endpoint)
            assert moved.exists() and not door.exists(), "the socket has the id of the session that the agent is in"
        assert not moved.exists()

    asyncio.run(main())


def test_a_client_that_stays_is_told_that_the_session_was_closed(host):
    async def main():
        seen = []
        async with Lives(host, listen=True) as lives:
            live = await lives.open(origin=OWNER, config=AgentConfig(provider="echo"))
            client = RpcClient(endpoint=live.endpoint, on_message=seen.append)
            await client.__aenter__()
        await client.ended.wait()
        await client.close()
        assert seen[-1]["type"] == "closed"

    asyncio.run(main())


def test_what_a_killed_process_left_is_replaced(tmp_path):
    import socket

    from skillkit_live.door import Door, knock

    async def main():
        address = address_of("s", Path("/tmp") / f"door-{os.getpid()}")
        address.parent.mkdir(exist_ok=True)
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(address))
        left.close()
        door = Door(address, lambda connection: None)
        (await knock(str(address))).close()
        await door.close()
        address.parent.rmdir()

    asyncio.run(main())


def test_nobody_opens_where_no_process_listens(tmp_path, monkeypatch):
    monkeypatch.setattr("skillkit_live.door._PATIENCE", 0)

    async def main():
        with pytest.raises(SessionError, match="takes no clients"):
            async with RpcClient(endpoint=str(tmp_path / "nobody.sock")):
                pass

    asyncio.run(main())


def test_a_path_that_is_too_long_for_a_socket_is_in_the_runtime_folder(monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert address_of("id", Path("/short")) == Path("/short/id.sock")
    one, two = (address_of(name, Path("/long" * 30)) for name in ("one", "two"))
    assert one != two and one.parent == Path(f"/run/user/1000/skillkit-{os.getuid()}") and len(str(one)) <= 107


@pytest.mark.parametrize("follows", [True, False])
def test_a_client_of_another_process_takes_nobodys_session_away(host, follows):
    from skillkit_live import Server

    async def main():
        async with Lives(host) as lives:
            live = await lives.open(origin=OWNER, config=AgentConfig(provider="echo"))
            session = live.id

            async def leave():
                pass

            server = Server(lives, live, "socket", leave)
            server.connection = type("Nobody", (), {"notify": lambda *_: None, "room": staticmethod(leave)})()
            holder = None if follows else live.attach()
            await server.handle("initialize", {"version": 2})
            if follows:
                await server.handle("attach", {})
            assert (await server.handle("open", {"session": "new"}))["session"] != session
            assert live.id == session
            server.close()
            if holder is not None:
                holder.close()

    asyncio.run(main())


@pytest.mark.parametrize("address", [Path("/tmp") / ("long" * 30), Path("/dev/null/s.sock")])
def test_a_socket_that_cannot_be_made_says_what_to_do(address):
    from skillkit_live.door import Door

    async def main():
        with pytest.raises(SessionError, match=r"the socket of a session cannot be made.*XDG_RUNTIME_DIR"):
            Door(address, lambda connection: None)

    asyncio.run(main())
