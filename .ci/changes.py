"""What a change touches, so that what it touches is tested whole, and the rest by a sample."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["changed_paths", "git"]

ROOT = Path(__file__).resolve().parent.parent


def git(*args: str) -> str | None:
    """Return what git prints, or None where it fails or is not there."""
    if shutil.which("git") is None:
        return None
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def changed_paths(base: str | None) -> list[str] | None:
    """Return the paths that differ from ``base`` in the working tree, or None where no base is found."""
    if base is None:
        head = git("rev-parse", "HEAD")
        left = [git("merge-base", "HEAD", main) for main in ("origin/main", "main")]
        base = next((r for r in left if r and r != head), None) or git("rev-parse", "--verify", "--quiet", "HEAD^")
    if base is None:
        return None
    differ, new = git("diff", "--name-only", base), git("ls-files", "--others", "--exclude-standard")
    if differ is None:
        sys.exit(f"--base {base}: git knows no such revision")
    return [*differ.splitlines(), *(new or "").splitlines()]
