"""What the checker of the data of bundles asks for, through the packages as they run: bundles, marketplaces, hooks, commands.

``python ../shared/bundles/check.py "python bundles.py"`` from this folder. One JSON object a line in, one a line out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillkit_bundles import Problem, read_bundle, read_marketplace


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


ANSWERS = {"bundle": bundle, "marketplace": marketplace}


def main() -> None:
    """Answer until the input ends; a failure is an answer."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = ANSWERS[request["op"]](request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({**answer, "id": request["id"]}), flush=True)


if __name__ == "__main__":
    main()
