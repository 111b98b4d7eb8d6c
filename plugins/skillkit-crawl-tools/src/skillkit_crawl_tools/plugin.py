"""The plugin ``crawl-tools``: a search, and the pages of one site."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host, Tool, ToolCallEvent, ToolCallEventResult


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``crawl``."""
    register(ConfigSection("crawl", "skillkit_crawl_tools.config:CrawlConfig"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer both tools. The pack ``search_web`` of ``toolpacks`` names them."""
    from .tools import crawl_tools

    for tool in crawl_tools(host):
        register(tool)


@hookimpl(tools=("crawl_web_content_tool",))
def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Refuse an address that no approval could let through, before anybody is asked. Nothing is looked up."""
    if ctx.agent is None:
        return None
    from skillkit_web_tools import refused

    return refused(ctx.agent.host, event.args)
