"""A test module: the suites for what an installed plugin brings, as far as they need nothing from its author.

``SKILLKIT_CHECK`` holds JSON, the plugin's ``name`` and its ``items`` by kind. ``skillkit plugins check`` lets pytest collect
this file in a process of its own, where the plugin is found as an installed one, beside the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from skillkit_core import Host, Selection, Tool

from .command import CommandConformance
from .compactor import CompactorConformance
from .runtime import RuntimeConformance
from .session_store import SessionStoreConformance
from .skill_loader import SkillLoaderConformance
from .skills import SkillsConformance
from .tool import ToolConformance

ASKED = json.loads(os.environ.get("SKILLKIT_CHECK", '{"name": "", "items": {}}'))


@pytest.fixture
def installed(make_host: Callable[..., Host]) -> Callable[[], Host]:
    """A callable that gives a host with the plugin and all that are installed."""
    return lambda: make_host(discover=True, selection=Selection(enable={ASKED["name"]: "the report card"}))


def _runtime(name: str) -> type:
    class Suite(RuntimeConformance):
        @pytest.fixture
        def runtime(self, installed: Callable[[], Host]) -> Any:
            return installed().runtimes.get(name)

    return Suite


def _compactor(name: str) -> type:
    class Suite(CompactorConformance):
        @pytest.fixture
        def compactor(self, installed: Callable[[], Host]) -> Any:
            return installed().compactors.get(name)

    return Suite


def _store(name: str) -> type:
    class Suite(SessionStoreConformance):
        @pytest.fixture
        def make_store(self, installed: Callable[[], Host]) -> Any:
            return lambda: installed().session_stores.get(name)

    return Suite


def _loader(name: str) -> type:
    class Suite(SkillLoaderConformance):
        @pytest.fixture
        def loader(self, installed: Callable[[], Host]) -> Any:
            return installed().skill_loaders.get(name)

    return Suite


class _Mine:
    """The items of the plugin alone, of a host with all."""

    @pytest.fixture
    def tool_host(self, installed: Callable[[], Host]) -> Host:
        return installed()

    @pytest.fixture
    def command_host(self, installed: Callable[[], Host]) -> Host:
        return installed()

    @pytest.fixture
    def offered(self, tool_host: Host) -> Any:
        entries = [entry for entry in tool_host.tools.entries() if entry.source == ASKED["name"]]
        return [entry.item for entry in entries if isinstance(entry.item, Tool)]

    @pytest.fixture
    def brought(self, command_host: Host) -> Any:
        return {entry.name: entry.item for entry in command_host.commands.entries() if entry.source == ASKED["name"]}


def _skills(name: str) -> type:
    class Suite(SkillsConformance):
        package = name

    return Suite


MAKERS = {
    "runtimes": _runtime,
    "compactors": _compactor,
    "session_stores": _store,
    "skill_loaders": _loader,
    "skills": _skills,
}
for _kind, _make in MAKERS.items():
    for _number, _name in enumerate(ASKED["items"].get(_kind, ())):
        globals()[f"Test{_kind}{_number}"] = _make(_name)
if "tools" in ASKED["items"]:
    TestTools = type("TestTools", (_Mine, ToolConformance), {})
if "commands" in ASKED["items"]:
    TestCommands = type("TestCommands", (_Mine, CommandConformance), {})
