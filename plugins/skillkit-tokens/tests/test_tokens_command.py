"""``skillkit tokens`` as people run it, and the count of a provider on loopback."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.smoke


@contextmanager
def provider(status=200, answer=None):
    """A server that counts, and the requests that it got: path, headers, body."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.path, self.headers, body))
            said = json.dumps({"input_tokens": 1_234} if answer is None else answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_text_is_counted_for_a_model(skillkit_cli, tmp_path):
    file = tmp_path / "note.txt"
    file.write_text("The quick brown fox jumps over the lazy dog. " * 20)
    found = skillkit_cli("tokens", "count", str(file), "--model", "openai/gpt-4o", "--json").ok().json
    assert (found["model"], found["family"], found["exact"]) == ("gpt-4o", "gpt-4", None)
    assert 185 <= found["estimate"] <= 225 and 0 < found["margin"] < 0.1, "ten tokens a sentence"
    said = skillkit_cli("tokens", "count", str(file), "--model", "openai/gpt-4o").ok().stdout
    assert f"about {found['estimate']} tokens (±5% in half of the cases)" in said


def test_media_and_models_of_no_known_family_are_guesses(skillkit_cli, tmp_path):
    (tmp_path / "note.txt").write_text("The quick brown fox.")
    (tmp_path / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + (9).to_bytes(4) * 2)
    for file, model, why in (
        ("note.txt", "acme-9", "the tokenizer of this model is not known"),
        ("dot.png", "openai/gpt-4o", "media are counted by their size alone"),
    ):
        found = skillkit_cli("tokens", "count", str(tmp_path / file), "--model", model, "--json").ok().json
        assert found["margin"] is None and found["guess"] == f"a guess: {why}"
        said = skillkit_cli("tokens", "count", str(tmp_path / file), "--model", model).ok().stdout
        assert f"tokens (a guess: {why})" in " ".join(said.split()) and "±" not in said


def test_a_file_that_is_no_text_is_refused_in_a_line(skillkit_cli, tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\x00")
    failed = skillkit_cli("tokens", "count", str(tmp_path / "x.bin"), "--model", "gpt-4o")
    assert failed.exit_code == 2 and "is no text in UTF-8" in failed.stderr
    failed = skillkit_cli("tokens", "count", str(tmp_path / "none"), "--model", "gpt-4o")
    assert failed.exit_code == 2 and "cannot be read" in failed.stderr


def test_the_errors_of_the_last_fit_are_a_table(skillkit_cli):
    found = skillkit_cli("tokens", "error", "--json").ok().json
    lines = skillkit_cli("tokens", "error").ok().stdout.splitlines()
    assert lines[0].split()[:5] == ["group", "rows", "median", "p90", "bias"]
    assert lines[1].split()[:2] == ["all", str(found["error"]["all"]["rows"])] and found["date"] in lines[-1]


@pytest.mark.parametrize(
    ("api", "path", "prefix", "taken"),
    [
        ("anthropic-messages", "/v1/messages/count_tokens", "", {"model", "messages"}),
        ("openai-responses", "/v1/responses/input_tokens", "/v1", {"model", "input"}),
    ],
)
def test_the_provider_counts_where_it_can(skillkit_cli, tmp_path, monkeypatch, api, path, prefix, taken):
    file = tmp_path / "note.txt"
    file.write_text("What is it?")
    maker = api.partition("-")[0]
    pytest.importorskip(f"skillkit_{maker}", reason="the provider's plugin is not installed")
    monkeypatch.setenv(f"{maker.upper()}_API_KEY", "sk-loopback")
    model = "claude-sonnet-4-5" if maker == "anthropic" else "gpt-4o"
    with provider() as (url, asked):
        command = ("tokens", "count", str(file), "--provider", maker, "--api", api, "--model", model)
        found = skillkit_cli(*command, "--base-url", url + prefix, "--exact", "--json").ok().json
    ((got, _, body),) = asked
    assert (got, found["exact"], found["provider"]) == (path, 1_234, maker)
    assert taken <= set(body) and not {"stream", "max_tokens", "store", "max_output_tokens"} & set(body)
    assert "What is it?" in json.dumps(body)


def test_a_refusal_of_the_provider_is_told_and_a_wire_that_cannot_count_as_well(skillkit_cli, tmp_path, monkeypatch):
    pytest.importorskip("skillkit_openai", reason="the provider's plugin is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    file = tmp_path / "note.txt"
    file.write_text("What is it?")
    command = ("tokens", "count", str(file), "--provider", "openai", "--model", "gpt-4o", "--exact")
    with provider(400, {"error": {"message": "no such model", "type": "invalid_request_error"}}) as (url, _):
        refused = skillkit_cli(*command, "--api", "openai-responses", "--base-url", f"{url}/v1")
    assert refused.exit_code == 1 and "no such model" in refused.stderr
    cannot = skillkit_cli(*command, "--api", "openai-chat", "--base-url", "http://127.0.0.1:9/v1")
    assert cannot.exit_code == 2 and "does not count tokens over the wire openai-chat" in cannot.stderr
