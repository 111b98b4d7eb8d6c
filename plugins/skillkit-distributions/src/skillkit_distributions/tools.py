"""The programs that build and install: uv where it is there, else pip of this Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from skillkit_core.cli.output import echo, style
from skillkit_core.errors import SkillKitError, UsageError

__all__ = ["Installer", "installer", "run", "step"]


def step(text: str) -> None:
    """Tell a person at a terminal what is being done."""
    if sys.stderr.isatty():
        echo(style(f"{text} ...", dim=True, stream=sys.stderr), err=True)


def run(what: str, argv: Sequence[str | Path], cwd: Path) -> str:
    """Run a program to its end, and return what it printed.

    Raises:
        SkillKitError: it failed. What it said goes to stderr.
    """
    try:
        done = subprocess.run(
            [str(word) for word in argv], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise SkillKitError(f"{what} failed: {error.strerror}", where=str(argv[0])) from None
    if done.returncode != 0:
        *more, last = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        if more:  # the last line stands in the error
            echo("\n".join(more), err=True)
        raise SkillKitError(f"{what} failed: {last}", hint=f"the command was: {' '.join(map(str, argv))}")
    return done.stdout


class Installer(NamedTuple):
    """uv or pip.

    Attributes:
        uv: how uv is called; empty: pip does it.
        links: folders with wheels to look at as well.
    """

    uv: tuple[str, ...]
    links: tuple[str, ...] = ()

    @property
    def _links(self) -> list[str]:
        return [word for link in self.links for word in ("--find-links", link)]

    def build(self, folder: Path, into: Path) -> Path:
        """Build the wheel of a project, and return its path."""
        before = {path: path.stat().st_mtime_ns for path in into.glob("*.whl")}
        argv: list[str | Path]
        if self.uv:
            argv = [*self.uv, "build", "--quiet", "--wheel", *self._links, "--out-dir", into, folder]
        else:
            argv = [
                sys.executable,
                "-P",
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                *self._links,
                "--wheel-dir",
                into,
                folder,
            ]
        run("building the wheel", argv, folder)
        made = [path for path in into.glob("*.whl") if before.get(path) != path.stat().st_mtime_ns]
        if len(made) != 1:
            raise SkillKitError(f"the build made {len(made)} wheels, not one", where=str(into))
        return made[0]

    def environment(self, place: Path, cwd: Path) -> Path:
        """Make an empty environment, and return its Python."""
        if self.uv:
            run("making an environment", [*self.uv, "venv", "--quiet", "--python", sys.executable, place], cwd)
        else:
            run("making an environment", [sys.executable, "-P", "-m", "venv", "--without-pip", place], cwd)
        return place / ("Scripts" if sys.platform == "win32" else "bin") / "python"

    def install(self, python: Path, *requirements: str | Path, cwd: Path, again: bool = False) -> None:
        """Install into the environment of ``python``. ``again``: replace what is there, without what it requires."""
        argv: list[str | Path]
        if self.uv:
            argv = [
                *self.uv,
                "pip",
                "install",
                "--quiet",
                "--python",
                python,
                *(["--reinstall", "--no-deps"] if again else []),
            ]
        else:
            force = ["--force-reinstall", "--no-deps"] if again else []
            argv = [sys.executable, "-P", "-m", "pip", "--python", python, "install", "--quiet", *force]
        run("installing", [*argv, *self._links, *requirements], cwd)


def installer(links: Sequence[str] = ()) -> Installer:
    """Return uv, else pip.

    Raises:
        UsageError: neither is there.
    """
    found = tuple(str(Path(link).resolve()) if Path(link).exists() else link for link in links)
    if program := shutil.which("uv"):
        return Installer((program,), found)
    if find_spec("uv") is not None:
        return Installer((sys.executable, "-P", "-m", "uv"), found)
    if find_spec("pip") is not None:
        return Installer((), found)
    raise UsageError("neither uv nor pip is here to build and install with", hint="pip install uv")
