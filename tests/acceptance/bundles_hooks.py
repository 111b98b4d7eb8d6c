"""What hooks make of one event, for the checker of the data of bundles."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import skillkit_permissions.plugin
import skillkit_shell_hooks.plugin
from skillkit_shell_hooks import UNSAID, Surroundings, hooks_of, run_hooks

from skillkit_core import Host

PLUGINS = (("permissions", skillkit_permissions.plugin), ("shell-hooks", skillkit_shell_hooks.plugin))


async def hook(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the hooks of a request say of its event."""
    project, cwd, plugin = Path(request["project"]), Path(request["cwd"]), request["plugin"]
    environ = {**os.environ, "HOME": request["home"], "SKILLKIT_HOME": request["home"]}
    host = Host(environ=environ, cwd=project, discover=False, plugins=PLUGINS)
    check = host.registry("rule_checks").get("permissions")
    beside: list[asyncio.Task[Any]] = []

    def later(work: Awaitable[Any]) -> None:
        beside.append(asyncio.ensure_future(work))

    around = Surroundings(
        cwd, project, environ, closed=request["policy"] == "closed", later=later,
        judge=lambda rule, said: check(rule, said["tool_name"], said["tool_input"], {}, cwd),
    )  # fmt: skip
    hooks = hooks_of(request["hooks"], origin=f"bundle:{plugin['name']}" if plugin else "project", plugin=plugin)
    said = await run_hooks(hooks, request["event"], request["input"], around)
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    await host.aclose()
    return {
        "decision": said.decision,
        "reason": said.reason,
        "input": None if said.input is UNSAID else said.input,
        "output": None if said.output is UNSAID else said.output,
        "context": [text for _, text in said.context],
        "messages": [text for _, text in said.messages],
        "stop": said.stop is not None,
        "ran": said.ran,
        "failures": len(said.failures),
        "permissions": [],
    }
