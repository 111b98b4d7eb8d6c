"""The help of groups of commands."""

import click

from skillkit_core import Host
from skillkit_core.descriptors import load_object

WIDTH = 80


def described(command, path):
    """The commands below ``command``, each with its line in the help of its group."""
    if not isinstance(command, click.Group):
        return
    longest = max(map(len, command.commands), default=0)
    for name, below in command.commands.items():
        yield (*path, name), below.get_short_help_str(WIDTH - longest - 6)
        yield from described(below, (*path, name))


def test_no_line_of_a_group_of_commands_is_cut(skillkit_home):
    host = Host(cwd=skillkit_home.cwd)
    host.collect_all()
    lines = {}
    for entry in host.commands.entries():
        lines |= described(load_object(entry.item.target), (entry.name,))
    assert ("sessions", "list") in lines and ("skills", "show") in lines
    assert {path: line for path, line in lines.items() if line.endswith("...") or not line} == {}
