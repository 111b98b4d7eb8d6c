"""How good the choice is: requests with the skill that should take them, from a file or from sessions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_engines import CHAT, ROUTE, EditorContext, Route, RouteRequest, choose, gated_now

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.errors import ConfigError, ErrorKind, ProviderError
from skillkit_core.messages import AssistantMessage, TextBlock

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.contracts.session_store import SessionEntry

    from .alone import Asker

__all__ = ["Case", "evaluate", "of_session", "read_cases", "report"]


@dataclass(frozen=True, slots=True)
class Case:
    """A request, and who should take it.

    Attributes:
        query: the words.
        truth: the name of the skill, or ``chat``.
        answer: what a model answered, as recorded; ``None``: one is asked.
        fails: ``timeout``, ``error`` or ``no_key``: how the model failed in the recording.
        editor, images, active: what surrounded the request.
    """

    query: str
    truth: str
    answer: str | None = None
    fails: str = ""
    editor: str | None = None
    images: int = 0
    active: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the line of the case in a file."""
        context = {"editor": self.editor, "images": self.images, "active_skill": self.active}
        out: dict[str, Any] = {"query": self.query, "truth": self.truth}
        if context := {name: value for name, value in context.items() if value}:
            out["context"] = context
        if self.answer is not None or self.fails:
            answered = {"kind": "answer", "text": self.answer}
            out["model"] = {"kind": self.fails} if self.fails else answered
        return out


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file with a JSON object a line: ``query``, ``truth``, and ``context``, ``model`` if there are any.

    Raises:
        ConfigError: a line is no such object.
    """
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            context, model = row.get("context") or {}, row.get("model") or {}
            kind = model.get("kind", "answer" if "text" in model else "")
            found.append(
                Case(
                    str(row["query"]),
                    str(row["truth"]),
                    model.get("text") if kind == "answer" else None,
                    kind if kind not in ("answer", "") else "",
                    context.get("editor"),
                    int(context.get("images") or 0),
                    context.get("active_skill"),
                )
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            hint = 'write {"query": "rain in Oslo?", "truth": "weather"}'
            raise ConfigError(f"no case: {error!r}", where=f"{path}:{number}", hint=hint) from None
    return found


def of_session(entries: Iterable[SessionEntry]) -> list[Case]:
    """Return the routed inputs of a session as cases, with the skill that answered as the truth."""
    texts: dict[str, str] = {}
    found, active = [], None
    for entry in entries:
        message = entry.data.get("message") if entry.type == "message" else None
        if message and message.get("role") == "user":
            blocks = message.get("content") or ()
            texts[entry.id] = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if entry.type != "custom" or entry.data.get("custom_type") != ROUTE:
            continue
        data = entry.data
        query = texts.get(str(data.get("input")))
        if query and data.get("why") not in ("pinned",):
            answer = data.get("answer") or None
            about = data.get("editor"), int(data.get("images") or 0), active
            found.append(Case(query, str(data["skill"]), answer, "" if answer else "no_key", *about))
        active = None if data.get("skill") == CHAT else data.get("skill")
    return found


async def evaluate(
    host: Host, cases: Sequence[Case], ask: Asker | None, progress: Callable[[int], None] = lambda done: None
) -> list[tuple[Case, Route]]:
    """Return each case with its route; recorded answers stand for the model where there are any."""
    found = []
    async with AgentRunner(AgentConfig(bare=True), host=host) as agent:
        await agent.open()
        for number, case in enumerate(cases):
            progress(number)
            model: Callable[..., Awaitable[AssistantMessage]] | None = ask
            if case.answer is not None or case.fails:
                model = _recorded(case)
            editor = EditorContext(case.editor) if case.editor else None
            request = RouteRequest(case.query, case.images, editor, case.active, ask=model)
            found.append((case, await choose(host, request, gated_now(agent, request), agent)))
    return found


def _recorded(case: Case) -> Callable[..., Awaitable[AssistantMessage]] | None:
    async def answer(messages: Any, **options: Any) -> AssistantMessage:
        if case.fails == "timeout":
            raise TimeoutError
        if case.fails:
            raise ProviderError("it failed in the recording", kind=ErrorKind.server)
        return AssistantMessage(content=(TextBlock(case.answer or ""),))

    return None if case.fails == "no_key" else answer


def report(results: Sequence[tuple[Case, Route]]) -> dict[str, Any]:
    """Return what the results say.

    Returns:
        ``cases``, ``right``, ``accuracy``; ``abstained``: requests of a skill that the agent itself would answer; ``calls`` and
        ``cost`` in US dollars; ``why``: how often each reason; ``confusion``: rows ``truth``, ``chosen``, ``count`` of the wrong
        ones, most frequent first.
    """
    wrong = Counter((case.truth, route.skill) for case, route in results if route.skill != case.truth)
    right = len(results) - sum(wrong.values())
    confusion: list[Mapping[str, Any]] = [
        {"truth": truth, "chosen": chosen, "count": count} for (truth, chosen), count in wrong.most_common()
    ]
    return {
        "cases": len(results),
        "right": right,
        "accuracy": round(right / len(results), 4) if results else None,
        "abstained": sum(route.skill == CHAT != case.truth for case, route in results),
        "calls": sum(route.calls for _, route in results),
        "why": dict(Counter(route.why for _, route in results).most_common()),
        "confusion": confusion,
    }
