"""A server of the page as a real process, with a model that obeys."""

from pathlib import Path

import pytest
from web_tab import Server

PLUGIN = Path(__file__).parent / "support" / "page_plugin.py"


@pytest.fixture
def serve(skillkit_cli, install_plugin):
    """``with serve("--read-only") as server:`` gives a running server."""
    install_plugin("obeys", PLUGIN)
    return lambda *options, **env: Server(skillkit_cli, *options, env=env)
