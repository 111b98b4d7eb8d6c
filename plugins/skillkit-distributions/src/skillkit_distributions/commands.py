"""``skillkit dist``: a distribution from its first file to a wheel, one file, or an image."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, short_path, style
from skillkit_core.errors import ConfigError, UsageError
from skillkit_core.program import as_typed

__all__ = ["dist"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def dist() -> None:
    """Make distributions, and build them into a wheel, one file or an image."""


def _folder(function: F) -> F:
    return click.argument(
        "folder", type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path), default="."
    )(function)


def _links(function: F) -> F:
    return click.option(
        "-f",
        "--find-links",
        "links",
        multiple=True,
        metavar="FOLDER|URL",
        help="Look for wheels there, too; may be repeated.",
    )(function)


@dist.command()
@click.argument("name")
@click.option(
    "--template", type=click.Choice(["minimal", "company"]), default="minimal", show_default=True,
    help="company: own folders and variables, policy, required guard, lock, and a skill of its own.",
)  # fmt: skip
@click.option("--path", type=click.Path(path_type=Path), help="The folder that is made; default: skillkit-NAME here.")
@json_option
@click.pass_obj
def new(state: Any, name: str, template: str, path: Path | None, as_json: bool) -> None:
    """Make the project of a new distribution, with its own command NAME.

    \b
    skillkit dist new acme --template company
    """
    from skillkit_core.host.discovery import canonical, dist_infos, package_tables

    from .scaffold import write_project

    known = {canonical(package) for table in package_tables(state.host.entries) for package in table}
    folder, files = write_project(name, template, path, {"skillkit-core", *known, *dist_infos()})
    if as_json:
        print_json({"name": name, "template": template, "folder": str(folder), "files": files})
        return
    echo(f"{style('✓', fg='green')} {short_path(str(folder))}")
    for file in files:
        echo(f"  {file}")
    echo(as_typed(f"Build it: skillkit dist build {short_path(str(folder))}"))


@dist.command()
@_folder
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Default: dist/ of the folder.")
@click.option("--no-lock", "unlocked", is_flag=True, help="Build the wheel, and no lock.")
@_links
@json_option
def build(folder: Path, output: Path | None, unlocked: bool, links: tuple[str, ...], as_json: bool) -> None:
    """Build the wheel of a distribution, with its lock.

    The lock has everything that the distribution in FOLDER brings.

    The wheel is installed into an empty environment, with uv or pip, and every plugin must load there. What is installed then is
    locked: the lock goes into the package and beside the wheel, the pinned versions into requirements.txt.
    """
    from . import building
    from .project import read_project
    from .tools import installer

    project = read_project(folder)
    made = building.build(project, (output or folder / "dist").resolve(), installer(links), locked=not unlocked)
    if as_json:
        print_json({
            "wheel": str(made.wheel), "lock": str(made.lock) if made.lock else None,
            "requirements": str(made.requirements) if made.requirements else None,
            "plugins": list(made.content.get("plugins", ())), "packages": len(made.content.get("packages", ())),
        })  # fmt: skip
        return
    shown = [("wheel", made.wheel), ("lock", made.lock), ("requirements", made.requirements)]
    fields([(what, short_path(str(path)) if path else None) for what, path in shown])
    if made.lock:
        echo(
            f"{style('✓', fg='green')} {len(made.content['plugins'])} plugins, {len(made.content['packages'])} packages"
        )


@dist.command()
@_folder
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: dist/NAME.pyz of the folder."
)
@_links
@json_option
def bundle(folder: Path, output: Path | None, links: tuple[str, ...], as_json: bool) -> None:
    """Make one file that runs with Python alone.

    It has the distribution in FOLDER with everything that it needs.

    It is built and locked first. The file runs where Python has the same minor version and the platform is the same, without
    network; it unpacks itself when it is run for the first time.
    """
    from . import building
    from .project import read_project
    from .tools import installer

    project, tools = read_project(folder), installer(links)
    path = (output or folder / "dist" / f"{project.name}.pyz").resolve()
    with TemporaryDirectory(prefix="skillkit-bundle-") as temporary:
        environment = Path(temporary, "environment")
        made = building.build(project, folder / "dist", tools, keep=environment)
        building.bundle(project, made.wheel, environment, path, tools)
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if as_json:
        print_json({"bundle": str(path), "size": size, "platform": made.content["platform"], "sha256": digest})
        return
    echo(f"{style('✓', fg='green')} {short_path(str(path))}, {size / 1e6:.1f} MB, for {made.content['platform']}")
    echo(f"  sha256 {digest}")


@dist.command()
@_folder
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: Containerfile of the folder."
)
@click.option(
    "--base", metavar="IMAGE", help="The image with a Python on which it stands; default: python of this version."
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def image(folder: Path, output: Path | None, base: str | None, force: bool, as_json: bool) -> None:
    """Write the container file of the distribution in FOLDER.

    Podman and docker build the image from it and from dist/, which 'skillkit dist build' fills.
    """
    from .image import container_file
    from .project import read_project

    project = read_project(folder)
    path = output or folder / "Containerfile"
    if path.exists() and not force:
        raise ConfigError("exists already", where=str(path), hint="replace it with --force")
    if base is not None and not base.strip():
        raise UsageError("--base is empty", hint="name an image, for example registry.example/python:3.12")
    text = container_file(project, base)
    path.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"file": str(path), "text": text})
        return
    echo(f"{style('✓', fg='green')} {short_path(str(path))}")
    if not (folder / "dist" / "requirements.txt").exists():
        echo(as_typed(f"Before the image: skillkit dist build {short_path(str(folder))}"))
