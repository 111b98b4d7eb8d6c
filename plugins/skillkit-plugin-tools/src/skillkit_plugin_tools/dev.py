"""``skillkit dev``: SkillKit with the plugin of the current folder, not installed, and reloaded when it is saved."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib import invalidate_caches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from skillkit_core.cli.output import echo, error_line, style
from skillkit_core.errors import UsageError
from skillkit_core.host.discovery import PLUGINS, SKILLS

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Project", "dev"]

PLACES = ("src", ".", "lib", "python")


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
@click.pass_context
def dev(ctx: click.Context, words: tuple[str, ...]) -> Any:
    """Run SkillKit with the plugin of this folder, and reload the plugin when one of its files is saved.

    ARGS are a command and its words; without them a conversation begins. The plugin need not be installed: its entry points
    stand in pyproject.toml. It is reloaded between two turns of a conversation. An error in it is one line, and the last good
    version stays.

    \b
    skillkit dev
    skillkit dev run "what is 15% of 80"
    skillkit dev plugins doctor
    """
    from .reloading import Reloading

    project = Project.around(Path.cwd())
    root = ctx.find_root()
    folder = Path(tempfile.mkdtemp(prefix="skillkit-dev-"))
    ctx.call_on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
    project.offer(folder)
    options = root.obj.options
    options["switch"] = (*(options.get("switch") or ()), *project.plugins)
    root.obj.renew()
    host: Host = root.obj.host
    if sys.stderr.isatty():
        told = f"{project.name}: what you save below {os.path.relpath(project.source)} is reloaded"
        echo(style(told, dim=True, stream=sys.stderr), err=True)
    host.load()
    for problem in host.problems:
        if problem.plugin in project.plugins and problem.severity == "error":
            error_line(f"{problem.plugin}: {problem.message}")
    host.add_plugin(Reloading(host, project))
    command, *rest = words or (_opening(root),)
    group = cast(click.Group, root.command)
    found = group.get_command(root, command)
    if found is None or found.name == ctx.command.name:
        raise UsageError(f"{command!r} is no command that can be run here", hint="try: skillkit dev run ...")
    with found.make_context(command, list(rest), parent=root) as below:
        return found.invoke(below)


def _opening(root: click.Context) -> str:
    """Return the command that a bare ``skillkit`` opens."""
    name: str | None = next((entry.name for entry in root.obj.listing.entries() if entry.item.opens), None)
    if name is None:
        raise UsageError("no front end is installed", hint="say what to run: skillkit dev plugins doctor")
    return name


class Project:
    """The package of a plugin as its author writes it.

    Attributes:
        name: name of the distribution.
        plugins: its plugins, name to module.
        packages: its packages of skills, name to package.
        source: the folder in which its modules lie.
    """

    def __init__(self, folder: Path, data: dict[str, Any]) -> None:
        project = data.get("project", {})
        groups = project.get("entry-points", {})
        self.folder = folder
        self.name: str = project.get("name") or folder.name
        self.version: str = project.get("version") or "0"
        self.groups: dict[str, dict[str, str]] = {k: v for k, v in groups.items() if k.startswith("skillkit.")}
        self.plugins, self.packages = self.groups.get(PLUGINS, {}), self.groups.get(SKILLS, {})
        self.source = self._source()

    @classmethod
    def around(cls, place: Path) -> Project:
        """Return the project of a folder or of the nearest one above.

        Raises:
            UsageError: there is none, or it has no plugin.
        """
        import tomllib

        for folder in (place, *place.parents):
            file = folder / "pyproject.toml"
            if not file.is_file():
                continue
            try:
                data = tomllib.loads(file.read_text("utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise UsageError(f"{file}: {error}") from None
            project = cls(folder, data)
            if project.groups:
                return project
            raise UsageError(
                f"{file} names no plugin",
                hint='a line under [project.entry-points."skillkit.plugins"]: name = "module"',
            )
        raise UsageError(
            f"there is no pyproject.toml in {place}", hint="skillkit plugins new NAME --kind tool makes a plugin"
        )

    @property
    def tops(self) -> list[Path]:
        """The folders and files with the modules of its entry points."""
        values = [value for group in self.groups.values() for value in group.values()]
        heads = dict.fromkeys(value.partition(":")[0].partition(".")[0] for value in values)
        return [path for head in heads for path in (self.source / head, self.source / f"{head}.py") if path.exists()]

    def offer(self, folder: Path) -> None:
        """Let this process, and those that it starts, find the plugin as an installed one; ``folder`` takes its metadata."""
        info = folder / f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n")
        lines = [
            f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
            for group, entries in self.groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        places = [str(self.source), str(folder)]
        sys.path[:0] = places
        sys.dont_write_bytecode = True  # two versions saved within one second would have the same bytecode
        known = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([*places, *([known] if known else [])])
        invalidate_caches()

    def _source(self) -> Path:
        values = [value for group in self.groups.values() for value in group.values()]
        for place in PLACES if values else ():
            head = values[0].partition(":")[0].partition(".")[0]
            if (self.folder / place / head).is_dir() or (self.folder / place / f"{head}.py").is_file():
                return (self.folder / place).resolve()
        if values:
            raise UsageError(f"{self.folder}: there is no module {values[0]!r}", hint=f"looked in {', '.join(PLACES)}")
        return self.folder
