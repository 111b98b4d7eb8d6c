"""What the checker of the data of bundles asks for, through the packages as they run: bundles, marketplaces, hooks, commands.

``python ../shared/bundles/check.py "python bundles.py"`` from this folder. One JSON object a line in, one a line out.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import skillkit_bash.plugin
import skillkit_bundles.plugin
import skillkit_files.plugin
import skillkit_permissions.plugin
import skillkit_skills.plugin
from skillkit_bundles import (
    Bundle,
    Problem,
    agent_fields,
    command_named,
    expand,
    read_bundle,
    read_marketplace,
    variables_of,
)

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.errors import SkillKitError

PLUGINS = (
    ("skills", skillkit_skills.plugin),
    ("bash", skillkit_bash.plugin),
    ("files", skillkit_files.plugin),
    ("permissions", skillkit_permissions.plugin),
    ("bundles", skillkit_bundles.plugin),
)


def _problems(problems: tuple[Problem, ...]) -> list[dict[str, str]]:
    return [{"where": one.where, "what": f"{one.what} ({one.code})"} for one in problems]


def bundle(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reader of one host finds in a folder."""
    host = request["host"]
    read = read_bundle(Path(request["root"]), host, name=request.get("name_hint") or "", entry=request.get("entry"))
    found = read.bundle
    if found is None:
        return {"loads": False, "problems": _problems(read.problems)}
    return {
        "loads": True,
        "name": found.name,
        "skills": [one.name for one in found.skills],
        "commands": [one.name for one in found.commands],
        "agents": [one.name for one in found.agents],
        "hooks": [{"event": one.written, "matcher": one.matcher, "type": one.type} for one in found.hooks],
        "mcp": [one.name for one in found.servers],
        "kinds": [one.kind for one in found.parts if one.supported],
        "unsupported": [one.kind for one in found.parts if not one.supported],
        "enabled": found.default_enabled,
        "problems": _problems(read.problems),
    }


def marketplace(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file of a marketplace lists."""
    found = read_marketplace(Path(request["file"]), request["host"])
    plugins = []
    for one in found.plugins:
        row: dict[str, Any] = {"name": one.name, "strict": one.strict, "default_enabled": one.default_enabled}
        row |= {"version": one.version} if one.version else {}
        plugins.append(row | ({"refused": one.refused} if one.refused else {"source": one.source}))
    return {
        "loads": found.loads,
        "name": found.name or None,
        "plugins": plugins,
        "renames": dict(found.renames),
        "problems": _problems(found.problems),
    }


def _bundle(request: Mapping[str, Any]) -> tuple[Bundle, dict[str, str]]:
    plugin = request["plugin"]
    found = read_bundle(Path(plugin["root"]), "claude", name=plugin["name"]).bundle
    if found is None:
        raise ValueError("the plugin does not load")
    data, project = Path(plugin["data"]), Path(request["project"])
    return found, variables_of(found.root, data, project, request.get("session_id"))


async def command(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model gets when a command is called."""
    found, variables = _bundle(request)
    environ = {"SKILLKIT_HOME": request["home"], "HOME": request["home"], "PATH": "/usr/local/bin:/usr/bin:/bin"}
    settings = {"permissions": request["rules"], "bundles": {"dirs": [request["plugin"]["root"]]}}
    host = Host(environ=environ, cwd=Path(request["project"]), discover=False, plugins=PLUGINS, settings=settings)
    try:
        async with AgentRunner(AgentConfig(cwd=Path(request["project"])), host=host) as agent:
            done = await expand(
                agent, command_named(found, request["command"]), request["args"], variables, by=request["by"],
                trusted=request["trusted"], shell=not request["shell_off"], timeout=request["shell_timeout"],
            )  # fmt: skip
    except SkillKitError as error:
        return {"error": str(error), "ran": []}
    finally:
        await host.aclose()
    return {
        "text": done.text,
        "attachments": list(done.attachments),
        "ran": list(done.ran),
        "allowed_tools": list(done.allowed),
        "disallowed_tools": list(done.disallowed),
        "model": done.model,
        "grants": list(done.grants),
    }


def agent(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file of an agent says."""
    found, variables = _bundle(request)
    one = next(one for one in found.agents if one.file == request["file"])
    said = agent_fields(one.path.read_bytes(), one.name, one.path, "acme", variables)
    return {
        "name": said["name"],
        "tools": None if said["tools"] is None else list(said["tools"]),
        "disallowed": list(said["denied"]),
        "model": said["model"],
        "max_turns": said["turns"],
        "skills": list(said["skills"]),
        "prompt": said["prompt"],
        "problems": [{"where": one.file, "what": text} for text in said["problems"]] + _problems(found.problems),
    }


async def hook(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what hooks make of an event: the module beside this one answers, where the package that runs hooks is there."""
    if importlib.util.find_spec("bundles_hooks") is None:
        return {"error": "skillkit-shell-hooks is not here"}
    import bundles_hooks

    return await bundles_hooks.hook(request)


ANSWERS = {"bundle": bundle, "marketplace": marketplace, "command": command, "agent": agent, "hook": hook}


def main() -> None:
    """Answer until the input ends; a failure is an answer."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = ANSWERS[request["op"]](request)
            if asyncio.iscoroutine(answer):
                answer = asyncio.run(answer)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({**answer, "id": request["id"]}), flush=True)


if __name__ == "__main__":
    main()
