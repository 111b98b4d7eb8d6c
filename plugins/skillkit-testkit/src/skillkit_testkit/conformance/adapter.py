"""The adapter suite: everything that ``LLMAdapter`` promises (spec, sections 8 and 10), on a real connection."""

from __future__ import annotations

from .adapter_answers import AnswerChecks
from .adapter_failures import FailureChecks
from .adapter_requests import RequestChecks
from .adapter_strange import StrangeChecks

__all__ = ["AdapterConformance"]


class AdapterConformance(AnswerChecks, FailureChecks, RequestChecks, StrangeChecks):
    """Subclass it, give the fixture ``make_adapter``, and every check runs.

    ``make_adapter`` is a callable ``(server_url) -> LLMAdapter``; the server speaks Anthropic Messages, OpenAI Chat
    Completions and OpenAI Responses, and answers each in its own words. An adapter for another wire over HTTP gives the
    class attribute ``wire``, a :class:`~skillkit_testkit.wires.Wire`; one that is not asked over HTTP overrides the fixture
    ``scripted`` (see :class:`~skillkit_testkit.conformance.Scripting`). Class attributes ``model``, ``thinking`` and
    ``tools`` may be replaced.
    """
