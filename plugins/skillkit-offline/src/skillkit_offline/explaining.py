"""Why the stand-in chooses an action: what ``skillkit run --explain`` shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_skills.explaining import Explanation, Near

from .choice import Choice, Verdict
from .descriptors import label
from .filling import fill
from .ranking import Candidate

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["OfflineExplains"]

_VERDICTS = {
    Verdict.run: "every word of the request has a use, all that is required is stated, and no other skill fits as well",
    Verdict.incomplete: "it is meant, but cannot run with what the request states",
    Verdict.tie: "several skills fit alike",
    Verdict.no_fit: "no action has a use for every word of the request",
}


class OfflineExplains:
    """Asks the stand-in what it would choose among the tools of an agent."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def explain(self, agent: AgentRunner, request: str) -> Explanation | None:
        """Return its choice, with the actions that came near and what speaks against each."""
        from .adapter import OfflineAdapter

        choice = OfflineAdapter(self._host).choice(request, agent.toolbox.tools())
        chosen = choice.candidate if choice.verdict is Verdict.run else None
        near = [Near(label(c.tool), round(c.score, 3), self._why(request, c, chosen)) for c in choice.candidates]
        return Explanation("offline", label(chosen.tool) if chosen else None, tuple(self._reasons(choice)), near)

    def _reasons(self, choice: Choice) -> list[str]:
        said = [_VERDICTS[choice.verdict]]
        best, filled = choice.candidate, choice.filled
        if choice.verdict is Verdict.no_fit and choice.unused:
            said.append("not understood: " + ", ".join(f'"{word}"' for word in choice.unused))
        if best is not None and choice.verdict is not Verdict.no_fit:
            said += ["the request names the skill"] if best.named else []
            said += (
                ["the request is an example of the skill" if best.exact else "it is like an example"]
                if best.alike
                else []
            )
        if filled is not None and choice.verdict is not Verdict.no_fit:
            said += [f"{name}: {value!r}" for name, value in filled.args.items()]
            said += [f"missing: {name}" for name in filled.missing]
            said += list(filled.problems)
        return said

    def _why(self, request: str, candidate: Candidate, chosen: Candidate | None) -> str:
        if candidate is chosen:
            return "chosen"
        filled: Any = fill(request, candidate.tool, self._host.cwd)
        against = [f"has no use for {', '.join(filled.unused)}"] if filled.unused else []
        against += [f"misses {', '.join(filled.missing)}"] if filled.missing else []
        against += [] if filled.anchored or candidate.alike else ["no word of its own is said"]
        return "; ".join((*against, *filled.problems))
