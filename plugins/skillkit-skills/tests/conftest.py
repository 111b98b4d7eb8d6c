"""What the tests of this plugin share: the conformance data, a real runtime, and a host of value types."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from skillkit_bash import BashRuntime
from skillkit_skills.settings import Settings

from skillkit_core import ConfigSection, Layer
from skillkit_core.host.registry import Registry
from skillkit_core.host.skills import SkillRegistry
from skillkit_core.settings.config import Config


@pytest.fixture
def shared(shared_data: Path) -> Path:
    """The folder with the conformance corpora of skills."""
    return shared_data / "skills"


@pytest.fixture
def table(shared: Path) -> Callable[[str], list[dict[str, Any]]]:
    """The rows of a behaviour table; never an empty list."""

    def load(name: str) -> list[dict[str, Any]]:
        cases = yaml.safe_load((shared / "behaviour" / f"{name}.yaml").read_text(encoding="utf-8"))["cases"]
        assert cases
        return cases

    return load


class RecordingRuntime(BashRuntime):
    """The real runtime, which also keeps what it was asked to run."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[dict[str, Any]] = []

    async def execute(self, command, cwd=None, env=None, timeout=None, on_output=None, **kwargs):
        assert not isinstance(command, str), "an action must never be a shell command"
        self.calls.append({"argv": list(command), "cwd": cwd, "env": dict(env or {}), "timeout": timeout})
        return await super().execute(command, cwd, env, timeout, on_output, **kwargs)


@dataclass
class PlainConfig:
    """The configuration of a host, with a validated section when something is set."""

    data: dict[str, Any] = field(default_factory=dict)

    def section(self, name: str, default: Any) -> Any:
        assert name == "skills"
        sections = {"skills": ConfigSection("skills", Settings)}
        return Config([Layer("user", self.data)], lambda: sections).section(name, default)


@dataclass(eq=False)
class PlainHost:
    """What this plugin uses of a host."""

    cwd: Path
    config_dir: Path
    cache_dir: Path
    environ: dict[str, str]
    config: PlainConfig = field(default_factory=PlainConfig)
    withheld: list[str] | None = None
    entries: tuple[Any, ...] = ()
    distribution: None = None
    runtime: RecordingRuntime = field(default_factory=RecordingRuntime)
    skills: SkillRegistry = field(default_factory=SkillRegistry)
    skill_problems: list[Any] = field(default_factory=list)
    runtimes: Registry[Any] = field(default_factory=Registry)
    skill_sources: Registry[Any] = field(default_factory=Registry)
    tools: Registry[Any] = field(default_factory=Registry)
    notes: list[str] = field(default_factory=list)
    kinds: tuple[str, ...] = ()

    states: dict[str, dict[str, Any]] = field(default_factory=dict)

    def state(self, plugin: str) -> dict[str, Any]:
        return self.states.setdefault(plugin, {})

    def registry(self, kind: str) -> Registry[Any]:
        """The commands of the authors' tools."""
        from skillkit_skill_tools import plugin

        assert kind == "skill_commands"
        found: Registry[Any] = Registry()
        plugin.register_skill_commands(lambda command: found.register(command.name, command))
        return found

    def impls(self, hook: str) -> list[Any]:
        return []

    def note(self, plugin: str, message: str, *, stage: str = "note", remedy: str = "") -> None:
        self.notes.append(message)

    def __post_init__(self) -> None:
        self.runtimes.register("bash", self.runtime)

    async def find_runtime(self, name: str | None = None) -> RecordingRuntime:
        return self.runtime

    def secret(self, name: str) -> str | None:
        return self.environ.get(name)

    async def find_secret(self, name: str) -> str | None:
        return self.secret(name)

    def take(self, *folders: Path, kind: str = "user") -> PlainHost:
        """Load the skills of directories, as the host does."""
        from skillkit_skills.loader import SkillFolderLoader

        from skillkit_core.contracts.skill_loader import SkillSource

        loader = SkillFolderLoader(self)  # type: ignore[arg-type]
        for folder in folders:
            source = SkillSource(f"{kind}:{folder.name}", kind, folder)  # type: ignore[arg-type]
            self.skill_sources.register(source.name, source)
            found = loader.load(source)
            self.skill_problems += [(source.name, p) for p in found.problems]
            for skill in found.skills:
                self.skills.register(skill.name, skill, source.name)
        return self


@pytest.fixture
def host(tmp_path: Path) -> PlainHost:
    """A host whose workspace and home are empty."""
    for name in ("work", "home", "config"):
        (tmp_path / name).mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    return PlainHost(tmp_path / "work", tmp_path / "config", tmp_path / "cache", environ)
