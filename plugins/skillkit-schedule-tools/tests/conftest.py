"""The command line with a model that does what it is told, and the schedules of the home."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from skillkit_schedule_tools import Store

PLUGIN = Path(__file__).parent / "support" / "errand_plugin.py"


@pytest.fixture
def store(skillkit_home: Any) -> Store:
    return Store(skillkit_home.data_dir / "schedule")


@pytest.fixture
def command(skillkit_cli: Any, skillkit_home: Any, install_plugin: Any) -> Callable[..., Any]:
    install_plugin("errands", PLUGIN)
    skillkit_home.write_config("provider: obeys\nschedule: {zone: Europe/Berlin}\n")
    return skillkit_cli


@pytest.fixture
def marks(skillkit_home: Any) -> Callable[[], list[str]]:
    """What the tools have done."""
    file = skillkit_home.cwd / "marks"
    return lambda: file.read_text().split() if file.exists() else []
