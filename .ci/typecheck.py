"""`mypy --strict` on the core, on every plugin, and on every skill's scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MYPY = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]


def main() -> int:
    """0 when everything is typed."""
    sources = [str(p) for p in sorted(ROOT.glob("plugins/*/src")) if any(p.rglob("*.py"))]
    env = {**os.environ, "MYPYPATH": os.pathsep.join([str(ROOT), *sources])}
    worst = subprocess.run([*MYPY, "skillkit_core", *sources], cwd=ROOT, env=env).returncode
    for scripts in sorted(ROOT.glob("skills/skillkit_bundled/*/scripts")):
        files = [p.name for p in sorted(scripts.glob("*.py"))]  # folders with hyphens are no packages: one run each
        done = subprocess.run([*MYPY, "--no-error-summary", *files], cwd=scripts, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
