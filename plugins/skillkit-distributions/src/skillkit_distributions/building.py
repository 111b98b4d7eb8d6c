"""A distribution is built: its wheel, with the lock of everything that the wheel brings into an empty environment."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from skillkit_core.errors import ConfigError, SkillKitError, UsageError
from skillkit_core.host.discovery import DISTRIBUTIONS, PLUGINS, EntryPoint, package_tables, scan
from skillkit_core.host.lock import LOCK, digest, is_content

from . import locking
from .project import Project
from .tools import Installer, run, step

__all__ = ["Built", "build", "bundle"]


class Built(NamedTuple):
    """What a build made.

    Attributes:
        wheel: path of the wheel.
        lock: path of the lock beside the wheel; ``None``: there is none.
        requirements: path of the file with the pinned versions; ``None``: there is none.
        content: the lock.
    """

    wheel: Path
    lock: Path | None = None
    requirements: Path | None = None
    content: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it


def build(project: Project, into: Path, tools: Installer, *, locked: bool = True, keep: Path | None = None) -> Built:
    """Build the wheel of a distribution, and lock it.

    The wheel is installed into an empty environment, where every plugin must load. What is installed there is what the lock
    pins. The lock goes into the package, beside ``distribution.yaml``, and the wheel is built again with it.

    Args:
        into: folder of the wheel.
        locked: write a lock.
        keep: where the environment is made, and left; default: a temporary folder.

    Raises:
        SkillKitError: a tool failed, or a plugin does not load.
    """
    into.mkdir(parents=True, exist_ok=True)
    step("Building the wheel")
    wheel = tools.build(project.folder, into)
    if not locked and keep is None:
        return Built(wheel)
    with TemporaryDirectory(prefix="skillkit-dist-") as temporary:
        place = keep or Path(temporary, "environment")
        step(f"Installing {wheel.name} into an empty environment")
        python = tools.environment(place, project.folder)
        tools.install(python, wheel, cwd=project.folder)
        if not locked:
            return Built(wheel)
        check_dependencies(project, scan([str(path) for path in place.glob("[Ll]ib*/**/site-packages")]))
        step("Loading its plugins, and writing the lock")
        made = Path(temporary, LOCK)
        _lock(python, project, made)
        inside = project.file.with_name(LOCK)
        shutil.copyfile(made, inside)
        step("Building the wheel with its lock")
        wheel = tools.build(project.folder, into)
        if keep is not None:
            tools.install(python, wheel, cwd=project.folder, again=True)
    content: dict[str, Any] = json.loads(inside.read_text("utf-8"))
    _check(wheel, project, content)
    shutil.copyfile(inside, into / LOCK)
    pins = [f"{name}=={one['version']}" for name, one in content["packages"].items()]
    (into / "requirements.txt").write_text("\n".join(pins) + "\n", encoding="utf-8")
    return Built(wheel, into / LOCK, into / "requirements.txt", content)


def check_dependencies(project: Project, brought: Sequence[EntryPoint]) -> None:
    """Make sure that what the distribution names comes with what its package requires.

    Args:
        brought: the entry points in an environment with the wheel alone.

    Raises:
        ConfigError: it does not. The error says which line of ``pyproject.toml`` is missing.
    """
    there = {(entry.group, entry.name) for entry in brought}
    wanted = [(DISTRIBUTIONS, name, "extends the distribution") for name in project.extends]
    wanted += [(PLUGINS, name, "lists the plugin") for name in project.plugins]
    if not (missing := [one for one in wanted if one[:2] not in there]):
        return
    entries = scan()
    add, unknown = [], []
    for group, name, _ in missing:
        own = [e.distribution for e in entries if (e.group, e.name) == (group, name)]
        kind = group.partition(".")[2]
        known = [p for table in package_tables(entries) for p, brings in table.items() if name in brings.get(kind, ())]
        add.append(next(iter([*own, *known]), None)) if own or known else unknown.append(name)
    lines = ", ".join(f'"{package}"' for package in dict.fromkeys(add))
    hint = f"add {lines} to project.dependencies" if lines else ""
    if unknown:
        more = f"the package that brings {', '.join(map(repr, unknown))}"
        hint = f"{hint}, and {more}" if hint else f"add {more} to project.dependencies"
    (_, name, what), rest = missing[0], len(missing) - 1
    more = f", and {rest} more that are missing" if rest else ""
    message = f"{project.file.name} {what} {name!r}{more}, which nothing brings that the package requires"
    raise ConfigError(message, where=str(project.folder / "pyproject.toml"), hint=hint)


def _lock(python: Path, project: Project, file: Path) -> None:
    """Write the lock of an environment, with the core that is in it."""
    argv = [str(python), "-I", locking.__file__, project.name, str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise SkillKitError(re.sub(r"\S+/distribution\.yaml", lambda _: str(project.file), said))


def _check(wheel: Path, project: Project, lock: dict[str, Any]) -> None:
    """Make sure that the wheel holds the lock, and otherwise the files that the lock pins."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = csv.reader(io.StringIO(archive.read(record).decode()))
        files = dict(sorted((row[0], row[1]) for row in rows if row[1] and is_content(row[0])))
    if not any(name.endswith(f"/{LOCK}") for name in names):
        hint = "let the build backend take all files of the package into the wheel"
        raise SkillKitError(f"{LOCK} is not in the wheel", where=str(wheel), hint=hint)
    if digest(files) != lock["packages"][project.package]["digest"]:
        hint = "build it from files that do not change meanwhile"
        raise SkillKitError("the second build has other files than the first one", where=str(wheel), hint=hint)


def bundle(project: Project, wheel: Path, environment: Path, output: Path, tools: Installer) -> None:
    """Make one file of the packages in an environment; it needs a Python of the same version and platform, and nothing else.

    `pex <https://docs.pex-tool.org>`_ makes it. The file unpacks itself when it is first run, so that packages with compiled
    parts work, and programs that it starts find the same packages.

    Raises:
        UsageError: there is no pex, or the distribution has no command.
    """
    if project.command is None:
        where, hint = str(project.folder / "pyproject.toml"), "'skillkit dist new' writes [project.scripts] with one"
        raise UsageError("the distribution has no command", where=where, hint=hint)
    output.parent.mkdir(parents=True, exist_ok=True)
    step(f"Packing {output.name}")
    requirement = f"{project.package}=={project.version}"
    how: list[str | Path] = ["--venv-repository", environment, "--venv", "prepend", "--venv-site-packages-copies"]
    argv = [*_pex(tools), requirement, *how, "--console-script", project.command, "--output-file", output]
    run("packing", argv, project.folder)


def _pex(tools: Installer) -> Sequence[str]:
    if find_spec("pex") is not None:
        return (sys.executable, "-m", "pex")
    if tools.uv:
        return (*tools.uv, "tool", "run", "--python", sys.executable, "pex")
    raise UsageError("pex makes the file, and is not here", hint="pip install 'skillkit-distributions[bundle]'")
