"""A model that answers by what it is asked, and steps as models write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import skillkit_commands.plugin
import skillkit_engine_automation.plugin
import skillkit_engines.plugin
import skillkit_planner.plugin
import skillkit_routing.plugin
import skillkit_sessions.plugin
import skillkit_skills.plugin
import skillkit_toolpacks.plugin

FAMILY = (
    ("commands", skillkit_commands.plugin),
    ("sessions", skillkit_sessions.plugin),
    ("skills", skillkit_skills.plugin),
    ("engines", skillkit_engines.plugin),
    ("engine-automation", skillkit_engine_automation.plugin),
    ("routing", skillkit_routing.plugin),
    ("toolpacks", skillkit_toolpacks.plugin),
    ("planner", skillkit_planner.plugin),
)


class Answers:
    """A model: what it chooses, and what each skill answers, by the words of its request.

    ``Answers(choice, {"Research X": "It is cold."})``; a value is a turn, or a list of turns for one request after the other.
    """

    def __init__(self, choice: Any, said: Mapping[str, Any]) -> None:
        self.choice = choice
        self.said = {name: list(turns) if isinstance(turns, list) else [turns] for name, turns in said.items()}
        self.asked: list[str] = []

    def __call__(self, request: Any) -> Any:
        text = request.messages[-1].text if request.messages[-1].role == "user" else ""
        if "You decide which skill" in (request.system or ""):
            return self.choice if isinstance(self.choice, str) else json.dumps(self.choice)
        if "You repair a plan" in (request.system or ""):
            text = "repair"
        if "A step of a plan has failed" in (request.system or ""):
            text = "replan"
        words = [m.text for m in request.messages if m.role == "user"] if not text else [text]
        name = next(name for name in self.said if any(name in one for one in words))
        self.asked.append(name)
        turns = self.said[name]
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        return turn(request) if callable(turn) else turn


def choice(*steps: Mapping[str, Any], skill: str = "", confidence: float = 0.7) -> dict[str, Any]:
    """What a model answers to the question which skill it is; a step is ``{"skill_name", "sub_query", "depends_on"}``."""
    main = skill or (steps[0]["skill_name"] if steps else "chat")
    return {"skill": main, "confidence": confidence, "reason": "several parts", "steps": list(steps)}


def step(skill: str, words: str, *after: int, **more: Any) -> dict[str, Any]:
    """A step as a model writes it."""
    return {"skill_name": skill, "sub_query": words, "depends_on": list(after), **more}


def last_plan(agent: Any) -> Any:
    """The newest plan of the session of an agent, as ``/plans`` and ``skillkit plans`` see it."""
    from skillkit_planner import plans_of

    return plans_of(agent.host, agent.session)[-1]


def states(agent: Any) -> dict[int, str]:
    """The states of its steps."""
    return {number: one.state for number, one in last_plan(agent).steps.items()}
