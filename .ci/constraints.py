"""Keeps `constraint-dependencies` in the root pyproject.toml exact: `update` writes them, `check` compares.

uv.lock records where packages were downloaded, so it stays out of git; these versions are what makes an installation
reproducible.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^constraint-dependencies = \[\n.*?^\]\n", re.M | re.S)


def resolved() -> list[str]:
    """`name==version` of every third-party package in the lock that uv makes now."""
    subprocess.run(["uv", "lock", "--quiet"], cwd=ROOT, check=True)
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    found = {f"{p['name']}=={p['version']}" for p in lock["package"] if "registry" in p.get("source", {})}
    return sorted(found)


def main() -> int:
    """`constraints.py update | check`."""
    path = ROOT / "pyproject.toml"
    text = path.read_text()
    update = sys.argv[1:] == ["update"]
    if update:
        path.write_text(BLOCK.sub("", text))
        (ROOT / "uv.lock").unlink(missing_ok=True)
    try:
        wanted = resolved()
    except subprocess.CalledProcessError:
        path.write_text(text)
        return 1
    if not update:
        have = tomllib.loads(text)["tool"]["uv"].get("constraint-dependencies", [])
        for line in sorted(set(wanted) ^ set(have)):
            print(f"{'missing' if line in wanted else 'not used'}: {line}")
        return int(set(wanted) != set(have))
    lines = "".join(f'  "{w}",\n' for w in wanted)
    anchor = "[tool.uv]\n"
    path.write_text(BLOCK.sub("", text).replace(anchor, f"{anchor}constraint-dependencies = [\n{lines}]\n"))
    print(f"{len(wanted)} constraints")
    return 0


if __name__ == "__main__":
    sys.exit(main())
