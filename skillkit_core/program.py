"""The program that a person started: ``skillkit``, or the command of a distribution, which has a name of its own."""

from __future__ import annotations

import re
from typing import NamedTuple

PREFIX = "SKILLKIT_"  # of environment variables


class Program(NamedTuple):
    """A program.

    Attributes:
        name: what a person types.
        title: name and version, for people.
        distribution: the distribution to which the program is bound; ``None``: the user chooses.
        prefix: the beginning of its environment variables.
        may_leave: ``--distribution`` may name another distribution.
        command_line: stdout is for the answer of a command, and what plugins print goes elsewhere.
    """

    name: str = "skillkit"
    title: str = ""
    distribution: str | None = None
    prefix: str = PREFIX
    may_leave: bool = True
    command_line: bool = False


_running = Program()
_COMMAND = re.compile(r"(?<![\w./-])skillkit(?= [-\w])")


def program() -> Program:
    """Return the program that runs."""
    return _running


def become(new: Program) -> None:
    """Let the process be a program from now on."""
    global _running
    _running = new


def as_typed(text: str) -> str:
    """Return a text of SkillKit for the person: with the names of the command and of variables that hold in this program."""
    if _running.name != "skillkit":
        text = _COMMAND.sub(_running.name, text).replace(PREFIX, _running.prefix)
    return text
