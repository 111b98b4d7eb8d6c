"""The index of commands: what the plugins offer to the command line, listed without importing them.

The cache keeps one file for each set of plugins. The file counts while the same plugins run in the same Python, and no file
changed that was imported when the index was made. Anything else means that the plugins are asked again.
"""

from __future__ import annotations

import sys
from binascii import crc32
from os import stat
from os.path import join
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..descriptors import Command
from ..errors import SkillKitError
from ..settings.documents import keep, recall, settled
from .registry import Registry

if TYPE_CHECKING:
    from .manager import Host

# What a plugin keeps from these hooks, its commands may depend on.
_MEET_THE_HOST = {"host_configure", "host_started"}


def list_commands(host: Host) -> Registry[Command]:
    """Return the commands of the plugins, for a listing: from the index where it counts, else ``host.commands``."""
    running = [list(d.entry) for d in host.decisions if d.enabled]
    stamp = [__version__, sys.version, sys.path, running]
    name = crc32(repr([sys.prefix, [entry[:3] for entry in running]]).encode(errors="surrogatepass"))
    path = join(host.plan.paths.cache, "commands", f"{name:08x}.json")
    try:
        files, rows = recall(path, stamp)
        if all(_stamp(file) == known for file, known in files.items()):
            found: Registry[Command] = Registry()
            for source, *fields in rows:
                found.register(fields[0], Command(*fields), source)
            return found
    except (OSError, TypeError, ValueError, AttributeError, IndexError, SkillKitError):
        pass  # without an index that counts the plugins are asked
    commands = host.commands
    if _lasting(host) and (stamps := _imported()):
        keep(path, stamp, [stamps, [[e.source, *e.item] for e in commands.entries()]])
    return commands


def _lasting(host: Host) -> bool:
    """Return whether the commands depend on the code of the plugins alone, and every plugin could be asked."""
    for impl in host.impls("register_commands"):
        if "host" in impl.argnames or _MEET_THE_HOST & {*host.plugins[impl.plugin_name].hooks}:
            return False
    return not any(problem.severity == "error" for problem in host.problems)


def _imported() -> dict[str, list[int]] | None:
    """Return the stamps of all imported files outside of the standard library, ``None`` where one cannot tell a change."""
    stamps: dict[str, list[int]] = {}
    for name, module in list(sys.modules.items()):
        file: Any = getattr(module, "__file__", None)
        if isinstance(file, str) and name.partition(".")[0] not in sys.stdlib_module_names:
            try:
                stamps[file] = _stamp(file)
            except OSError:  # it lies in an archive
                return None
            if not settled(stamps[file][0] / 1e9):
                return None
    return stamps


def _stamp(file: str) -> list[int]:
    """Return what changes with the content. A change time is no part: it moves when an installer links the file elsewhere."""
    found = stat(file)
    return [found.st_mtime_ns, found.st_size, found.st_ino]
