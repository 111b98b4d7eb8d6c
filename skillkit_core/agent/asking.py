"""Surveys of tools: kept in the sessions before a person is asked, asked, and answered or put off (spec, section 7).

A tool whose annotation ``asks`` says that it asks first and acts afterwards can run again. So its survey waits in the session
where nobody answers, also when the process dies meanwhile, and the tool that runs again gets the answers from :func:`ask`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..contracts.approver import ApprovalDecision
from ..contracts.session_store import ASKED, RESOLVED, custom_type
from ..contracts.user_interface import Answers, Deferred, Survey, UserInterface
from ..errors import Suspended, in_words
from ..events.types import QuestionAnsweredEvent, QuestionAskedEvent
from ..frozen import same_json, thaw
from .approval import KeptQuestion
from .suspension import Suspension, survey_questions

if TYPE_CHECKING:
    from .run import Run
    from .tool_call import ToolCallRun

__all__ = ["ask"]


async def ask(run: Run, call: ToolCallRun, ui: UserInterface | None, survey: Survey) -> Answers | None:
    """Return the answers to ``survey``; see :meth:`~skillkit_core.tools.ToolContext.ask`."""
    waiting = replace(call.suspended(survey_questions(survey)), survey=survey)
    question = KeptQuestion(run, waiting)
    if (decided := call.take_decision(survey)) is not None:
        given = survey.answer(dict(decided.answer or {}))
        await question.resolve(replace(decided, answer=given))
        await call.fire(QuestionAnsweredEvent, id=question.id, by=decided.origin, answers=given.to_dict())
        return given
    if call.resumed and (kept := _kept(run, call.call.id, survey)) is not None:
        return kept
    can_wait = call.asks and question.deferrable
    if ui is None and not can_wait:
        return None
    if can_wait:
        await question.keep(call.unstarted)
    await call.fire(QuestionAskedEvent, id=question.id, survey=survey.to_dict())
    answers, put_off = None, ui is None
    if ui is not None:
        try:
            answers = await ui.ask(survey)
        except Deferred:
            put_off = True
        except Exception as error:
            if can_wait:
                await question.resolve(ApprovalDecision("deny", f"the user interface failed: {in_words(error)}"))
            raise
    if put_off and can_wait:
        await question.resolve(ApprovalDecision("defer", "nobody is there to answer"))
        raise Suspended(Suspension("", (waiting,)), run.session.id)
    if can_wait:
        declined = ApprovalDecision("deny", "declined")
        await question.resolve(declined if answers is None else ApprovalDecision("allow", answer=answers))
    await call.fire(QuestionAnsweredEvent, id=question.id, answers=answers.to_dict() if answers is not None else None)
    return answers


def _kept(run: Run, call_id: str, survey: Survey) -> Answers | None:
    """Return the answers that the call got before its run was cut off; the answer to a secret question is not kept."""
    if any(question.kind == "secret" for question in survey.questions):
        return None
    told, decision = run.redact(survey.to_dict()), None
    for entry in reversed(run.session.path()):
        if entry.type == "message":
            break
        if entry.data.get("call") != call_id:
            continue
        if custom_type(entry) == RESOLVED:
            decision = decision or entry.data
        elif custom_type(entry) == ASKED:
            if decision is not None and same_json(thaw(entry.data.get("survey")), told):
                return survey.answer(thaw(decision.get("answer") or {})) if decision["decision"] == "allow" else None
            decision = None
    return None
