"""What ``skillkit-bash`` brings: the runtime ``bash``, the opt-in tool ``bash``, the section ``bash``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import Host, Tool, ToolContext, ToolOutput


class Hooks:
    """The hooks of the family."""

    @hookspec
    def register_shell_paths(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer folders of programs for commands: ``register(Factory(name, create))``.

        ``create(host)`` makes a function ``() -> folders``; they stand at the end of ``PATH``, and hide no other program.
        """

    @hookspec
    def register_shell_variables(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer variables for the commands of an agent: ``register(Factory(name, create))``.

        ``create(host)`` makes a function ``(agent) -> {name: value}``, which is called for every command of the tool ``bash``.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_shell_paths`` and ``register_shell_variables``, and their registries."""
    add(Hooks, kinds={"shell_paths": Factory, "shell_variables": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``bash``."""
    register(ConfigSection("bash", "skillkit_bash.config:BashConfig"))


@hookimpl
def register_runtimes(register: Callable[[Factory], None]) -> None:
    """Offer the runtime ``bash``."""
    register(Factory("bash", "skillkit_bash.runtime:BashRuntime", "runs commands as processes of this machine"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tool ``bash``, which a model gets only when the user allowed it, by a rule or by name."""
    from skillkit_core.tools import Tool

    async def execute(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        from .tool import run_command

        return await run_command(host, args, ctx)

    register(
        Tool(
            "bash",
            "Run a shell command in the workspace and return its output and exit code. Nobody can answer a prompt: "
            "stdin is empty. What it leaves running is ended when it returns. Long output is cut in the middle; a file "
            "then holds the whole.",
            execute,
            parameters={
                "type": "object",
                "properties": {
                    "command": {"type": "string", "minLength": 1, "description": "The command, as bash reads it."},
                    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds until it is ended."},
                    "secrets": {
                        "type": "array",
                        "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                        "description": "Names of secrets (keys, passwords) that this one command reads as environment "
                        "variables. The user is asked for unknown ones. You never see the values.",
                    },
                    "cwd": {"type": "string", "description": "Where it runs: a directory below the workspace."},
                },
                "required": ["command"],
                "additionalProperties": False,
            },
            opt_in=True,
            sequential=True,
            annotations={"mutates": "world", "command": "command", "remote": True},
        )
    )
