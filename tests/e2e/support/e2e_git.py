"""Git in the folders of tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *args: str) -> str:
    """Run git as Ann, and give what it printed."""
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True).stdout
