"""Odd servers, proxies, endpoints and adapters on the command line: one line says what to do, and no key goes astray."""

import socket
import threading
from contextlib import contextmanager

import pytest
from skillkit_testkit import Call, Raw, Reply

WIRES = {
    "anthropic": ("anthropic", None, ""),
    "openai-chat": ("openai", "openai-chat", "/v1"),
    "openai-responses": ("openai", "openai-responses", "/v1"),
}
KEY = "sk-loopback-secret"
KEYS = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}


def flags(wire, url):
    provider, api, path = WIRES[wire]
    return ["--provider", provider, *(["--api", api] if api else []), "--base-url", url + path, "--model", "loop"]


@contextmanager
def listener():
    """A port that keeps what is sent to it, and says nothing."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(65_536))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.sample(1, each="wire")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streaming", [[], ["--no-stream"]], ids=["stream", "whole"])
def test_a_call_without_a_name_is_answered_with_an_error_and_goes_back(skillkit_cli, llm_server, wire, streaming):
    llm_server.script(Reply(tool_calls=[Call("", {"city": "Bern"})]), Reply(text="Sorry."))

    done = skillkit_cli("run", "--json", *streaming, *flags(wire, llm_server.url), "hello", env=KEYS).ok().json

    assert done["answer"] == "Sorry."
    assert [(c["tool"], c["outcome"]) for c in done["tool_calls"]] == [("", "error")]
    call, result = llm_server.last.items[-2:]
    assert (call.kind, call.name, result.kind) == ("call", "_", "result")
    assert "There is no tool ''" in result.text


@pytest.mark.sample(1, each="wire")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("variable", "proxy"),
    [
        ("ALL_PROXY", "socks5://ada:s3cret@127.0.0.1:{port}"),
        ("HTTP_PROXY", "socks5h://127.0.0.1:{port}"),
        ("all_proxy", "socks4://ada:s3cret@127.0.0.1:{port}"),
    ],
)
def test_a_socks_proxy_is_refused_by_the_name_of_its_variable(skillkit_cli, wire, variable, proxy):
    with listener() as (port, heard):
        env = {**KEYS, variable: proxy.format(port=port)}
        done = skillkit_cli("run", *flags(wire, "http://models.example"), "hello", env=env)

    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert f"{variable} names a SOCKS proxy, which is not supported" in line
    assert "NO_PROXY" in line
    assert heard == [], "the request went to the proxy"
    assert "s3cret" not in done.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_the_proxy_is_not_for_is_asked(skillkit_cli, llm_server, wire):
    llm_server.script(Reply(text="Hello."))
    env = {**KEYS, "ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "127.0.0.1"}
    assert skillkit_cli("run", *flags(wire, llm_server.url), "hello", env=env).ok().stdout == "Hello.\n"


@pytest.mark.sample(1, each="wire")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://models.example/v1?key=s3cret", "a query"),
        ("https://models.example/v1#s3cret", "a fragment"),
        ("https://ada:s3cret@models.example", "a user or password"),
        ("https://s3cret@models.example/?key=s3cret", "a query and a user or password"),
    ],
)
def test_an_endpoint_with_more_than_an_address_is_refused(skillkit_cli, wire, url, said):
    provider = WIRES[wire][:2]
    options = ["--provider", provider[0], *(["--api", provider[1]] if provider[1] else []), "--model", "loop"]
    done = skillkit_cli("run", *options, "--base-url", url, "hello", env=KEYS)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert f"is written with {said}, which cannot be part of an endpoint" in line
    assert "s3cret" not in line


def test_a_server_of_the_configuration_is_refused_with_its_place(skillkit_cli, skillkit_home):
    file = skillkit_home.write_config(
        "openai:\n  servers:\n    house:\n      base_url: https://ada:s3cret@house.example/v1\n"
    )
    done = skillkit_cli("config", "show")
    assert done.exit_code == 2
    assert f"{file}:4: openai.servers.house.base_url: " in done.stderr
    assert "is written with a user or password" in done.stderr
    assert "s3cret" not in done.stderr


@pytest.mark.parametrize("status", ["complete", "done"])
def test_a_response_with_a_status_of_its_own_is_an_answer(skillkit_cli, llm_server, status):
    body = (
        b'{"id": "r", "object": "response", "status": "%s", "usage": {"input_tokens": 3, "output_tokens": 1},'
        b' "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}]}'
    ) % status.encode()
    llm_server.script(Raw(body))
    done = skillkit_cli("run", "--json", *flags("openai-responses", llm_server.url), "hello", env=KEYS).ok().json
    assert (done["answer"], done["usage"]["total"]) == ("Hi.", 4)


@pytest.mark.parametrize("status", ["complete", "queued"])
def test_a_response_that_is_under_way_or_counts_nothing_is_none(skillkit_cli, llm_server, skillkit_home, status):
    skillkit_home.write_config("retry: {attempts: 1}\n")
    usage = b'"usage": {"input_tokens": 3, "output_tokens": 1},' if status == "queued" else b""
    llm_server.script(
        Raw(b'{"id": "r", "object": "response", %s "status": "%s", "output": []}' % (usage, status.encode()))
    )
    done = skillkit_cli("run", *flags("openai-responses", llm_server.url), "hello", env=KEYS)
    assert done.exit_code == 1
    assert f"the response has the status '{status}'" in done.stderr


BUGGY = """
from skillkit_core import LLMAdapter, Provider, StreamEvent, hookimpl

@hookimpl
def register_adapters(register):
    register(Provider("bug", {"bug": "acme_bug:Adapter"}, default_model="m"))

class Adapter(LLMAdapter):
    api = "bug"
    def __init__(self, host, *, provider, **options):
        self.provider, self.asked = provider, open("asked.txt", "a")
    async def stream(self, request):
        print("asked", file=self.asked, flush=True)
        yield StreamEvent("text_start", index=0)
        yield self.decode({"said": "hello"})
    def decode(self, event):
        return event["text"]
"""


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["plain", "debug"])
def test_a_mistake_in_an_adapter_is_unknown_and_shown_to_its_author(skillkit_cli, skillkit_home, install_plugin, debug):
    module = skillkit_home.path / "acme_bug.py"
    module.write_text(BUGGY)
    install_plugin("bug", module)

    done = skillkit_cli(*debug, "run", "--json", "--provider", "bug", "hello")

    assert done.exit_code == 1
    assert done.json["error"]["kind"] == "unknown"
    assert (skillkit_home.cwd / "asked.txt").read_text() == "asked\n", "it was tried again"
    assert ('return event["text"]' in done.stderr) is bool(debug)
    assert ("KeyError: 'text'" in done.stderr) is bool(debug)
