"""Logins that one plugin keeps and another one shows: those at MCP servers, in ``skillkit auth``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tokens(skillkit_home: Any) -> Path:
    """The tokens of a login at the server ``site``, and of one at an address that no server has any more."""
    (skillkit_home.config_dir / "mcp.json").write_text(
        json.dumps({"mcpServers": {"site": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}})
    )
    folder: Path = skillkit_home.data_dir / "mcp"
    folder.mkdir(parents=True, mode=0o700)
    kept = folder / "tokens.json"
    token = {"access_token": "a-secret-token", "token_type": "Bearer", "refresh_token": "again"}
    kept.write_text(
        json.dumps(
            {
                "http://127.0.0.1:9/mcp": {"tokens": token, "over": time.time() + 3600},
                "http://127.0.0.1:9/old": {"tokens": {"access_token": "older", "token_type": "Bearer"}},
            }
        )
    )
    kept.chmod(0o600)
    return kept


def test_auth_shows_the_logins_at_mcp_servers_and_forgets_them(skillkit_cli: Any, tokens: Path) -> None:
    rows = {row["provider"]: row for row in json.loads(skillkit_cli("auth", "status", "--json").ok().stdout)}
    site, old = rows["mcp:site"], rows["mcp:http://127.0.0.1:9/old"]
    assert (site["source"], site["kind"], site["where"], site["renewable"]) == ("file", "oauth", str(tokens), True)
    assert site["expires_at"] is not None and old["expires_at"] is None
    shown = skillkit_cli("auth", "status").ok().stdout
    assert "mcp:site" in shown and "a-secret-token" not in shown
    assert json.loads(skillkit_cli("auth", "status", "mcp:site", "--json").ok().stdout) == [site]
    assert "Forgotten: mcp:site" in skillkit_cli("auth", "logout", "mcp:site").ok().stdout
    assert list(json.loads(tokens.read_text())) == ["http://127.0.0.1:9/old"]
    assert "Forgotten" in skillkit_cli("auth", "logout", "mcp:http://127.0.0.1:9/old").ok().stdout
    assert json.loads(tokens.read_text()) == {}


def test_auth_says_that_logins_cannot_be_read_and_shows_the_others(skillkit_cli: Any, tokens: Path) -> None:
    tokens.chmod(0o644)
    result = skillkit_cli("auth", "status", env={"OPENAI_API_KEY": "sk-something-long-enough"}).ok()
    assert "openai" in result.stdout and "others can read it" in result.stderr
