"""``skillkit models refresh`` against a server on loopback and against ``genai-prices``, on real files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from skillkit_catalog.catalog import builtin
from skillkit_catalog.refresh import from_genai_prices

LIST = {
    "data": [
        {  # as OpenRouter lists a model
            "id": "openai/gpt-5-mini",
            "context_length": 400000,
            "architecture": {"input_modalities": ["text", "image", "file"]},
            "pricing": {"prompt": "0.0000002", "completion": "0.0000016", "input_cache_read": "0.00000002"},
            "top_provider": {"max_completion_tokens": 128000},
            "supported_parameters": ["tools", "reasoning"],
        },
        {"id": "new/model", "context_length": 64000, "max_completion_tokens": 8000},
        {"id": "free/router", "pricing": {"prompt": "-1", "completion": "-1"}},
    ]
}


@pytest.fixture
def endpoint() -> Iterator[str]:
    """An endpoint whose ``/models`` is ``LIST``; the address of its API."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(LIST).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_providers_list_is_shown_kept_named_and_undone(
    skillkit_cli: Any, skillkit_home: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    asked = ("models", "refresh", "--provider", "openrouter", "--base-url", endpoint)
    file = skillkit_home.data_dir / "catalog" / "models.json"

    seen = skillkit_cli(*asked, "--dry-run").ok().stdout
    assert "openrouter/openai/gpt-5-mini" in seen
    assert "0.25/2/0.025/0.25" in seen
    assert "0.2/1.6/0.02/0.2" in seen
    assert not file.exists()
    refused = skillkit_cli(*asked)
    assert (refused.exit_code, file.exists()) == (2, False)
    assert "nobody can be asked here; write with --yes, look with --dry-run" in refused.stderr

    done = skillkit_cli(*asked, "--yes", "--json").ok().json
    assert done["path"] == str(file)
    assert {(c["model"], c["field"]) for c in done["changes"]} == {
        ("openrouter/openai/gpt-5-mini", "cost"),
        ("openrouter/openai/gpt-5-mini", "max_output_tokens"),
        ("openrouter/new/model", "context_window"),
        ("openrouter/free/router", "model"),
    }
    shown = skillkit_cli("models", "show", "openrouter/openai/gpt-5-mini", "--json").ok().json
    assert shown["cost"] == {"input": 0.2, "output": 1.6, "cache_read": 0.02, "cache_write": 0.2}
    assert (shown["source"], shown["refreshed"]) == ("the list of openrouter", str(file))
    fresh = skillkit_cli("models", "show", "openrouter/new/model", "--json").ok().json
    assert (fresh["context_window"], fresh["max_output_tokens"], fresh["cost"]) == (64_000, None, None)
    assert "Nothing would change: 3 models" in skillkit_cli(*asked, "--yes").ok().stdout

    skillkit_home.write_config("catalog:\n  overrides:\n    openrouter/openai/gpt-5-mini: {context_window: 9000}\n")
    mine = skillkit_cli("models", "show", "openrouter/openai/gpt-5-mini", "--json").ok().json
    assert (mine["context_window"], mine["cost"]["input"], mine["source"]) == (9_000, 0.2, "your configuration")

    assert "built-in facts count again" in skillkit_cli("models", "refresh", "--undo", "--yes").ok().stdout
    assert not file.exists()
    assert skillkit_cli("models", "show", "openrouter/openai/gpt-5-mini", "--json").ok().json["cost"]["input"] == 0.25
    assert "Nothing was refreshed." in skillkit_cli("models", "refresh", "--undo").ok().stdout


def test_a_file_that_nobody_can_read_is_left_out_and_named(skillkit_cli: Any, skillkit_home: Any) -> None:
    file = skillkit_home.data_dir / "catalog" / "models.json"
    file.parent.mkdir(parents=True)
    for text in ("{", '{"models": {"openai/o3": {"cost": {"input": "x"}}}}', '{"models": {"a/b": {}}}'):
        file.write_text(text)
        assert skillkit_cli("models", "show", "o3", "--json").ok().json["cost"]["input"] == 2
        assert str(file) in skillkit_cli("plugins", "doctor").stdout
        refused = skillkit_cli("models", "refresh", "--dry-run")
        assert refused.exit_code == 1
        assert f"{file}: the refreshed facts cannot be read" in refused.stderr
    skillkit_cli("models", "refresh", "--undo", "--yes").ok()
    assert "genai-prices" in skillkit_cli("models", "refresh", "--dry-run").ok().stdout


def test_newer_data_of_genai_prices_are_what_would_change() -> None:
    """The package's own types, with a price that a later release might have."""
    from copy import deepcopy
    from decimal import Decimal

    from genai_prices.data_snapshot import DataSnapshot, get_snapshot, set_custom_snapshot
    from genai_prices.types import ModelPrice

    providers = deepcopy(get_snapshot().providers)
    openai = next(p for p in providers if p.id == "openai")
    entry = next(m for m in openai.models if m.id == "gpt-6-luna")
    entry.prices = ModelPrice(input_mtok=Decimal("0.05"), output_mtok=Decimal("0.25"))
    ended = next(m for m in openai.models if m.id == "o1")
    ended.prices = ModelPrice(input_mtok=Decimal(1), output_mtok=Decimal(1))
    set_custom_snapshot(DataSnapshot(providers, from_auto_update=True))
    try:
        found = from_genai_prices(builtin())
    finally:
        set_custom_snapshot(None)
    ((fact, old, new),) = [change[1:] for change in found.changes if change[0] == "openai/gpt-6-luna"]
    assert (fact, old["tiers"][0]["input"]) == ("cost", 0.2)
    assert new == {"input": 0.05, "output": 0.25, "cache_read": 0.05, "cache_write": 0.05}
    assert found.models["openai/gpt-6-luna"]["cost"] == new
    assert "openai/o1" not in found.models  # it has ended
