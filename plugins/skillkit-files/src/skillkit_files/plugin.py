"""The plugin ``files``: the file tools, ``/rewind``, ``skillkit files`` and ``skillkit sessions rewind``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host, ToolSet
    from skillkit_core.events.types import SessionTreeEvent


class Hooks:
    """The hook of the family of filters."""

    @hookspec
    def register_file_filters(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer filters of what ``grep`` and ``glob`` find: ``register(Factory("name", "module:function"))``.

        ``function(agent, tool)`` returns ``allows(path) -> bool`` for absolute paths, or ``None`` where it leaves out nothing. A
        filter leaves files out; it shows none that would not be found without it.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_file_filters`` and its registry ``file_filters``."""
    add(Hooks, kinds={"file_filters": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``files``."""
    register(ConfigSection("files", "skillkit_files.config:FilesConfig"))


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer the tools. Those that change files must be allowed by name, unless a plugin guards edits."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("files", "skillkit_files.tools:file_tools", lasting=True))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit files``, and ``rewind`` in the group of the plugin ``sessions``."""
    register(Command("files", "skillkit_files.cli:files", "Show what agents changed."))
    register(
        Command(
            "sessions rewind", "skillkit_files.cli:rewind", "Go back to before a message: files, conversation or both."
        )
    )


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/rewind``, where the plugin ``commands`` is there."""
    from .slash import REWIND

    register(REWIND)


@hookimpl
async def session_tree(event: SessionTreeEvent, ctx: HandlerContext) -> None:
    """Say that files can be restored too, when the conversation goes on from another entry."""
    from .rewind_points import offer

    await offer(event, ctx)
