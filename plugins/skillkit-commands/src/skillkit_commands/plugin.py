"""The plugin ``commands``: the families of slash commands and indicators, prompt files, and ``skillkit commands``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, Factory

if TYPE_CHECKING:
    from skillkit_core import Host

    from .command import SlashCommand, SlashCommandSet
    from .indicators import Indicator


class Hooks:
    """The hooks of the families."""

    @hookspec
    def register_slash_commands(
        self, register: Callable[[SlashCommand | SlashCommandSet], None], host: Host, config: Any
    ) -> None:
        """Offer slash commands to every front end: ``register(SlashCommand(...))`` or ``register(SlashCommandSet(...))``."""

    @hookspec
    def register_indicators(self, register: Callable[[Indicator | Factory], None], host: Host, config: Any) -> None:
        """Offer a part of the status line of front ends: ``register(Indicator("network", lambda agent: "NET off"))``.

        A plugin that does not build on this one offers the core's ``Factory("network", create)``, where ``create(host)`` makes
        the function of the agent.
        """

    @hookspec
    def register_prompt_guards(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """See what a slash command makes of a line before an agent is asked it: ``register(Factory("acme", create))``.

        ``create(host)`` returns ``async (agent, invocation, text) -> str | None``: why the agent is not asked, for the person, or
        ``None``. A failure is an error of the command, and nothing is asked.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the families and their registries."""
    items = ("skillkit_commands.command:SlashCommand", "skillkit_commands.command:SlashCommandSet")
    indicators = ("skillkit_commands.indicators:Indicator", Factory)
    add(Hooks, kinds={"slash_commands": items, "indicators": indicators, "prompt_guards": Factory})


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit commands``."""
    register(Command("commands", "skillkit_commands.cli:commands", "List slash commands and prompt files."))


@hookimpl
def project_content(register: Callable[..., None], folder: str) -> None:
    """Name the prompt files of a project."""
    from skillkit_markdown import project_places

    for path in project_places("commands").values():
        register(path, partial(_described, folder, path))


def _described(folder: str, path: str) -> list[str]:
    from pathlib import Path

    from skillkit_markdown import markdown_files

    place = Path(folder, path)
    return [f"prompt file {file.relative_to(place)}" for file in markdown_files(place, deep=True, most=1000)]


@hookimpl
def register_slash_commands(register: Callable[[SlashCommand | SlashCommandSet], None]) -> None:
    """Offer the commands of sessions and models, and a command for every prompt file."""
    from .builtin import BUILTIN
    from .command import SlashCommandSet

    for command in BUILTIN:
        register(command)
    register(SlashCommandSet("prompt files", "skillkit_commands.prompts:prompt_commands"))
