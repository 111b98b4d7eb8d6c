"""The ten skills at the command line: a scripted model, and real files and servers on loopback behind their tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Any

import pytest
from skillkit_testkit import Call, Reply


@pytest.fixture(scope="session")
def skillkit_preload() -> Sequence[str]:
    """The SDK and the modules of the plugins: to import them is most of the time of a run."""
    packages = {entry.module.partition(".")[0] for entry in entry_points(group="skillkit.plugins")} - {
        "skillkit_testkit"
    }
    specs = [spec for name in sorted(packages) if (spec := find_spec(name))]
    modules = [
        found.name for spec in specs for found in walk_packages(spec.submodule_search_locations, f"{spec.name}.")
    ]
    used = (name for name in modules if not name.endswith("__main__") and ".templates" not in name)
    return ("skillkit_core.cli.main", "openai", "aiohttp", "pydantic", *used)


@pytest.fixture
def ask(skillkit_cli: Any, llm_server: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a request whose skill the model chooses, with the calls and the answer of the script.

    ``ask("weather", "How warm is it?", ("weather_conditions_tool", {"place": "Oslo"}), answer="Warm.")``
    """
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-key")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")

    def run(skill: str, words: str, *calls: tuple[str, Any], answer: str = "Done.", permit: Sequence[str] = ()) -> Any:
        choice = json.dumps({"skill": skill, "confidence": 0.9, "reason": "it fits", "steps": []})
        tools = [Reply(tool_calls=[Call(name, args, f"call_{n}")]) for n, (name, args) in enumerate(calls)]
        llm_server.script(Reply(text=choice), *tools, Reply(text=answer))
        rules = [part for rule in permit for part in ("--permit", rule)]
        return skillkit_cli("run", *wire, *rules, words).ok()

    return run
