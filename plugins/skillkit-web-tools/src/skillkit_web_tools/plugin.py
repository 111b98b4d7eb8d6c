"""The plugin ``web-tools``: the tools ``web_fetch`` and ``web_search``, and the family of search providers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host, Tool, ToolCallEvent, ToolCallEventResult


class Hooks:
    """The hook of the family of search providers."""

    @hookspec
    def register_search_providers(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer search providers: ``register(Factory("acme", "acme.search:Acme"))``, made as ``create(host)``.

        The object is a :class:`~skillkit_web_tools.search.SearchProvider`.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_search_providers`` and its registry ``search_providers``."""
    add(Hooks, kinds={"search_providers": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``web``."""
    register(ConfigSection("web", "skillkit_web_tools.config:WebConfig"))


@hookimpl
def register_search_providers(register: Callable[[Factory], None]) -> None:
    """Offer the providers that come with the plugin, in the order in which the first usable one is taken."""
    where = "skillkit_web_tools.providers"
    register(Factory("searxng", f"{where}:SearXNG", "a SearXNG instance of your own or one that allows its API"))
    register(Factory("brave", f"{where}:Brave", "the Brave Search API; needs BRAVE_API_KEY"))
    register(Factory("tavily", f"{where}:Tavily", "the Tavily API; needs TAVILY_API_KEY"))
    register(Factory("wikipedia", f"{where}:Wikipedia", "articles of Wikipedia; needs no key"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer both tools. A model gets them only when they are allowed: what it asks for leaves this machine."""
    from .tools import fetch_tool, search_tool

    register(fetch_tool(host))
    register(search_tool(host))


@hookimpl(tools=("web_fetch",))
def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Refuse a page that no approval could let through, before anybody is asked. Nothing is looked up."""
    if ctx.agent is None:
        return None
    from .tools import refused

    return refused(ctx.agent.host, event.args)


@hookimpl
async def host_closing(host: Host) -> None:
    """Close the connections, if any tool has made some: importing the client would cost every run half of its time."""
    if "skillkit_web_tools.client" in sys.modules:
        from .client import close

        await close(host)
