"""``skillkit skills new``: a skill with an action, the tests of both, made from the skill in ``templates``."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .checking import problems_of_plugins

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["check_reserved", "make_skill", "new"]

TEMPLATE = Path(__file__).parent / "templates" / "acme"
# The standard knows "3d-print", too; a request with such a word is not understood offline.
NAME = re.compile(r"[a-z][a-z0-9]*(-([a-z][a-z0-9]*|[0-9]+))*\Z")
MOST = 64  # characters, by the open standard
EXAMPLE = "count the words of 'one two three' with {name}"


@click.command()
@click.argument("folder", metavar="[FOLDER/]NAME", type=click.Path(path_type=Path))
@click.pass_obj
def new(state: Any, folder: Path) -> None:
    """Make a skill called NAME, in a new folder: an action, tests of the action, and requests that lead to the skill."""
    from skillkit_core.cli.output import echo, style
    from skillkit_core.program import as_typed

    check_reserved(folder.name, state.host)
    make_skill(folder)
    echo(f"{style('✓', fg='green')} {folder}: a skill with one action and four tests.")
    example = EXAMPLE.format(name=folder.name)
    steps = {
        f"skillkit skills test {folder}": "its tests",
        f"skillkit skills dev {folder}": "shows each change, what is wrong with it, and its tests",
        f'skillkit run --skills-dir {folder.parent} "{example}"': "",
    }
    width = max(len(step) for step, what in steps.items() if what)
    for step, what in steps.items():
        echo(as_typed(f"  {step:<{width}}  {style(what, dim=True)}".rstrip()))


def check_reserved(name: str, host: Host) -> None:
    """Refuse a name that has a meaning of its own for a plugin (``reserved-name`` of ``check_skill``)."""
    from skillkit_core.errors import UsageError
    from skillkit_core.skills import Skill

    for problem in problems_of_plugins(Skill(name=name), host):
        if problem.code == "reserved-name":
            raise UsageError(f"{name!r} is no name for a skill here", hint=problem.message)


def make_skill(folder: Path) -> Path:
    """Make the skill called as ``folder``, whole or not at all, and return its folder.

    Raises:
        UsageError: the folder is there, or its name is no name of a skill.
    """
    from skillkit_core.errors import UsageError

    name = folder.name
    if not NAME.match(name) or len(name) > MOST:
        raise UsageError(
            f"{name!r} is no name of a skill",
            hint=f"write words of small letters, joined by dashes, at most {MOST} characters",
        )
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} is there already", hint="choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        for file in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            place = made / "skill" / file.relative_to(TEMPLATE)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file.read_text(encoding="utf-8").replace("acme", name), encoding="utf-8")
        (made / "skill").rename(folder)
    finally:
        shutil.rmtree(made)
    return folder
