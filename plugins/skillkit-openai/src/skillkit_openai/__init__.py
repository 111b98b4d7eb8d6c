"""OpenAI for SkillKit: Chat Completions, the Responses API, and every compatible server.

The public names are imported when they are first used, and the ``openai`` package with the first request.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chat import OpenAIAdapter as OpenAIAdapter
    from .chat_stream import ChatReader as ChatReader, chat_table as chat_table, tag as tag
    from .responses import OpenAIResponsesAdapter as OpenAIResponsesAdapter
    from .responses_stream import responses_table as responses_table

_HOME = {
    "OpenAIAdapter": "chat",
    "OpenAIResponsesAdapter": "responses",
    "ChatReader": "chat_stream",
    "chat_table": "chat_stream",
    "tag": "chat_stream",
    "responses_table": "responses_stream",
}

__all__ = ["ChatReader", "OpenAIAdapter", "OpenAIResponsesAdapter", "chat_table", "responses_table", "tag"]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
