"""Bundles that tests write, and repositories of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def bundle(root: Path, name: str | None = "acme", files: dict[str, Any] | None = None, **manifest: Any) -> Path:
    """Write a bundle of Claude Code; ``name=None``: without a manifest. A file is a text, or JSON."""
    if name is not None:
        files = {".claude-plugin/plugin.json": {"name": name, **manifest}, **(files or {})}
    for path, content in (files or {}).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content if isinstance(content, str) else json.dumps(content))
        if content and isinstance(content, str) and content.startswith("#!"):
            place.chmod(0o755)
    return root


def hooks(event: str = "PreToolUse", command: str = "true", matcher: str = "", **more: Any) -> dict[str, Any]:
    """Return the content of a file of hooks with one handler."""
    return {"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]}}


def skill(name: str, body: str = "Do it.") -> str:
    """Return a SKILL.md."""
    return f"---\nname: {name}\ndescription: The skill {name}. Use it for tests.\n---\n\n{body}\n"


def git(*args: str, cwd: Path) -> str:
    """Return what git prints."""
    argv = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always", *args]
    return subprocess.run(argv, cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def commit(place: Path, message: str = "more") -> str:
    """Commit everything in a folder, which becomes a repository; return the commit."""
    if not (place / ".git").exists():
        git("init", "-q", "-b", "main", ".", cwd=place)
    git("add", "-A", cwd=place)
    git("commit", "-q", "-m", message, cwd=place)
    return git("rev-parse", "HEAD", cwd=place)
