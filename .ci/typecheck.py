"""`mypy --strict` on the core, on every plugin, and on every skill's scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]


def mypy(*what: str, cwd: Path = ROOT, **env: str) -> int:
    """Run mypy and return its exit status."""
    return subprocess.run([sys.executable, "-m", "mypy", *CONFIG, *what], cwd=cwd, env={**os.environ, **env}).returncode


def main() -> int:
    """Return 0 when everything is typed."""
    sources = [str(p) for p in sorted(ROOT.glob("plugins/*/src")) if any(p.rglob("*.py"))]
    worst = mypy("skillkit_core", *sources, MYPYPATH=os.pathsep.join([str(ROOT), *sources]))
    for scripts in sorted(ROOT.glob("skills/skillkit_bundled/*/scripts")):
        # folders with hyphens are no packages, and their modules share names: one run each
        worst = max(worst, mypy("--no-error-summary", *sorted(p.name for p in scripts.glob("*.py")), cwd=scripts))
    return worst


if __name__ == "__main__":
    sys.exit(main())
