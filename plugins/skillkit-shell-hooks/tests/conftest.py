"""A host with hooks, and a model that answers by script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import skillkit_shell_hooks.plugin

from skillkit_core import AgentConfig, AgentRunner, Host, RetryPolicy, Tool
from skillkit_core.testing import ScriptedModel

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "additionalProperties": False}


async def _said(args: Any, ctx: Any) -> str:
    return f"ran {args['command']}"


BASH = Tool("bash", "Run.", _said, SCHEMA)


@pytest.fixture
def stage(make_host: Callable[..., Host], skillkit_home: Any) -> Callable[..., Any]:
    """Makes an agent and its model: ``agent, model = stage("the answer", hooks={"Stop": [...]})``."""

    def make(
        *turns: Any,
        hooks: Mapping[str, Any] | None = None,
        plugins: Any = (),
        settings: Any = None,
        environ: Mapping[str, str] | None = None,
        tools: Any = (BASH,),
        **config: Any,
    ) -> tuple[AgentRunner, ScriptedModel]:
        options: dict[str, Any] = {"settings": {**({"hooks": hooks} if hooks else {}), **(settings or {})}}
        if environ is not None:
            options["environ"] = environ
        host = make_host(("shell-hooks", skillkit_shell_hooks.plugin), *plugins, **options)
        given = AgentConfig(model="any", tools=tools, retry=RetryPolicy(attempts=1), cwd=skillkit_home.cwd, **config)
        agent, model = AgentRunner(given, host=host), ScriptedModel(turns)
        agent.set_adapter(model)
        return agent, model

    return make


@pytest.fixture
def logged(skillkit_home: Any) -> Any:
    """A command that keeps what it gets on stdin, and what was kept: ``logged.command``, ``logged.seen()``."""
    file: Path = skillkit_home.cwd / "seen.jsonl"
    command = f"line=$(cat); printf '%s\\n' \"$line\" >> '{file}'"  # at once, because hooks run beside each other

    def seen(event: str | None = None) -> list[dict[str, Any]]:
        lines = file.read_text().splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines if line]
        return [row for row in rows if event in (None, row["hook_event_name"])]

    return SimpleNamespace(command=command, seen=seen)


def group(command: str, matcher: str = "", **handler: Any) -> list[dict[str, Any]]:
    """A group with one command."""
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **handler}]}]


def says(**data: Any) -> str:
    """A command that answers JSON."""
    return "cat >/dev/null; printf '%s' '" + json.dumps(data) + "'"


@pytest.fixture
def write() -> Any:
    """How hooks are written: ``write.group(command)``, ``write.says(decision="block")``."""
    return SimpleNamespace(group=group, says=says)
