"""What SkillKit runs in, and the commands of its package manager: a uv tool, a uv project, pipx, or a virtual environment.

Each manager has another place where it keeps what people asked for. A package that is put in beside this place goes with the
next ``uv sync`` or ``uv tool upgrade``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from skillkit_core.cli.output import short_path
from skillkit_core.errors import SkillKitError, UsageError
from skillkit_core.host.discovery import canonical

from . import receipt
from .source import Source

PIPX = "pipx_metadata.json"
WAY_OUT = "uv tool install skillkit-default, pipx install skillkit-default, or an environment: python3 -m venv"


def apart() -> Path:
    """Return where pip, uv and pipx run: the folder that one stands in may bring a ``pip.py``, or a ``uv.toml`` with an index."""
    return Path.home()


@dataclass(frozen=True)
class Step:
    """A command of a package manager.

    Attributes:
        words: the program and its arguments.
        cwd: where it runs.
        files: content of files that it reads, by path.
    """

    words: tuple[str, ...]
    cwd: Path
    files: Mapping[Path, str] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """The words as a person types them: programs that are on the path by their name."""
        program = Path(self.words[0]).name
        found = shutil.which(program)
        same = (
            found is not None and Path(found).absolute() == Path(self.words[0]).absolute()
        )  # one link may be of a venv
        return (program if same else self.words[0], *self.words[1:])


@dataclass(frozen=True)
class Installed:
    """An installed package that is to be upgraded.

    Attributes:
        package: its normalised name.
        origin: what it was installed from, as a package manager takes it; its name where that is an index.
        editable: its folder is used in place.
    """

    package: str
    origin: str
    editable: bool = False


@dataclass(frozen=True)
class Environment:
    """The environment in which SkillKit runs. A kind of environment is a class below this one.

    Attributes:
        prefix: its folder.
        kept: a folder for files that its commands read.
    """

    prefix: Path
    kept: Path
    kind = ""

    @property
    def title(self) -> str:
        """The environment in a few words."""
        return f"the {self.kind} {short_path(str(self.prefix))}"

    @property
    def own(self) -> str | None:
        """The package that the environment is there for, and that is not removed from it."""
        return None

    def install(self, sources: Sequence[Source], editable: bool, again: Sequence[str]) -> list[Step]:
        """Return what installs ``sources``; packages ``again`` are built again, although their version has not changed."""
        raise NotImplementedError

    def uninstall(self, packages: Sequence[str]) -> list[Step]:
        """Return what removes packages."""
        raise NotImplementedError

    def upgrade(self, packages: Sequence[Installed], everything: bool = False) -> list[Step]:
        """Return what upgrades packages to what their origins have now, as far as their requirements allow.

        ``everything``: the packages are all that there are.
        """
        raise NotImplementedError

    def fetch(self, source: Source, into: Path) -> Step:
        """Return what puts a package without its dependencies into the folder ``into``."""
        words = ("pip", "install", "--quiet", "--no-deps", "--target", str(into), source.text)
        if find_spec("pip") is not None:
            return Step((sys.executable, "-P", "-m", *words), apart())
        return Step((uv(), words[0], words[1], "--python", sys.executable, *words[2:]), apart())


class UvTool(Environment):
    """A tool that ``uv tool install`` has made. Every command says all that the tool was installed with."""

    kind = "uv tool"

    @property
    def title(self) -> str:
        """The tool and its folder."""
        return f"the uv tool {self.own} ({short_path(str(self.prefix))})"

    @property
    def _receipt(self) -> receipt.Receipt:
        return receipt.read_receipt(self.prefix)

    @property
    def own(self) -> str:
        """The tool's package."""
        return self._receipt.tool

    def install(self, sources: Sequence[Source], editable: bool, again: Sequence[str]) -> list[Step]:
        """Return ``uv tool install TOOL --with EARLIER --with NEW``."""
        had = self._receipt
        wanted = dict(had.requirements)
        for source in sources:
            wanted[source.package or source.text] = ("--editable", source.text) if editable else (source.text,)
        return [self._step(had, wanted, *(word for name in again for word in ("--reinstall-package", name)))]

    def uninstall(self, packages: Sequence[str]) -> list[Step]:
        """Return ``uv tool install TOOL`` with what stays."""
        had = self._receipt
        return [self._step(had, {name: words for name, words in had.requirements.items() if name not in packages})]

    def upgrade(self, packages: Sequence[Installed], everything: bool = False) -> list[Step]:
        """Return ``uv tool upgrade``, which keeps the requirements, but cannot upgrade one package alone."""
        had = self._receipt
        if everything:
            return [Step((uv(), "tool", "upgrade", had.tool), Path.home())]
        named = [word for one in packages for word in ("--upgrade-package", one.package)]
        return [self._step(had, had.requirements, *named)]

    def fetch(self, source: Source, into: Path) -> Step:
        """Return what fetches a package from the tool's indexes."""
        step = super().fetch(source, into)
        indexes = self._receipt.options if Path(step.words[0]).stem == "uv" else ()
        return Step((*step.words, *indexes), step.cwd)

    def _step(self, had: receipt.Receipt, wanted: Mapping[str, Sequence[str]], *more: str) -> Step:
        words = [uv(), "tool", "install", *wanted[had.tool]]
        for name, said in wanted.items():
            if name == had.tool:
                continue
            if said[0] == "--editable":
                words += ["--with-editable", said[1]]
            else:
                words += ["--with-executables-from" if name in had.executables else "--with", said[0]]
        if had.python:
            words += ["--python", had.python]
        files = {}
        for option, lines in had.files.items():
            path = self.kept / f"{had.tool}{option[1:]}.txt"
            files[path] = "\n".join(lines) + "\n"
            words += [option, str(path)]
        return Step((*words, *had.options, *more), Path.home(), files)


