"""The compactor "acme": keeps the newest turns that fit, and a summary of what was before."""

from __future__ import annotations

from collections.abc import Callable

from skillkit_core import CompactionRequest, CompactionResult, Compactor, Factory, Host, UserMessage, hookimpl

PROMPT = "Summarise the conversation above in a few sentences: what was asked, what was found. End with the next step."


@hookimpl
def register_compactors(register: Callable[[Factory], None]) -> None:
    """Offer the compactor; the host makes it when a conversation no longer fits."""
    about = "keeps the newest turns and a summary"
    register(Factory("acme", "skillkit_acme:AcmeCompactor", about))


class AcmeCompactor(Compactor):
    """Cuts before a message of the user, so that no tool call is parted from its result."""

    def __init__(self, host: Host) -> None:
        pass

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """Return a summary and the index of the first message that stays; ``None``: nothing can be left out."""
        messages = request.messages
        turns = [i for i, message in enumerate(messages) if isinstance(message, UserMessage)]
        room = request.budget // 2  # the other half is for the summary and what comes next
        cut = len(messages)
        for start in reversed(turns):
            if request.estimate(messages[start:]) > room:
                break
            cut = start
        if cut == len(messages) and turns:
            cut = turns[-1]  # even the newest turn is too big: keep it all the same
        if cut == 0:
            return None
        summary = await request.complete(PROMPT, messages[:cut])
        return CompactionResult(summary, keep_from=cut)
