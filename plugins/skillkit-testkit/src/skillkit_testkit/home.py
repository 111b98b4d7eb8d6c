"""An empty home: directories of its own, and no key, endpoint or setting from the machine that runs the tests."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["Home", "install", "isolate"]

_FOREIGN = re.compile(
    r"(SKILLKIT|ANTHROPIC|OPENAI|AZURE_OPENAI|GEMINI|GOOGLE|MISTRAL|DEEPSEEK|GROQ|XAI|MINIMAX|OPENROUTER|OTEL)_"
    r"|.*(_API_KEY|_TOKEN|_SECRET|_BASE_URL|_API_BASE)\Z"
    r"|(?:https?|all|no)_proxy\Z|trace(?:parent|state)\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Home:
    """Where an isolated test lives.

    Attributes:
        path: the home directory. cwd: the project, the current directory.
        config_dir, data_dir, cache_dir: SkillKit's own; they exist.
    """

    path: Path
    cwd: Path
    config_dir: Path
    data_dir: Path
    cache_dir: Path

    def write_config(self, text: str) -> Path:
        """Write the user's ``config.yaml``."""
        path = self.config_dir / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path


def isolate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Make an empty home in ``tmp_path`` and point this process to it."""
    home, cwd, own = tmp_path / "home", tmp_path / "project", tmp_path / "home" / ".skillkit"
    made = Home(home, cwd, own / "config", own / "data", own / "cache")
    for path in (cwd, made.config_dir, made.data_dir, made.cache_dir):
        path.mkdir(parents=True)
    for name in os.environ:
        if _FOREIGN.match(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv(
        "PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring"
    )  # nothing asks for the machine's keyring
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("SKILLKIT_HOME", str(own))
    for kind, place in {
        "CONFIG": ".config",
        "DATA": ".local/share",
        "CACHE": ".cache",
        "STATE": ".local/state",
    }.items():
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / place))
    monkeypatch.chdir(cwd)
    return made


def install(home: Home, name: str, module: Path) -> Path:
    """Install a module as the plugin ``name``, version 1.0; return the folder that must be on the path of Python."""
    site = home.path / "site"
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(module, site)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[skillkit.plugins]\n{name} = {module.stem}\n")
    return site