class UvProject(Environment):
    """The environment of a project that uv manages: what is wanted stands in its ``pyproject.toml``."""

    kind = "uv project"

    @property
    def root(self) -> Path:
        """The folder of the project."""
        found = project_of(self.prefix)
        assert found is not None
        return found

    @property
    def title(self) -> str:
        """The project's folder."""
        return f"the uv project {short_path(str(self.root))}"

    @property
    def own(self) -> str | None:
        """The project's package."""
        name = self._data.get("project", {}).get("name")
        return canonical(name) if name else None

    @property
    def _data(self) -> dict[str, Any]:
        return tomllib.loads((self.root / "pyproject.toml").read_text())

    def _tables(self) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
        """Yield each list of dependencies with the option of ``uv add`` that names it."""
        data = self._data
        yield (), data.get("project", {}).get("dependencies", [])
        for group, items in data.get("dependency-groups", {}).items():
            yield ("--group", group), items
        for extra, items in data.get("project", {}).get("optional-dependencies", {}).items():
            yield ("--optional", extra), items

    def _place(self, *packages: str) -> tuple[str, ...] | None:
        """Return the option for the list in which one of the packages stands."""
        for option, items in self._tables():
            if {_name(item) for item in items if isinstance(item, str)} & {*packages}:
                return option
        return None

    def _where(self) -> tuple[str, ...]:
        """Return the option for the list that brings SkillKit, the first one by default."""
        for option, items in self._tables():
            if any(isinstance(item, str) and _name(item).startswith("skillkit-") for item in items):
                return option
        return ()

    def install(self, sources: Sequence[Source], editable: bool, again: Sequence[str]) -> list[Step]:
        """Return ``uv add``, to the list of dependencies that has SkillKit."""
        named = [s.package for s in sources if s.package]
        place = (self._place(*named) if named else None) or self._where()
        more = [word for name in again for word in ("--reinstall-package", name)]
        flag = ("--editable",) if editable else ()
        return [self._step("add", *place, *flag, *(s.text for s in sources), *more)]

    def uninstall(self, packages: Sequence[str]) -> list[Step]:
        """Return ``uv remove`` for each list of dependencies."""
        by_place: dict[tuple[str, ...], list[str]] = {}
        for name in packages:
            if (place := self._place(name)) is None:
                raise UsageError(
                    f"{name} does not stand in {self.root / 'pyproject.toml'}", hint="uv tree says what needs it"
                )
            by_place.setdefault(place, []).append(name)
        return [self._step("remove", *place, *names) for place, names in by_place.items()]

    def upgrade(self, packages: Sequence[Installed], everything: bool = False) -> list[Step]:
        """Return ``uv sync`` with newer versions of packages."""
        named = [word for one in packages for word in ("--upgrade-package", one.package)]
        return [self._step("sync", "--inexact", *named)]

    def fetch(self, source: Source, into: Path) -> Step:
        """Return what fetches a package from the project's indexes."""
        words = ("--quiet", "--no-deps", "--target", str(into), source.text)
        return Step((uv(), "pip", "install", "--python", sys.executable, *words), self.root)

    def _step(self, verb: str, *words: str) -> Step:
        return Step((uv(), verb, *words), self.root)


class Pipx(Environment):
    """An application that pipx has installed; plugins are injected."""

    kind = "pipx"

    @property
    def title(self) -> str:
        """The application and its folder."""
        return f"the pipx application {self.prefix.name} ({short_path(str(self.prefix))})"

    @property
    def _metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.prefix / PIPX).read_text())
        return found

    @property
    def own(self) -> str | None:
        """The application's package."""
        package = self._metadata.get("main_package", {}).get("package")
        return canonical(package) if package else None

    def _arguments(self) -> tuple[str, ...]:
        """Return what the application was installed with: its index, for example."""
        import shlex

        given = self._metadata.get("main_package", {}).get("pip_args") or ()
        return (f"--pip-args={shlex.join(given)}",) if given else ()

    def install(self, sources: Sequence[Source], editable: bool, again: Sequence[str]) -> list[Step]:
        """Return ``pipx inject``."""
        flags = [*(("--editable",) if editable else ()), *(("--force",) if again else ())]
        return [self._step("inject", *flags, *self._arguments(), self.prefix.name, *(s.text for s in sources))]

    def uninstall(self, packages: Sequence[str]) -> list[Step]:
        """Return ``pipx uninject``. Dependencies stay: other plugins may need them."""
        return [self._step("uninject", "--leave-deps", self.prefix.name, *packages)]

    def upgrade(self, packages: Sequence[Installed], everything: bool = False) -> list[Step]:
        """Return ``pipx upgrade`` of the application with what was injected, as pipx upgrades no single package."""
        return [self._step("upgrade", "--include-injected", self.prefix.name)]

    def fetch(self, source: Source, into: Path) -> Step:
        """Return what fetches a package with the package manager that pipx uses."""
        words = ("install", "--quiet", "--no-deps", "--target", str(into), source.text)
        return self._step("runpip", self.prefix.name, *words, *(self._metadata["main_package"].get("pip_args") or ()))

    def _step(self, *words: str) -> Step:
        return Step((_program("pipx", "which made this environment"), *words), apart())


