"""The plugin ``executor``: the executors ``local``, ``stdio`` and ``http``, and ``skillkit executor``."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``executor``."""
    register(ConfigSection("executor", "skillkit_executor.config:ExecutorConfig"))


@hookimpl
def register_executors(register: Callable[[Factory], None]) -> None:
    """Offer the three executors. None of them runs anything unless ``tools.executor`` names it."""
    register(Factory("local", "skillkit_executor.executor:local", "runs tools in this process, over the same wire"))
    register(Factory("stdio", "skillkit_executor.executor:stdio", "runs tools in a child process"))
    register(
        Factory("http", "skillkit_executor.executor:http", "runs tools in a child process that serves on loopback")
    )


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit executor``."""
    register(Command("executor", "skillkit_executor.cli:executor", "Show which tool runs in which process, and why."))
