"""The ten skills at the command line: a scripted model, and real files and servers on loopback behind their tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from skillkit_testkit import Call, Reply


@pytest.fixture(scope="session")
def skillkit_preload() -> Sequence[str]:
    return ("skillkit_core.cli.main", "skillkit_engines", "skillkit_openai", "aiohttp", "pydantic")


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
