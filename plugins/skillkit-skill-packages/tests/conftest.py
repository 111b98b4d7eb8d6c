"""What the tests of this plugin share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def shared(shared_data: Path) -> Path:
    """The folder with the conformance corpora of skills."""
    return shared_data / "skills"
