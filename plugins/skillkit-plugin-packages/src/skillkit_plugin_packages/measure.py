"""What plugins cost every command: ``python -m skillkit_plugin_packages.measure FILE [NAME ENTRY_POINT]...``.

Beside a host without plugins that has listed its commands: milliseconds of CPU time until the plugin is imported, registered and
asked for its commands, and modules that were imported for it. Each measurement is a process that is forked; the first one
compiles the plugin's modules, and the shortest counts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from skillkit_core import Host

ROUNDS = 4


def main() -> None:
    """Measure each plugin, and write the numbers by its name; a plugin that fails has none."""
    file, *words = sys.argv[1:]
    host = Host(discover=False)
    _ = host.commands
    found = {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        rounds = [one for one in (_forked(host, name, value) for _ in range(ROUNDS)) if one is not None]
        found[name] = min(rounds, key=lambda one: one["milliseconds"]) if rounds else None
    Path(file).write_text(json.dumps(found))


def _forked(host: Host, name: str, value: str) -> dict[str, Any] | None:
    """Return what a forked process measures."""
    reading, writing = os.pipe()
    if not os.fork():
        try:
            os.write(writing, json.dumps(_measured(host, name, value)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:  # noqa: PTH123 - a descriptor
        said = answer.read()
    os.wait()
    return json.loads(said) if said else None


def _measured(host: Host, name: str, value: str) -> dict[str, Any]:
    modules, started = len(sys.modules), time.process_time()
    module, _, attribute = value.partition(":")
    plugin = import_module(module)
    host.add_plugin(attrgetter(attribute)(plugin) if attribute else plugin, name=name)
    _ = host.commands
    spent = round(1000 * (time.process_time() - started), 1)
    return {"milliseconds": spent, "modules": len(sys.modules) - modules}


if __name__ == "__main__":
    main()
