"""SkillKit as strangers get it: wheels of every package, empty folders, fresh environments, their own package manager.

``wheelhouse`` holds the wheels. ``outside`` is an empty place of one test: a home, a folder to work in, and an environment for
processes in which pip and uv find the wheels, and nothing of the checkout is on a path. ``run`` runs a command there, ``venv``
makes an environment, ``release`` publishes a package that the test has written.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
UV = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
TIMEOUT = 300.0  # an installation with a cold cache
OURS = ("SKILLKIT_", "PYTHON", "VIRTUAL_ENV", "UV_NO_SYNC", "PYTEST_", "XDG_", "CONDA_", "PIPX_")


def build(folder: Path, into: Path, *options: str) -> None:
    """Build the wheel of a project."""
    argv = [UV, "build", "--quiet", "--wheel", *options, "-o", str(into)]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of all packages; ``SKILLKIT_WHEELHOUSE`` names one that is there."""
    if given := os.environ.get("SKILLKIT_WHEELHOUSE"):
        return Path(given).resolve()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    house = shared / "wheelhouse"
    with (shared / "wheelhouse.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not house.exists():
            build(ROOT, shared / "wheels", "--all-packages")
            (shared / "wheels").rename(house)
    return house


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    def ok(self) -> Done:
        """Return the result, if the command ended with 0; else fail with what it printed."""
        assert self.status == 0, str(self)
        return self

    def fails(self, status: int = 2) -> Done:
        """Return the result, if the command ended with ``status`` and without a traceback."""
        assert self.status == status and "Traceback" not in self.stderr, str(self)
        return self

    @property
    def json(self) -> Any:
        """Standard output, parsed."""
        return json.loads(self.ok().stdout)

    def __str__(self) -> str:
        return f"$ {' '.join(self.argv)}\n{self.stdout}{self.stderr}ended with {self.status}"


@dataclass
class Outside:
    """An empty place.

    Attributes:
        root: the place.
        wheelhouse: the wheels of all packages.
        home: the home folder of processes; ``home / "skillkit"`` is where SkillKit keeps its files.
        work: the folder in which commands run.
        index: the folder of wheels that the test has released.
        env: the environment variables of processes.
    """

    root: Path
    wheelhouse: Path
    env: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.home, self.work, self.index = self.root / "home", self.root / "work", self.root / "index"
        for folder in (self.home, self.work, self.index):
            folder.mkdir()
        constraints = self.root / "constraints.txt"
        pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]
        constraints.write_text("\n".join(pins))
        links = [str(self.wheelhouse), str(self.index)]
        cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
        path = [p for p in os.environ["PATH"].split(os.pathsep) if not p.startswith(str(ROOT))]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        self.env = {
            **inherited,
            "HOME": str(self.home),
            "SKILLKIT_HOME": str(self.home / "skillkit"),
            "PATH": os.pathsep.join([str(self.home / ".local" / "bin"), *path, str(Path(UV).parent)]),
            "UV_CACHE_DIR": cache,
            "UV_FIND_LINKS": ",".join([*links, *filter(None, [inherited.get("UV_FIND_LINKS")])]),
            "UV_CONSTRAINT": str(constraints),
            "UV_NO_PROGRESS": "1",
            "PIP_FIND_LINKS": " ".join([*links, *filter(None, [inherited.get("PIP_FIND_LINKS")])]),
            "PIP_CONSTRAINT": str(constraints),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NO_COLOR": "1",
            # The first import in a fresh environment compiles; beside other tests that takes its time.
            "SKILLKIT_PLUGINS__IMPORT_TIMEOUT": "60",
            **self.env,
        }

    def run(
        self,
        *argv: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str = "",
        timeout: float = TIMEOUT,
    ) -> Done:
        """Run a command to its end, in ``work`` or ``cwd``. ``uv`` is on the path."""
        words = tuple(str(word) for word in argv)
        environ = {**self.env, **(env or {})}
        program = shutil.which(words[0], path=environ["PATH"]) or words[0]
        done = subprocess.run(
            [program, *words[1:]],
            cwd=cwd or self.work,
            env=environ,
            input=input,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Done(words, done.returncode, done.stdout, done.stderr)

    def venv(self, *packages: str | Path, name: str = "venv", pip: bool = False) -> Environment:
        """Make an environment with packages, which ``uv`` installs from the wheels. ``pip``: pip is in it, too."""
        place = self.root / name
        self.run("uv", "venv", "--quiet", "--python", sys.executable, *(["--seed"] if pip else []), place).ok()
        environment = Environment(self, place)
        if packages:
            environment.install(*packages)
        return environment

    def release(self, folder: Path) -> Path:
        """Build the project in ``folder`` and publish its wheel, where pip and uv find it from now on."""
        before = set(self.index.iterdir())
        build(folder, self.index)
        return next(path for path in self.index.iterdir() if path not in before and path.suffix == ".whl")


@dataclass(frozen=True)
class Environment:
    """A Python environment of a test.

    Attributes:
        outside: where it is.
        place: its folder.
    """

    outside: Outside
    place: Path

    @property
    def bin(self) -> Path:
        """The folder of its programs."""
        return self.place / "bin"

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.bin / "python"

    def install(self, *packages: str | Path) -> None:
        """Install packages from the wheels."""
        self.outside.run("uv", "pip", "install", "--quiet", "--python", self.python, *packages).ok()

    def run(self, program: str, *argv: str | Path, **options: Any) -> Done:
        """Run one of its programs as from an activated environment: ``environment.run("skillkit", "doctor")``."""
        path = {"PATH": f"{self.bin}{os.pathsep}{self.outside.env['PATH']}", "VIRTUAL_ENV": str(self.place)}
        return self.outside.run(program, *argv, env={**path, **options.pop("env", {})}, **options)


@pytest.fixture
def outside(wheelhouse: Path, tmp_path: Path) -> Outside:
    """An empty place for one test."""
    root = tmp_path / "outside"
    root.mkdir()
    return Outside(root, wheelhouse)


@pytest.fixture
def run(outside: Outside) -> Callable[..., Done]:
    """``run(*argv, cwd=, env=, input=)``: a command in the empty place."""
    return outside.run


@pytest.fixture
def venv(outside: Outside) -> Callable[..., Environment]:
    """``venv(*packages, name=, pip=)``: a fresh environment in the empty place."""
    return outside.venv


@pytest.fixture
def release(outside: Outside) -> Callable[[Path], Path]:
    """``release(folder)``: the wheel of a project, where pip and uv of the empty place find it."""
    return outside.release
