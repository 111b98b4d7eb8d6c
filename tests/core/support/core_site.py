"""A directory of installed distributions, and the command line over it, for the tests of host, settings and cli."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from core_fork import Forker

from skillkit_core import Host

REQUIRED = (
    "skillkit_core", "click", "pluggy", "pydantic", "pydantic_core", "annotated_types", "typing_extensions",
    "typing_inspection", "yaml", "_yaml",
)  # fmt: skip


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Site:
    """A directory of installed distributions, made file by file as an installer would leave them."""

    def __init__(self, tmp: Path, libraries: Path, forker: Forker | None = None) -> None:
        self.forker = forker
        self.path = tmp / "site"
        self.home = tmp / "home"
        self.cwd = tmp / "project"
        self.libraries = libraries
        for folder in (self.path, self.home / "config", self.cwd):
            folder.mkdir(parents=True)

    def plugin(
        self, name: str, source: str = "", *, distribution: str = "", version: str = "1.0", module: str = "",
        at: Path | None = None,
    ) -> None:  # fmt: skip
        """Install a distribution with one plugin; ``source`` is its module."""
        distribution = distribution or f"acme-{name}"
        module = module or f"{distribution}_{name}".replace("-", "_")
        where = at or self.path
        head = "from skillkit_core import hookimpl\nfrom skillkit_core.descriptors import *\n"
        (where / f"{module}.py").write_text(head + textwrap.dedent(source))
        self.metadata(distribution, version, f"[skillkit.plugins]\n{name} = {module}\n", at=at)

    def metadata(self, distribution: str, version: str, entry_points: str, *, at: Path | None = None) -> Path:
        folder = (at or self.path) / f"{distribution.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (folder / "entry_points.txt").write_text(entry_points)
        return folder

    def distribution(self, name: str, text: str, *, version: str = "1.0") -> Path:
        """Install a distribution of plugins; ``text`` is its ``distribution.yaml`` after the head."""
        package = f"dist_{name.replace('-', '_')}"
        (self.path / package).mkdir()
        file = self.path / package / "distribution.yaml"
        file.write_text(f"schema_version: 1\nname: {name}\n" + textwrap.dedent(text))
        self.metadata(f"house-{name}", version, f"[skillkit.distributions]\n{name} = {package}\n")
        return file

    def config(self, text: str) -> Path:
        """Write the user's ``config.yaml``."""
        file = self.home / "config" / "config.yaml"
        file.write_text(textwrap.dedent(text))
        return file

    def env(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "SKILLKIT_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([str(self.libraries), str(self.path)]),
            "PYTHONPYCACHEPREFIX": str(self.libraries / "bytecode"),
            **more,
        }

    def argv(self, *arguments: str) -> list[str]:
        """The command line in a Python that sees the core, what it needs, and this site; nothing else."""
        return [sys.executable, "-S", "-m", "skillkit_core", *arguments]

    def run(self, *arguments: str, cwd: Path | None = None, **env: str) -> Done:
        """Run a command line to its end."""
        if self.forker is not None and not any(name.startswith("PYTHON") for name in env):
            return Done(*self.forker.run(arguments, cwd or self.cwd, self.env(**env)))
        done = subprocess.run(
            self.argv(*arguments), cwd=cwd or self.cwd, env=self.env(**env), capture_output=True, text=True, timeout=60
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the core and what it needs, so that plugins of the environment do not count."""
    folder = tmp_path_factory.mktemp("libraries")
    for name in REQUIRED:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        origin = origin.parent if origin.name == "__init__.py" else origin
        (folder / origin.name).symlink_to(origin)
    return folder


@pytest.fixture(scope="session")
def forker(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forker | None]:
    """What forks the processes of command lines, where processes fork safely."""
    if sys.platform != "linux":
        yield None
        return
    folder = tmp_path_factory.mktemp("forker")
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(libraries)}
    made = Forker({**env, "PYTHONPYCACHEPREFIX": str(libraries / "bytecode")}, folder)
    yield made
    made.close()


@pytest.fixture
def site(tmp_path: Path, libraries: Path, forker: Forker | None) -> Site:
    return Site(tmp_path, libraries, forker)


@pytest.fixture
def make_host(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Host]]:
    """Makes hosts in this process that see the plugins of ``site`` and nothing else."""
    outside = [p for p in sys.path if p and "site-packages" not in p]
    modules = set(sys.modules)
    made: list[Host] = []

    def make(distribution: str | None = None, **options: Any) -> Host:
        monkeypatch.setattr(sys, "path", [str(site.path), str(site.libraries), *outside])
        importlib.invalidate_caches()
        environ = {"SKILLKIT_HOME": str(site.home), "HOME": str(site.home), **options.pop("environ", {})}
        host = Host(distribution, **{"cwd": site.cwd, "environ": environ, **options})
        made.append(host)
        return host

    yield make
    for host in reversed(made):
        host.close()
    for name in set(sys.modules) - modules:
        if str(site.path) in str(getattr(sys.modules[name], "__file__", "") or ""):
            del sys.modules[name]
