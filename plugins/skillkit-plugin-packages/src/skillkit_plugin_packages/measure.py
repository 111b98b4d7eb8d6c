"""What a plugin costs every command: ``python -m skillkit_plugin_packages.measure FILE NAME ENTRY_POINT``.

Beside a host without plugins that has listed its commands: milliseconds of CPU time until this plugin is imported, registered and
asked for its commands, and modules that were imported for it.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from skillkit_core import Host


def main() -> None:
    """Measure, and write the numbers."""
    file, name, value = sys.argv[1:]
    host = Host(discover=False)
    _ = host.commands
    modules, started = len(sys.modules), time.process_time()
    module, _, attribute = value.partition(":")
    plugin = import_module(module)
    host.add_plugin(attrgetter(attribute)(plugin) if attribute else plugin, name=name)
    _ = host.commands
    spent = round(1000 * (time.process_time() - started), 1)
    Path(file).write_text(json.dumps({"milliseconds": spent, "modules": len(sys.modules) - modules}))


if __name__ == "__main__":
    main()
