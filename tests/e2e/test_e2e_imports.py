"""What an application keeps when it imports every module of every plugin: its own loggers."""

import json
import subprocess
import sys

import pytest

LOOK = """
import importlib, json, logging, pkgutil, sys
def state():
    known = {name: one for name, one in logging.root.manager.loggerDict.items() if isinstance(one, logging.Logger)}
    known[""] = logging.root
    return {n: (o.level, len(o.handlers), len(o.filters), o.propagate, o.disabled) for n, o in known.items()}
for name in ("client", "server", "mcp", "httpx", "asyncio", "app"):
    logging.getLogger(name)
before = state()
failed = []
for package in sorted(m.name for m in pkgutil.iter_modules() if m.name.startswith("skillkit_")):
    if package.endswith("bundled"):
        continue
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, package + "."):
        if module.name.endswith("__main__") or ".attacks" in module.name:
            continue
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            failed.append(f"{module.name}: {error}")
after = state()
print(json.dumps({"changed": {n: (was, after[n]) for n, was in before.items() if after[n] != was}, "failed": failed}))
"""


@pytest.mark.slow  # imports every module of every plugin anew; by day the tests of each plugin import them
def test_importing_the_plugins_changes_no_logger_of_the_application():
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"changed": {}, "failed": []}
