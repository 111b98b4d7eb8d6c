"""``/why`` in front ends: the same page for the session that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_core.cli.output import columns
from skillkit_core.errors import UsageError

from .page import difference, page, page_of_difference
from .recorder import Recorder, texts_of
from .turns import History

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["why"]


async def why(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Explain a turn; with two numbers what changed between the two."""
    session = agent.open_session
    if session is None:
        raise UsageError("there is no turn yet", hint="ask something first")
    try:
        numbers = [int(word) for word in arguments.split()]
    except ValueError:
        numbers = [0, 0, 0]
    if len(numbers) > 2:
        raise UsageError(f"/why does not know {arguments!r}", hint="/why [TURN], or /why TURN TURN for what changed")
    recorder: Recorder | None = agent.state("why").get("recorder")
    if recorder is not None and recorder.ended is not None:
        await recorder.end(recorder.ended, agent)
    texts = recorder.texts if recorder is not None and recorder.texts is not None else texts_of(agent)
    history = History(session.handle.header, session.entries, texts)
    if len(numbers) == 2:
        found = difference([history.explain(history.turn(n)) for n in numbers], texts)
        return page_of_difference(found, columns())
    return page(history.explain(history.turn(numbers[0] if numbers else None)), columns())
