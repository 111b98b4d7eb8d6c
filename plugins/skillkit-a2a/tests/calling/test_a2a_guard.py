"""The guard: which addresses are called, under which name, how much of an answer is read, and where a key goes."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from contextlib import suppress
from typing import Any

import pytest
from a2a_raw_peer import RawPeer
from skillkit_a2a.calling.peer import Peer
from skillkit_a2a.calling.settings import target_of
from skillkit_a2a.errors import PeerError
from skillkit_a2a.guard import guarded_client
from skillkit_testkit.engines import installed
from skillkit_testkit.turns import Raw


def called(make_host: Any, base: str, **client: Any) -> PeerError | str:
    """Give a task to the agent at an address; return its answer, or the error."""
    agent = {"url": base, **client.pop("agent", {})}
    host = make_host(installed("a2a"), settings={"a2a.client": {"agents": {"far": agent}, "timeout": 0.5, **client}})

    async def main() -> str:
        async with Peer(host, target_of(host, "far")) as peer:
            progress = peer.progress()
            async for _ in peer.send([{"text": "hello"}], progress, message="m", metadata={}):
                pass
            return progress.text()

    try:
        return asyncio.run(main())
    except PeerError as error:
        return error


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:1", "https://localhost:1", "https://[::1]:1", "https://[::ffff:127.0.0.1]:1", "https://0x7f.1:1",
        "https://2130706433:1", "https://10.1.2.3", "https://192.168.0.1", "https://169.254.169.254", "https://[fd00::1]",
        "https://[fe80::1]", "https://0.0.0.0:1", "https://224.0.0.1", "http://93.184.216.34", "ftp://93.184.216.34",
    ],
)  # fmt: skip
def test_s12_10_private_addresses_and_plain_http_are_refused_unless_they_are_allowed(make_host, url):
    error = called(make_host, url)
    assert isinstance(error, PeerError) and error.code == "address" and not error.retryable


def test_s12_10_a_host_is_allowed_by_its_name_and_port(make_host, peer):
    port = peer.base.rpartition(":")[2]
    assert called(make_host, peer.base, allow=[f"127.0.0.1:{port}"]) == "echo: hello"
    assert called(make_host, f"http://localhost:{port}", allow=["localhost", "127.0.0.1"]) == "echo: hello"
    for allow in (["127.0.0.1:1"], ["localhost"], ["example.com"]):
        assert called(make_host, peer.base, allow=allow).code == "address"
    peer.interface = "https://169.254.169.254/"  # the card of an agent that is allowed leads elsewhere
    assert called(make_host, peer.base, allow=[f"127.0.0.1:{port}"]).code == "address"


def test_s12_10_a_name_is_looked_up_once_and_that_address_is_connected_to(monkeypatch, peer):
    """A name that answers with a public address first and with a private one then (DNS rebinding) gains nothing."""
    asked: list[Any] = []
    connected: list[Any] = []
    answers = {"rebind.example": "93.184.216.34", "mixed.example": "10.0.0.1"}

    async def lookup(self: Any, host: Any, port: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        asked.append(name)
        if name == "mixed.example":
            found = ["10.0.0.1", "93.184.216.34"]
        else:
            found = [answers.get(name, name)]
        answers["rebind.example"] = "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    async def connect(self: Any, sock: Any, address: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    loop = asyncio.SelectorEventLoop
    monkeypatch.setattr(loop, "getaddrinfo", lookup)
    monkeypatch.setattr(loop, "sock_connect", connect)

    async def main() -> None:
        async with guarded_client((), max_bytes=10_000, timeout=1, silence=1) as client:
            for name in ("rebind.example", "mixed.example"):
                with pytest.raises(Exception, match=r"connection|attempts"):
                    await client.get(f"https://{name}/")
            with pytest.raises(PeerError, match="private or local"):
                await client.get("https://rebind.example/")

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())
    assert [name for name in asked if name.endswith("example")] == ["rebind.example", "mixed.example", "rebind.example"]
    assert {address for address, _ in connected} == {"93.184.216.34"}


def test_s12_10_redirects_are_not_followed(make_host, peer):
    with RawPeer() as other:
        where = {"Location": f"{other.base}/.well-known/agent-card.json"}
        peer.card_pages["/.well-known/agent-card.json"] = Raw(b"", 302, headers=where)
        allow = [one.base.removeprefix("http://") for one in (peer, other)]
        error = called(make_host, peer.base, allow=allow)
    assert isinstance(error, PeerError) and error.code == "protocol" and other.asked == []


@pytest.mark.parametrize(
    ("card", "code"),
    [
        (Raw(b"[" * 200_000), "too_large"),
        (Raw(b"[" * 50_000), "protocol"),
        (Raw(b"<html>"), "protocol"),
        (Raw(b'{"name": 7, "supportedInterfaces": 3}'), "protocol"),
        (Raw(json.dumps({"name": "g", "supportedInterfaces": [{"url": "x", "protocolBinding": "GRPC"}]}).encode()), "protocol"),
        (Raw(gzip.compress(b" " * 10_000), headers={"Content-Encoding": "gzip"}), "protocol"),
        (Raw(b"no", 503), "busy"),
        (Raw(b"no", 404), "protocol"),
    ],
)  # fmt: skip
def test_s12_10_a_card_that_is_none_is_a_typed_error(make_host, peer, card, code):
    peer.card_pages["/.well-known/agent-card.json"] = card
    error = called(make_host, peer.base, allow=["127.0.0.1"], max_bytes=100_000)
    assert isinstance(error, PeerError) and error.code == code, error


def test_s12_10_a_card_at_an_address_of_its_own_is_read_there(make_host, peer):
    peer.card_pages["/agents/far.json"] = Raw(json.dumps(peer.card()).encode())
    assert called(make_host, f"{peer.base}/agents/far.json", allow=["127.0.0.1"]) == "echo: hello"


@pytest.mark.parametrize("header", [("Authorization", "Bearer s3cret-key"), ("X-API-Key", "s3cret-key")])
def test_s12_10_a_key_goes_where_the_card_says_to_the_host_that_the_user_wrote_and_nowhere_else(
    make_host, monkeypatch, header
):
    agent = {"agent": {"key": "FAR_KEY"}, "allow": ["127.0.0.1"]}
    with RawPeer(key=header) as peer:
        assert called(make_host, peer.base, allow=["127.0.0.1"]).code == "auth"  # it lets nobody in without a key
        missing = called(make_host, peer.base, **agent)
        assert missing.code == "auth" and "FAR_KEY" in missing.message
        monkeypatch.setenv("FAR_KEY", "s3cret-key")
        assert called(make_host, peer.base, **agent) == "echo: hello"
        card = [one for one in peer.asked if one.method == "GET"]
        assert not any("s3cret" in str(one.headers) for one in card)  # who wants a card needs none
        with RawPeer() as other:
            peer.interface = other.base
            error = called(make_host, peer.base, **agent)
        assert error.code == "auth" and other.asked == [] and "s3cret" not in str(error)


def test_s12_10_one_event_may_not_be_larger_than_all_that_is_read(make_host, peer, monkeypatch):
    """A stream of many small events goes on, one event of a megabyte ends it."""

    def endless(handler: Any, number: Any, events: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        piece = b"data: " + b"x" * 8_000
        with suppress(OSError):  # the client had enough
            for _ in range(1_000):
                handler.wfile.write(piece)

    assert called(make_host, peer.base, allow=["127.0.0.1"], max_bytes=1_000) == "echo: hello"
    monkeypatch.setattr(peer, "_stream", endless)
    error = called(make_host, peer.base, allow=["127.0.0.1"], max_bytes=100_000)
    assert isinstance(error, PeerError) and error.code == "too_large"


def test_s12_10_a_card_has_to_be_signed_by_the_key_that_the_user_names(make_host, peer, tmp_path):
    pytest.importorskip("jwt", reason="needs skillkit-a2a[signing]")
    from a2a.client.card_resolver import parse_agent_card
    from a2a.server.request_handlers.response_helpers import agent_card_to_dict
    from a2a.utils.signing import create_agent_card_signer
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    mine, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    kinds = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    file = tmp_path / "key.pem"
    file.write_bytes(mine.public_key().public_bytes(*kinds))
    header = {"alg": "ES256", "kid": "k", "jku": None, "typ": "JOSE"}

    def answered(key: Any, **changed: Any) -> Any:
        card = parse_agent_card(peer.card())
        if key is not None:
            card = create_agent_card_signer(key, header)(card)
        body = json.dumps({**agent_card_to_dict(card), **changed}).encode()
        peer.card_pages["/.well-known/agent-card.json"] = Raw(body)
        return called(make_host, peer.base, allow=["127.0.0.1"], agent={"signed_by": str(file)})

    assert answered(mine) == "echo: hello"
    for wrong in (answered(other), answered(None), answered(mine, name="another")):
        assert isinstance(wrong, PeerError) and wrong.code == "signature" and not wrong.retryable
    file.unlink()
    assert answered(mine).code == "signature"
