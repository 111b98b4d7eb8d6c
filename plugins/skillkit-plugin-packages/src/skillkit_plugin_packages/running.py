"""Runs the commands of a package manager."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from skillkit_core.cli.output import echo, printable, style
from skillkit_core.errors import SkillKitError
from skillkit_core.settings.documents import write_whole

from .environment import Step


def shown(step: Step) -> str:
    """Return a command as a person types it."""
    return shlex.join(step.shown)


def show(title: str, steps: Sequence[Step]) -> None:
    """Tell a person what is to be run, and in what."""
    echo(f"To be run in {title}:")
    for step in steps:
        echo(f"  {style('$', dim=True)} {printable(shown(step))}")


def run(steps: Sequence[Step], *, quiet: bool = False) -> None:
    """Run commands one after the other; what they print goes to standard error, where they are ``quiet`` only if one fails.

    Raises:
        SkillKitError: one failed.
    """
    env = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    for step in steps:
        for path, text in step.files.items():
            write_whole(str(path), text)
        sys.stderr.flush()
        heard = subprocess.PIPE if quiet else sys.stderr.fileno()
        done = subprocess.run(
            step.words,
            cwd=step.cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=heard,
            stderr=subprocess.STDOUT if quiet else heard,
            text=True,
            errors="replace",
        )
        if done.returncode:
            if quiet:
                echo(done.stdout.rstrip(), err=True)
            raise SkillKitError(
                f"'{shown(step)}' ended with {done.returncode}: nothing more was done", hint="what it said stands above"
            )
