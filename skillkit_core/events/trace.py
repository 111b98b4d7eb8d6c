"""Who was asked what, what they answered, and how long it took: a tracer for one event bus."""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .handlers import PHASES
from .results import UNSET, EventResult

if TYPE_CHECKING:
    from .bus import EventBus
    from .handlers import HandlerRecord
    from .types import HandlerErrorEvent

__all__ = ["Traced", "Tracer"]

SHOWN = 120
PHASE_NAMES = {number: name for name, number in PHASES.items()}


@dataclass(slots=True)
class Traced:
    """One call of one handler.

    Attributes:
        seq: the event's number. hook: its name.
        plugin: who registered the handler, ``None`` for the application's own. handler: its label.
        phase: when its turn comes; ``observer`` for those that only look.
        seconds: wall time until its answer, waiting included.
        answer: the fields of its answer that it set, as short texts. error: why it failed.
    """

    seq: int
    hook: str
    plugin: str | None
    handler: str
    phase: str
    seconds: float = 0.0
    answer: dict[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The call as JSON."""
        return {**dataclasses.asdict(self), "seconds": round(self.seconds, 6)}


class Tracer:
    """Records every handler call of a bus in ``calls`` until :meth:`stop`; a bus that is not traced pays nothing.

    ``redact`` is applied to what is kept of answers.
    """

    def __init__(self, bus: EventBus, redact: Callable[[str], str] = str) -> None:
        self.calls: list[Traced] = []
        self._bus, self._redact = bus, redact
        bus.probe = self._probe
        self._off = bus.observe(self._failed, ["handler_error"])

    def stop(self) -> None:
        """Leave the bus as it was."""
        self._bus.probe = None
        self._off()

    def _probe(self, record: HandlerRecord, event: Any, call: Callable[[], Any]) -> Any:
        if record.function == self._failed:
            return call()
        row = Traced(event.seq, event.type, record.plugin, record.label, PHASE_NAMES.get(record.phase, "observer"))
        self.calls.append(row)
        started = time.perf_counter()
        try:
            answer = call()
        except BaseException as error:
            self._ended(row, started, error)
            raise
        if inspect.isawaitable(answer):
            return self._awaited(row, started, answer)
        self._ended(row, started, answer)
        return answer

    async def _awaited(self, row: Traced, started: float, answer: Any) -> Any:
        try:
            value = await answer
        except BaseException as error:
            self._ended(row, started, error)
            raise
        self._ended(row, started, value)
        return value

    def _ended(self, row: Traced, started: float, value: Any) -> None:
        row.seconds = time.perf_counter() - started
        if isinstance(value, BaseException):
            row.error = f"{type(value).__name__}: {value}"
        elif isinstance(value, EventResult) and dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                content = getattr(value, field.name)
                if content is not UNSET and content != field.default:
                    row.answer[field.name] = self._short(content)

    def _short(self, value: Any) -> str:
        text = self._redact(" ".join((value if isinstance(value, str) else repr(value)).split()))
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"

    def _failed(self, event: HandlerErrorEvent) -> None:
        """An answer that could not be used, or a time that was over, is known to the bus alone."""
        for row in reversed(self.calls):
            if row.hook == event.event and row.handler == event.source:
                row.error = event.error
                return
