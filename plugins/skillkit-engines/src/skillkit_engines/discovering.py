"""What skills a request may go to, without an agent: for programs, and for ``skillkit routing why``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from skillkit_skills import listing

from .choosing import rank
from .gate import Gated, filter_eligible, gate_request
from .types import EditorContext, RouteRequest, SkillCandidate

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["discover", "gated_for"]


def gated_for(host: Host, request: RouteRequest, tools: Collection[str] | None = None) -> Gated:
    """Return what the gates leave of a host's skills for a request.

    Args:
        host: the host.
        request: the request.
        tools: the names of the tools that there are; ``None``: nobody knows, so nothing is missing.
    """
    return filter_eligible(host, listing(host), gate_request(host, request), tools=tools)


def discover(
    host: Host,
    query: str,
    editor_context: EditorContext | None = None,
    conversation_context: Sequence[str] = (),
) -> list[SkillCandidate]:
    """Return the skills that may take a request, best first: the gates, and what ranks them. No model is asked.

    Args:
        host: the host.
        query: the words of the person.
        editor_context: what is open in the editor.
        conversation_context: the last words of the person before, newest last.
    """
    request = RouteRequest(query, editor=editor_context, history=tuple(conversation_context))
    return rank(host, query, gated_for(host, request).eligible)
