"""Why the stand-in chooses an action: what ``skillkit run --explain`` shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_skills import Explanation, Near

from .choice import Choice, Chooser, Verdict, is_meant, standing
from .descriptors import label, skill_of
from .filling import Filled, fill
from .ranking import Candidate

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["OfflineExplains"]

_VERDICTS = {
    Verdict.run: "every word of the request has a use, and all that is required is stated",
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
        choice = Chooser(self._host).choice(request, agent.tools)
        chosen = choice.candidate if choice.verdict is Verdict.run else None
        near = [Near(label(c.tool), round(c.score, 3), self._why(request, c, choice)) for c in choice.candidates]
        why = self._reasons(choice)
        if chosen is not None:
            above = [one for c, one in zip(choice.candidates, near, strict=True) if c.score > chosen.score]
            why += [f"{one.name} has a higher score, but {one.why}" for one in above]
        called = " and ".join(label(c.candidate.tool) for c in choice.all if chosen and c.candidate)
        return Explanation("offline", called or None, tuple(why), near)

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

    def _why(self, request: str, candidate: Candidate, choice: Choice) -> str:
        chosen = choice.candidate if choice.verdict is Verdict.run else None
        if candidate is chosen:
            return "chosen"
        filled = fill(request, candidate.tool, self._host.cwd)
        against = [f"has no use for {', '.join(filled.unused)}"] if filled.unused else []
        against += [f"misses {', '.join(filled.missing)}"] if filled.missing else []
        against += [] if is_meant(request, candidate, filled) else ["no word of its own is said"]
        against += filled.problems
        if not against and chosen is not None and choice.filled is not None:
            against = [_decided(candidate, filled, chosen, choice.filled)]
        return "; ".join(against)


def _decided(candidate: Candidate, filled: Filled, chosen: Candidate, taken: Filled) -> str:
    """Why an action that could run, too, is not the chosen one: the first part of their standing that differs."""
    its, best = standing(candidate, filled), standing(chosen, taken)
    part = next((i for i, (one, other) in enumerate(zip(its, best, strict=True)) if one != other), None)
    skill = skill_of(chosen.tool)
    if part is None:
        if skill_of(candidate.tool) == skill:
            return f"it fits alike, and {label(chosen.tool)} is before it in the skill"
        named = chosen.named and not candidate.named
        return f"the request names {skill}" if named else f"it fits less well by its words than {skill}"
    reasons = {2: f"the request is an example of {skill}", 3: "it takes more of the request unread"}
    return reasons.get(part, "its own words account for less of the request")
