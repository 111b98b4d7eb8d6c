"""Runs the README's two commands, the first two fenced `sh` blocks, as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run both blocks; the exit status is the first that is not 0."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    for block in blocks[:2]:
        print("$ " + block.strip().replace("\n", "\n$ "), flush=True)
        done = subprocess.run(["bash", "-eu", "-c", block], cwd=ROOT)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
