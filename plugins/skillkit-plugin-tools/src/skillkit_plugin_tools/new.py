"""``skillkit plugins new``: the package of a plugin, made from the templates beside this file.

Each template is a package as an author would write it, of a plugin called ``acme``, so that it can be read, checked and run where
it stands. A new package is a copy of it and of ``common``, with the plugin's name in the place of ``acme``.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import API_VERSION, UsageError
from skillkit_core.host.discovery import canonical, dist_infos, package_tables

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["FAMILIES", "KINDS", "make", "new"]

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {
    "provider": "a server of models, and the wire that it speaks",
    "tool": "what a model can call",
    "guard": "what a call of a tool may do",
    "runtime": "how commands run",
    "compactor": "how a long conversation becomes shorter",
    "store": "where sessions are kept",
    "skills": "skills with their actions, and no other code",
    "command": "a command of the command line",
    "front-end": "how a person works with an agent",
    "family": "hooks and items that other plugins bring",
}
FAMILIES = {"engines": "an engine, which does the work of skills"}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*\Z")
_TOKENS = re.compile(r"skillkit-acme|skillkit_acme|Acme|ACME|(?<=_)acme|acme(?=_)|acme|YEAR")


def _kinds() -> str:
    width = max(map(len, KINDS))
    return "\b\n" + "\n".join(f"{kind:<{width}}  {what}" for kind, what in KINDS.items())


@click.command(help=f"Make the package of a plugin called NAME, in a new folder.\n\nThe kinds are\n\n{_kinds()}")
@click.argument("name")
@click.option("--kind", required=True, type=click.Choice(list(KINDS)), metavar="KIND", help="What the plugin brings.")
@click.option(
    "--of",
    "family",
    type=click.Choice(list(FAMILIES)),
    help="family: bring an item of this one, no hooks of your own.",
)
@click.option("--package", metavar="NAME", help="Name of the package.  [default: skillkit-NAME]")
@click.option("--declare", is_flag=True, help="Add plugin.yaml, which declares the hooks and secrets that it needs.")
@click.pass_obj
def new(state: Any, name: str, kind: str, family: str | None, package: str | None, declare: bool) -> None:
    """Make the package of a plugin."""
    if declare and kind == "skills":
        raise UsageError("a package of skills has no plugin that could declare anything", hint="leave --declare out")
    from skillkit_core.cli.output import echo, style

    name = name.removeprefix("skillkit-")
    package = package or f"skillkit-{name}"
    _check_names(state.host, name, package, kind)
    if family is not None and kind != "family":
        raise UsageError(f"--of {family} is for --kind family, not for {kind}")
    folder = make(Path(package), f"family-{family}" if family else kind, name=name, package=package, declare=declare)
    files = sum(1 for _ in _files(folder))
    echo(f"{style('✓', fg='green')} {folder}: {files} files, {FAMILIES[family] if family else KINDS[kind]}.")
    steps = [f"cd {folder}", "uv run pytest"]
    steps += ["uv run skillkit skills dev src" if kind == "skills" else "uv run skillkit dev"]
    says = {
        "uv run pytest": "its tests",
        "uv run skillkit dev": "SkillKit with the plugin; what you save is reloaded",
        "uv run skillkit skills dev src": "shows each change of the skill, and its cases",
        "uv run skillkit plugins check .": "its report card",
    }
    for step in (*steps, "uv run skillkit plugins check ."):
        echo(f"  {step:<32} {style(says[step], dim=True)}" if step in says else f"  {step}")


def _check_names(host: Host, name: str, package: str, kind: str) -> None:
    if not NAME.match(name):
        raise UsageError(
            f"{name!r} is no name of a plugin", hint="write small letters and digits, words joined by dashes: my-plugin"
        )
    if not PACKAGE.match(package):
        raise UsageError(
            f"{package!r} is no name of a package", hint="write letters and digits, words joined by dashes"
        )
    if canonical(package) in taken_packages(host):
        raise UsageError(
            f"there is a package called {package!r}", hint="choose another name, or name one with --package"
        )
    taken = next((d.entry for d in host.decisions if d.name == name), None)
    if taken is not None and kind != "skills":
        raise UsageError(
            f"there is a plugin called {name!r}: {taken.distribution} {taken.version}", hint="choose another name"
        )


def taken_packages(host: Host) -> set[str]:
    """Return the names of packages that exist: those that the tables know, and those that are installed."""
    known = {canonical(package) for table in package_tables(host.entries) for package in table}
    return {"skillkit-core", *known, *dist_infos()}


def make(folder: Path, kind: str, *, name: str, package: str, declare: bool = False) -> Path:
    """Make the package of a plugin, whole or not at all, and return its folder.

    Args:
        folder: the new folder.
        kind: one of :data:`KINDS`, or ``family-`` and one of :data:`FAMILIES`.
        name: name of the plugin, its entry point.
        package: name of the distribution.
        declare: with a ``plugin.yaml`` beside the module.

    Raises:
        UsageError: the folder is there.
    """
    from skillkit_skill_tools import make_skill

    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} is there already", hint="choose another name, or another folder")
    words = {
        "skillkit-acme": package,
        "skillkit_acme": re.sub(r"[-.]", "_", package).lower(),
        "Acme": "".join(word.capitalize() for word in name.split("-")),
        "ACME": name.replace("-", "_").upper(),
        "acme_": name.replace("-", "_"),
        "acme": name,
        "YEAR": time.strftime("%Y"),
    }
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for template in (TEMPLATES / "common", TEMPLATES / kind):
            for file in _files(template):
                place = made / _filled(str(file.relative_to(template)), words)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(_filled(file.read_text(encoding="utf-8"), words), encoding="utf-8")
        if kind == "skills":  # whose package has no code, so that there is nothing to type
            module = made / "src" / words["skillkit_acme"]
            (module / "py.typed").unlink()
            make_skill(module / name)
        if declare:
            module = made / "src" / words["skillkit_acme"]
            (module / "plugin.yaml").write_text(declaration((module / "__init__.py").read_text("utf-8")), "utf-8")
        made.chmod(0o777 & ~_umask())
        made.rename(folder)
    finally:
        if made.exists():
            shutil.rmtree(made)
    return folder


def declaration(source: str) -> str:
    """Return the ``plugin.yaml`` of a plugin with this source: the hooks that it implements, the secrets that it names."""
    hooks = sorted(set(re.findall(r"@hookimpl[^\n]*\n\s*(?:async )?def (\w+)", source)))
    secrets = sorted(set(re.findall(r'"([A-Z][A-Z0-9_]*_(?:KEY|SECRET|TOKEN))"', source)))
    return (
        "# What this plugin needs: the host refuses it more hooks and secrets, and a lock pins this.\n"
        f'skillkit_api: "{API_VERSION}"\nneeds:\n  hooks: [{", ".join(hooks)}]\n  secrets: [{", ".join(secrets)}]\n'
    )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _filled(text: str, words: dict[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        joined = match[0] == "acme" and "_" in (
            text[match.start() - 1 : match.start()],
            text[match.end() : match.end() + 1],
        )
        return words["acme_" if joined else match[0]]

    return _TOKENS.sub(word, text)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