class Venv(Environment):
    """A virtual environment, with pip or for uv; nobody but its packages knows what was asked for."""

    kind = "virtual environment"

    def _pip(self, verb: str) -> tuple[str, ...]:
        if self._has_pip:
            return (sys.executable, "-P", "-m", "pip", verb)
        return (uv(), "pip", verb, "--python", sys.executable)

    @property
    def _has_pip(self) -> bool:
        return find_spec("pip") is not None

    def install(self, sources: Sequence[Source], editable: bool, again: Sequence[str]) -> list[Step]:
        """Return ``pip install``, and once more for packages ``again``: pip passes over a wheel of the same version."""
        words = [word for s in sources for word in (("--editable", s.text) if editable else (s.text,))]
        if not self._has_pip:
            words += [word for name in again for word in ("--reinstall-package", name)]
        steps = [Step((*self._pip("install"), *words), apart())]
        if self._has_pip and again:
            steps.append(Step((*self._pip("install"), "--force-reinstall", "--no-deps", *words), apart()))
        return steps

    def uninstall(self, packages: Sequence[str]) -> list[Step]:
        """Return ``pip uninstall``."""
        sure = ("--yes",) if self._has_pip else ()
        return [Step((*self._pip("uninstall"), *sure, *packages), apart())]

    def upgrade(self, packages: Sequence[Installed], everything: bool = False) -> list[Step]:
        """Return ``pip install --upgrade`` of the origins: the index may know another package by the name of a private one."""
        words = [word for one in packages for word in (("--editable", one.origin) if one.editable else (one.origin,))]
        return [Step((*self._pip("install"), "--upgrade", *words), apart())]


def environment(kept: Path) -> Environment:
    """Return the environment in which this process runs.

    Raises:
        UsageError: nothing can be installed into it for good.
    """
    prefix = Path(sys.prefix)
    if sys.prefix == sys.base_prefix and not (prefix / "conda-meta").is_dir():
        raise UsageError(
            f"SkillKit runs in the Python of the system ({prefix}), which belongs to the system's packages",
            hint=f"install SkillKit into a place of its own: {WAY_OUT}",
        )
    if (prefix / receipt.NAME).is_file():
        return UvTool(prefix, kept)
    if (prefix / PIPX).is_file():
        return Pipx(prefix, kept)
    if any((above / "CACHEDIR.TAG").is_file() for above in prefix.parents):
        raise UsageError(
            f"SkillKit runs in an environment of a cache ({prefix}), as of uvx or 'uv run --with', which is gone soon",
            hint=f"name the plugin there with --with, or install SkillKit: {WAY_OUT}",
        )
    return (UvProject if project_of(prefix) is not None else Venv)(prefix, kept)


def project_of(prefix: Path) -> Path | None:
    """Return the folder of the project that uv manages, if this is its environment."""
    places = [prefix.parent]
    if named := os.environ.get("UV_PROJECT_ENVIRONMENT"):
        here = Path.cwd()
        above = [p for p in (here, *here.parents) if (p / named).resolve() == prefix.resolve()]
        # An absolute name fits every folder. It is the environment of the project that uv has installed in it.
        places += [p for p in above if not Path(named).is_absolute() or _lives_in(p, prefix)]
    return next((p for p in places if (p / "uv.lock").is_file() and (p / "pyproject.toml").is_file()), None)


def _lives_in(project: Path, prefix: Path) -> bool:
    """Return whether uv has installed a project, in place, in an environment."""
    for told in prefix.glob("[Ll]ib*/**/site-packages/*.dist-info/direct_url.json"):
        try:
            if json.loads(told.read_text()).get("url") == project.resolve().as_uri():
                return True
        except (OSError, ValueError, AttributeError):
            continue
    return False


def uv() -> str:
    """Return uv.

    Raises:
        SkillKitError: there is none.
    """
    given = os.environ.get("UV")  # `uv run` sets it
    return given if given and Path(given).is_file() else _program("uv", "and the environment has no pip")


def _program(name: str, why: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(name) or (str(beside) if beside.is_file() else None)
    if found is None:
        raise SkillKitError(f"{name} is not on the path, {why}", hint=f"put {name} on the path, or install it")
    return found


def _name(requirement: str) -> str:
    """Return the package of a requirement."""
    name = requirement
    for mark in " [<>=!~;@(":
        name = name.partition(mark)[0]
    return canonical(name)
