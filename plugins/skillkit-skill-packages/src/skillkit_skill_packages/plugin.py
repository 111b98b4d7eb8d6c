"""The plugin ``skill-packages``: commands of ``skillkit skills`` that install, update, compare and remove packages of skills."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command


@hookimpl(optionalhook=True)
def register_skill_commands(register: Callable[[Command], None]) -> None:
    """``skillkit skills install``, ``outdated``, ``remove``, ``update`` and ``verify``."""
    for name in ("install", "outdated", "remove", "update", "verify"):
        register(Command(name, f"skillkit_skill_packages.commands:{name}", "Work with packages of skills."))
