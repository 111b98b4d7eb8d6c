"""Surveys of tools: kept in the sessions before a person is asked, asked, and answered or put off (spec, section 7).

A tool whose annotation ``asks`` says that it asks first and acts afterwards can run again. So its survey waits in the session
where nobody answers, also when the process dies meanwhile, and the tool that runs again gets the answers from :func:`ask`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ..contracts.approver import ApprovalDecision
from ..contracts.session_store import ASKED, RESOLVED, custom_type
from ..contracts.user_interface import Answers, Survey, UserInterface
from ..errors import Suspended, in_words
from ..events.types import QuestionAnsweredEvent, QuestionAskedEvent
from ..frozen import same_json, thaw
from .approval import KeptQuestion
from .suspension import Suspension, survey_questions

if TYPE_CHECKING:
    from .run import Run
    from .tool_call import ToolCallRun

__all__ = ["ask"]

NOBODY = ApprovalDecision("defer", "nobody is there to answer")


async def ask(
    run: Run, call: ToolCallRun, ui: UserInterface | None, survey: Survey, wait: bool, place: int
) -> Answers | None:
    """Return the answers to the survey of this place in the call; see :meth:`~skillkit_core.tools.ToolContext.ask`."""
    if call.resumed and (known := _known(run, call.call.id, place, survey)) is not None:
        return survey.answer(thaw(known.get("answer") or {})) if known["decision"] == "allow" else None
    waiting = replace(call.suspended(survey_questions(survey)), survey=survey)
    decided = call.take_decision(survey)
    question = KeptQuestion(run, waiting, call.question if decided is not None else "")
    can_wait = call.asks and question.deferrable
    if decided is None:
        if ui is None and not (can_wait and (wait or call.resumed)):
            return None
        if can_wait:
            await question.keep(call.unstarted)
        await call.fire(QuestionAskedEvent, id=question.id, survey=survey.to_dict())
        try:
            decided = NOBODY if ui is None else await ui.decide(question.id, survey)
        except Exception as error:
            if can_wait:
                await question.resolve(ApprovalDecision("deny", f"the user interface failed: {in_words(error)}"))
            raise
    answers = survey.answer(dict(decided.answer or {})) if decided.decision == "allow" else None
    if can_wait:
        await question.resolve(replace(decided, answer=answers))
    if can_wait and decided.decision == "defer":
        raise Suspended(Suspension("", (replace(waiting, question=question.id),)), run.session.id)
    told = answers.to_dict() if answers is not None else None
    await call.fire(QuestionAnsweredEvent, id=question.id, by=decided.origin, answers=told)
    return answers


def _known(run: Run, call_id: str, place: int, survey: Survey) -> Mapping[str, Any] | None:
    """Return what was decided about the survey of this place before the run was cut off; no answer to a secret is kept."""
    asked: dict[Any, Any] = {}
    done = []
    for entry in reversed(list(takewhile(lambda entry: entry.type != "message", reversed(run.session.path())))):
        kind, data = custom_type(entry), entry.data
        if kind == ASKED and data.get("call") == call_id and data.get("survey"):
            asked[data.get("id")] = thaw(data["survey"])
        elif kind == RESOLVED and data.get("id") in asked and data.get("decision") != "defer":
            done.append((asked[data["id"]], data))
    secret = any(question.kind == "secret" for question in survey.questions)
    if secret or len(done) <= place or not same_json(done[place][0], run.redact(survey.to_dict())):
        return None
    return done[place][1]
