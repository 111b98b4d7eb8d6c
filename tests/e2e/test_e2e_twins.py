"""What two plugins each carry, because neither may import the other, stays the same in both."""

from __future__ import annotations

from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"


@pytest.mark.skipif(not PLUGINS.is_dir(), reason="the plugins are not beside the core")
def test_both_adapters_keep_the_same_away_from_their_connections() -> None:
    one, other = (PLUGINS / f"skillkit-{n}/src/skillkit_{n}/connections.py" for n in ("anthropic", "openai"))
    assert one.read_text() == other.read_text()
