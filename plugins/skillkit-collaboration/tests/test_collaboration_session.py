"""Sessions by the ids of phase 10."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from collaboration_stage import A, Answers, C, P, R, chat, message, types
from skillkit_collaboration import (
    AgentMessage,
    Choice,
    CollaborationConfig,
    CollaborationSession,
    as_json,
    records_of,
)
from skillkit_engines import Task, ToolPack

from skillkit_core import AgentConfig, AgentError, AgentRunner, Limits, Skill, Tool, hookimpl
from skillkit_core.descriptors import Factory
from skillkit_core.testing import Call, Hang, Reply, ScriptedUser

CRITIC = {"roles": {"research": "generator", "critic": "critic"}, "participants": ["research", "critic"]}
DONE = {"structured_data": {"no_further_changes": True}}


@pytest.fixture
def pair(engine_skill: Any) -> None:
    engine_skill("research")
    engine_skill("critic")


def test_s10_1_models_have_the_fields_of_the_document_and_come_back_from_json():
    given = AgentMessage(sender="a", recipient="b", message_type="critique", content="x", references=("doc:1",))
    assert given.status == "needs_revision" and AgentMessage.model_validate_json(given.model_dump_json()) == given
    config = CollaborationConfig(participants=("a", "b"), convergence={"max_turns": 4}, roles={"a": "generator"})
    assert CollaborationConfig.model_validate_json(config.model_dump_json()) == config
    session = CollaborationSession(session_id="c1", participants=("a", "b"), messages=(given,), current_turn=1)
    assert CollaborationSession.model_validate_json(session.model_dump_json()) == session
    assert set(json.loads(session.model_dump_json())) == {
        "session_id", "participants", "messages", "convergence_criteria", "current_turn", "status",
    }  # fmt: skip


@pytest.mark.smoke
def test_s10_2_a_critic_asks_for_a_revision_and_approves_it_which_is_the_result(together, pair):
    said = {"research": [message("proposal", "Ice."), message("revision", "Ice flows.")], "critic": [C, A]}
    agent, _ = together(said, **CRITIC, convergence={"require_approval": True})
    response, record = chat(agent)
    assert types(record) == ["research proposal", "critic critique", "research revision", "critic approval"]
    assert record.status == "converged" and record.result == "Ice flows." and response.content == "Ice flows."
    assert record.reason == "approval received from critic"


def test_s10_3_an_approval_ends_a_session(together, pair):
    _, record = chat(together({"research": P, "critic": A}, **CRITIC)[0])
    assert (record.status, record.turn) == ("converged", 2)


def test_s10_3_turns_that_are_used_up_end_a_session_with_the_best_text_and_a_warning(together, pair):
    said = {"research": [message("proposal", "One."), message("revision", "Two.")], "critic": C}
    agent, _ = together(said, **CRITIC, convergence={"max_turns": 3})
    response, record = chat(agent)
    assert (record.status, record.trace().outcome, record.reason) == (
        "max_turns_reached",
        "max_turns",
        "max turns reached",
    )
    assert response.content == "Two." and agent.session.notes("engines.task")[-1].data["status"] == "partial"


def test_s10_3_a_confidence_above_the_threshold_ends_a_session_and_an_equal_one_does_not(together, pair):
    said = {
        "research": [P, R], "critic": C,
        "confidence": [json.dumps({"confidence": 0.8, "reason": "good"}), json.dumps({"confidence": 0.9, "reason": "ok"})],
    }  # fmt: skip
    agent, model = together(said, **CRITIC, convergence={"confidence": 0.8})
    _, record = chat(agent)
    assert (record.status, record.turn) == ("converged", 3)
    assert model.asked == ["research", "confidence", "critic", "research", "confidence"]
    assert record.decisions[-1].by == "model" and "0.9 is above 0.8" in record.reason


def test_s10_3_no_further_changes_from_everybody_end_a_session_and_from_one_do_not(together, pair):
    said = {"research": [P, message("proposal", "Mine.", **DONE)], "critic": [message("proposal", "Yours.", **DONE)]}
    agent, _ = together(said, participants=["research", "critic"])
    _, record = chat(agent)
    assert (record.status, record.turn, record.result) == ("converged", 3, "Mine.")
    assert record.reason == "no further changes from all participants"


def test_s10_3_where_an_approval_is_required_nothing_else_converges(together, pair):
    said = {"research": message("proposal", "Mine.", **DONE), "critic": message("proposal", "Yours.", **DONE)}
    agent, model = together(
        said,
        participants=["research", "critic"],
        convergence={"require_approval": True, "confidence": 0.1, "max_turns": 4},
    )
    _, record = chat(agent)
    assert record.status == "max_turns_reached" and "confidence" not in model.asked


def test_s10_3_a_budget_ends_a_session_with_what_it_has_and_says_so(together, pair):
    agent, model = together({"research": P, "critic": C}, **CRITIC, limits=Limits(requests=2))
    response, record = chat(agent)
    assert record.status == "failed" and record.reason.startswith("budget: ")
    assert response.content == "proposal text" and len(model.asked) == 2


def test_s10_3_a_cancelled_session_says_so_in_its_notes_and_goes_on_when_it_is_resumed(together, pair):
    async def main() -> Any:
        waits = asyncio.Event()

        said = {"research": P, "critic": [Hang(started=waits), A]}
        agent, _ = together(said, **CRITIC)
        async with agent:
            task = asyncio.ensure_future(agent.chat("/pair Write."))
            await waits.wait()
            agent.abort()
            with pytest.raises(AgentError):
                await task
            cut = [note.data["reason"] for note in agent.session.notes("collaboration.end")]
            response = await agent.resume()
            return cut, response, records_of(agent.host, agent.session)

    cut, response, records = asyncio.run(main())
    assert cut == ["cancelled"] and response.content == "proposal text"
    assert [(one.status, types(one)) for one in records] == [("converged", ["research proposal", "critic approval"])]


def test_s10_4_round_robin_keeps_the_order_of_the_participants(together, engine_skill, pair):
    engine_skill("third")
    said = dict.fromkeys(("third", "research", "critic"), P)
    agent, model = together(said, participants=["third", "research", "critic"], convergence={"max_turns": 5})
    chat(agent)
    assert model.asked == ["third", "research", "critic", "third", "research"]


def test_s10_4_by_roles_a_critic_never_opens_and_whoever_has_to_answer_speaks(together, pair):
    said = {
        "research": [P, message("info_response", "In 1912."), R],
        "critic": [message("request_info", "When?", recipient="research"), C, A],
    }
    given = {**CRITIC, "participants": ["critic", "research"], "supervisor_strategy": "role_based"}
    _, record = chat(together(said, **given, convergence={"max_turns": 10})[0])
    assert types(record) == [
        "research proposal", "critic request_info", "research info_response", "critic critique", "research revision",
        "critic approval",
    ]  # fmt: skip


def test_s10_4_a_model_chooses_the_speaker_and_where_it_names_nobody_the_order_counts(together, pair):
    said = {
        "speaker": [
            json.dumps({"speaker": "research", "reason": "it knows", "instruction": "Begin with ice."}),
            *['{"speaker": "nobody"}', "no object", '{"speaker": 3}', '{"speaker": "supervisor"}'],
        ],
        "research": P, "critic": A,
    }  # fmt: skip
    agent, model = together(said, **CRITIC, supervisor_strategy="llm")
    _, record = chat(agent)
    assert model.asked == ["speaker", "research", *["speaker"] * 4, "critic"]
    assert types(record) == ["supervisor delegation", "research proposal", "critic approval"]
    first, second, _ = record.decisions
    assert (first.choice, first.who, first.by, first.reason) == ("research", "llm", "model", "it knows")
    assert (second.choice, second.by) == ("critic", "rule") and "named nobody 4 times" in second.reason
    assert "Begin with ice." in model.texts("research")[0]


def test_s10_4_a_strategy_of_a_plugin_leads_and_an_unknown_one_is_refused(together, pair):
    class Backwards:
        async def next(self, session: Any, desk: Any) -> Choice:
            return Choice(session.participants[-1 - session.current_turn % 2], "backwards")

        def violated(self, session: Any, speaker: str, desk: Any) -> str:
            return "fail"

    class Brings:
        @hookimpl(optionalhook=True)
        def register_strategies(self, register: Any) -> None:
            register(Factory("backwards", lambda host: Backwards()))

    given = {"participants": ["research", "critic"], "supervisor_strategy": "backwards"}
    agent, model = together({"critic": P, "research": A}, **given, plugins=[("brings", Brings())])
    assert chat(agent)[1].status == "converged" and model.asked == ["critic", "research"]
    agent, model = together({}, **given)
    assert "'backwards' is none of round_robin, role_based, llm" in _refusal(agent, model)


def test_s10_4_a_plugin_chooses_the_speaker_before_the_strategy(together, pair):
    class Brings:
        @hookimpl(optionalhook=True)
        async def choose_speaker(self, session: Any) -> str | None:
            return "critic" if session.current_turn == 0 else None

    agent, model = together(
        {"critic": P, "research": A}, participants=["research", "critic"], plugins=[("b", Brings())]
    )
    _, record = chat(agent)
    assert model.asked[0] == "critic" and record.decisions[0].who == "b"


def _refusal(agent: Any, model: Answers) -> str:
    """Return why a pattern may not begin, after no model was asked."""
    from skillkit_engines import catalog_of

    found = catalog_of(agent.host).errors(agent.host.skills.get("pair"))
    assert model.asked == []
    return " ".join(found)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"participants": ["research"]}, "at least 2 participants"),
        ({"participants": ["research", "stranger"]}, "there is no skill 'stranger'"),
        ({"participants": ["research", "research"]}, "needs an alias of its own"),
        ({"participants": ["research", "research"], "aliases": {"a": "research"}}, "needs an alias of its own"),
        ({"participants": ["research", "critic"], "roles": {"nobody": "critic"}}, "nobody takes no part"),
        ({"participants": ["research", "critic"], "aliases": {"supervisor": "critic"}}, "names of their own"),
        ({"participants": ["research", "critic"], "aliases": {"Research": "critic"}}, "names of their own"),
        ({"participants": ["research", "robot:x"]}, "kind 'robot'"),
        ({"participants": ["research", "agent:x"]}, "no file defines an agent 'x'"),
        ({"participants": ["research", "critic"], "tool_packs": ["no-pack"]}, "no pack 'no-pack'"),
        ({"participants": ["research", "critic"], "optional": ["nobody"]}, "nobody takes no part"),
        ({"participants": ["research", "critic"], "prompts": {"nobody": "x"}}, "nobody takes no part"),
    ],
)  # fmt: skip
def test_s10_5_what_cannot_be_is_refused_before_the_first_model_call(together, pair, given, why):
    agent, model = together({}, **given)
    assert why in _refusal(agent, model)


def test_s10_5_one_skill_takes_part_twice_with_two_aliases_and_two_prompts(together, pair):
    agent, model = together(
        {"optimist": P, "pessimist": A},
        participants=["research", "research"],
        aliases={"optimist": "research", "pessimist": "research"},
        prompts={"optimist": "See the good.", "pessimist": "See the bad."},
    )
    _, record = chat(agent)
    assert types(record) == ["optimist proposal", "pessimist approval"]
    assert "See the good." in model.texts("optimist")[0] and "See the good." not in model.texts("pessimist")[0]


def _fails(request: Any) -> Any:
    return json.dumps({"rejected": True, "reason": "not mine"})


def test_s10_6_a_turn_that_fails_is_tried_once_more_and_then_the_session_fails(together, pair):
    agent, model = together({"research": P, "critic": _fails}, **CRITIC)
    with pytest.raises(AgentError, match="participant: critic failed: rejected: not mine"):
        chat(agent)
    assert model.asked == ["research", "critic", "critic"]
    notes = [note.data for note in agent.session.notes("collaboration.violation")]
    assert [(one["rule"], one["outcome"], one["message"]["status"]) for one in notes] == [
        ("failed", "retry", "failed"), ("failed", "fail", "failed"),
    ]  # fmt: skip


def test_s10_6_a_turn_that_failed_once_and_then_succeeds_counts(together, pair):
    _, record = chat(together({"research": P, "critic": [_fails, A]}, **CRITIC)[0])
    assert record.status == "converged" and [one.outcome for one in record.refusals] == ["retry"]


def test_s10_6_an_optional_participant_that_fails_is_left_out(together, pair, engine_skill):
    engine_skill("third")
    given = {**CRITIC, "participants": ["research", "third", "critic"], "optional": ["third"]}
    _, record = chat(together({"research": P, "third": _fails, "critic": A}, **given)[0])
    assert record.status == "converged" and [one.outcome for one in record.refusals] == ["retry", "skip"]
    assert types(record) == ["research proposal", "critic approval"] and record.turn == 3


def test_s10_6_a_participant_that_takes_too_long_is_stopped_and_its_tool_ends(together, engine_skill, pair):
    ended: list[str] = []

    async def hang(args: Any, ctx: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")
        return ""

    engine_skill("slow", tools=["hang"])
    tool = Tool("hang", "Hang.", hang, annotations={"mutates": "none"})
    given = {"participants": ["research", "slow"], "optional": ["slow"], "timeout_s": 0.05}
    agent, _ = together(
        {"research": P, "slow": Reply(calls=[Call("hang")])}, **given, tools=(tool,), convergence={"max_turns": 2}
    )
    _, record = chat(agent)
    assert [(one.rule, one.outcome) for one in record.refusals] == [("timeout", "retry"), ("timeout", "skip")]
    assert ended == ["hang", "hang"]


def test_s10_7_participants_see_the_thread_and_nothing_of_the_work_of_others(together, engine_skill, pair):
    async def secret(args: Any, ctx: Any) -> str:
        return "the private finding"

    engine_skill("digger", tools=["secret"])
    tool = Tool("secret", "Look.", secret, annotations={"mutates": "none"})
    said = {"digger": [Reply(calls=[Call("secret")]), message("proposal", "Shared.")], "critic": A}
    agent, model = together(said, participants=["digger", "critic"], tools=(tool,))
    chat(agent)
    (told,) = model.texts("critic")
    assert "Shared." in told and "the private finding" not in told
    assert [tool.name for tool in model.requests[-1].tools] == []


def test_s10_7_a_thread_over_the_limit_is_shortened_with_an_event_and_the_newest_text_stays(together, pair):
    said = {"research": [message("proposal", "old " * 300), message("revision", "new " * 200)], "critic": [C, A]}
    agent, model = together(said, **CRITIC, settings={"collaboration.thread_chars": 1500})
    seen: list[Any] = []
    agent.events.observe(seen.append, ["collaboration_compacted"])
    chat(agent)
    last = model.texts("critic")[-1]
    assert [(one.participant, one.shortened) for one in seen] == [("critic", 1)]
    assert "new " * 200 in last and "old " * 300 not in last and "characters are left out here" in last


class Planned(Answers):
    """Answers the choice of a skill with steps, and everything else by who is asked."""

    def __init__(self, steps: Any, said: Any) -> None:
        super().__init__(said)
        self.steps, self.system = steps, ""

    def __call__(self, request: Any) -> Any:
        if "You decide which skill" in (request.system or ""):
            self.system = request.system
            about = {"skill": "research", "confidence": 0.9, "reason": "parts", "steps": self.steps}
            return json.dumps(about)
        if "Save it" in request.messages[-1].text:
            self.asked.append("save")
            return "Saved: " + ("checked" if "checked text" in "".join(m.text for m in request.messages) else "nothing")
        return super().__call__(request)


SAVE = {"skill_name": "save", "sub_query": "Save it", "depends_on": [1]}


@pytest.mark.parametrize(
    "first",
    [{"skill_name": "pair"}, {"collaboration": {**CRITIC, "convergence": {"require_approval": True}}}],
    ids=["a pattern", "a collaboration"],
)
def test_s10_8_a_step_of_a_plan_is_a_session_whose_result_the_next_step_gets(together, pair, engine_skill, first):
    engine_skill("save")
    steps = [{**first, "sub_query": "Research glaciers, and verify it", "depends_on": []}, SAVE]
    said = {"research": [P, message("revision", "checked text")], "critic": [C, A]}
    pattern = {**CRITIC, "description": "Research that is verified."}
    agent, model = together(Planned(steps, said), **pattern, plugins=["routing", "planner"], session="new")

    async def main() -> Any:
        async with agent:
            response = await agent.chat("research glaciers, verify the facts, then save it")
            return response, [n.data for n in agent.session.notes("planner.step") if n.data["state"] == "completed"]

    response, done = asyncio.run(main())
    assert model.asked == ["research", "critic", "research", "critic", "save"] and "Saved: checked" in response.content
    assert done[0]["result"]["response_text"] == "checked text" and done[0]["result"]["outcome"] == "converged"
    assert done[0]["usage"]["calls"] == 4


def test_s8_5_a_model_that_chooses_may_let_skills_work_together_with_a_pack_that_each_of_them_gets(
    together, pair, engine_skill
):
    """The step is as a model with a strict schema writes it: what it does not name is empty."""

    class Packs:
        @hookimpl(optionalhook=True)
        def register_packs(self, register: Any) -> None:
            register(ToolPack("eyes", "Look at pictures.", ("look",)))
            register(ToolPack("hands", "Take things.", ("grasp",)))

    engine_skill("save")
    both = {"participants": ["research", "critic"], "tool_packs": ["eyes"]}
    first = {"step_id": 1, "skill_name": "", "subgraph_name": None, "collaboration": both, "tool_packs": []}
    steps = [
        {**first, "sub_query": "Research glaciers together", "depends_on": []},
        {**SAVE, "step_id": 2, "subgraph_name": None, "collaboration": None, "tool_packs": []},
    ]
    tool = Tool("look", "Look.", _nothing, annotations={"mutates": "none"})
    said = {"research": message("proposal", "checked text"), "critic": A}
    plugins = ["routing", "planner", ("packs", Packs())]
    agent, model = together(Planned(steps, said), **CRITIC, plugins=plugins, tools=(tool,), session="new")
    response = asyncio.run(_answer(agent, "let research and critic work on glaciers together, then save it"))
    assert "Saved: checked" in response.content
    assert '"participants": ["NAME", "NAME"]' in model.system and "- eyes: Look at pictures." in model.system
    assert "- hands" not in model.system, "a pack whose tools are not there is not offered"
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["look"], ["look"]]


async def _answer(agent: Any, text: str) -> Any:
    async with agent:
        return await agent.chat(text)


def test_s10_8_a_plan_without_a_session_stays_one_step_after_the_other(together, pair, engine_skill):
    engine_skill("save")
    steps = [{"skill_name": "research", "sub_query": "Research glaciers", "depends_on": []}, SAVE]

    class Plain(Planned):
        def __call__(self, request: Any) -> Any:
            if request.messages[-1].text.startswith("Research glaciers"):
                self.asked.append("research")
                return "Ice."
            return super().__call__(request)

    agent, model = together(Plain(steps, {}), **CRITIC, plugins=["routing", "planner"], session="new")

    async def main() -> None:
        async with agent:
            await agent.chat("research glaciers, then save it")

    asyncio.run(main())
    assert model.asked == ["research", "save"]


def test_s10_8_a_call_of_a_participant_waits_for_a_decision_and_runs_once_when_the_session_is_resumed(
    together, engine_skill, pair
):
    from skillkit_core import ApprovalDecision, Approver

    class Defers(Approver):
        async def approve(self, request: Any) -> ApprovalDecision:
            return ApprovalDecision("defer")

    sends: list[str] = []

    async def send(args: Any, ctx: Any) -> str:
        sends.append("sent")
        return "sent"

    engine_skill("mailer", tool_packs=["post"])

    class Packs:
        @hookimpl(optionalhook=True)
        def register_packs(self, register: Any) -> None:
            register(ToolPack("post", "Send.", ("send",)))

    tool = Tool("send", "Send.", send, annotations={"mutates": "world", "requires_approval": True})
    said = {"mailer": [Reply(calls=[Call("send")]), P], "critic": A}
    given = {"participants": ["mailer", "critic"], "roles": {"critic": "critic"}}
    agent, model = together(said, **given, tools=(tool,), session="new", plugins=[("packs", Packs())])
    agent.configure(approver=Defers())

    async def main() -> Any:
        async with agent:
            first = await agent.chat("/pair Write.")
            waiting = agent.suspension.calls
            second = await agent.resume({call.id: "allow" for call in waiting})
            return first, second, records_of(agent.host, agent.session)

    first, second, (record,) = asyncio.run(main())
    assert first.outcome == "suspended" and second.outcome == "completed" and sends == ["sent"]
    assert types(record) == ["mailer proposal", "critic approval"] and model.asked == ["mailer", "mailer", "critic"]
    assert record.trace().model_calls == 3


def test_s10_9_a_session_takes_no_part_in_another_one(together, pair):
    agent, model = together(
        {},
        participants=["research", "critic"],
        settings={
            "collaboration.patterns": {"pair": {"participants": ["research", "inner"]}, "inner": dict(CRITIC)},
        },
    )
    assert "takes part in none" in _refusal(agent, model)


def test_s10_9_a_participant_begins_no_session_of_its_own(together, pair, engine_skill):
    whys: list[str] = []

    async def again(args: Any, ctx: Any) -> str:
        task = Task("x", ctx.agent, Skill(name="collaboration"), "Again.")
        (impl,) = ctx.agent.host.impls("run_collaboration")
        given = {"collaboration": CRITIC, "task": task}
        whys.append((await impl.function(*(given[name] for name in impl.argnames))).reason)
        return whys[-1]

    engine_skill("digger", tools=["again"])
    tool = Tool("again", "Begin.", again, annotations={"mutates": "none"})
    said = {"digger": [Reply(calls=[Call("again")]), P], "critic": A}
    agent, _ = together(said, participants=["digger", "critic"], tools=(tool,))
    chat(agent)
    assert whys == ["depth: a session of several skills begins none of its own"]


def test_s10_9_none_begins_deeper_than_the_settings_allow(together, pair):
    whys: list[str] = []

    async def begin(args: Any, ctx: Any) -> str:
        async with AgentRunner(AgentConfig(bare=True), name="below") as below:
            task = Task("x", below, Skill(name="collaboration"), "Again.")
            (impl,) = ctx.agent.host.impls("run_collaboration")
            given = {"collaboration": CRITIC, "task": task}
            await below.open()
            whys.append((await impl.function(*(given[name] for name in impl.argnames))).reason)
        return "done"

    class Direct(Answers):
        def __call__(self, request: Any) -> Any:
            return "done" if any(m.role == "tool_result" for m in request.messages) else Reply(calls=[Call("begin")])

    tool = Tool("begin", "Begin.", begin, annotations={"mutates": "none"})
    settings = {"collaboration.depth": 1, "engines.mode": "off"}
    agent, _ = together(Direct({}), **CRITIC, tools=(tool,), settings=settings)

    async def main() -> None:
        async with agent:
            await agent.chat("begin")

    asyncio.run(main())
    assert whys == ["depth: this would be 2 agents below the outermost one; collaboration.depth is 1"]


def test_s10_5_a_skill_that_may_not_work_now_is_refused_before_the_first_model_call(together, engine_skill, pair):
    engine_skill("chapter", requires_editor=True)
    agent, model = together({}, participants=["research", "chapter"])
    with pytest.raises(AgentError, match="ineligible_participant: chapter: requires_editor"):
        chat(agent)
    assert model.asked == []


def test_s10_9_a_skill_whose_own_work_has_led_here_takes_no_part(together, pair, engine_skill):
    whys: list[str] = []

    async def again(args: Any, ctx: Any) -> str:
        task = Task("x", ctx.agent, Skill(name="collaboration"), "Again.")
        (impl,) = ctx.agent.host.impls("run_collaboration")
        given = {"collaboration": {"participants": ["critic", "digger"]}, "task": task}
        whys.append((await impl.function(*(given[name] for name in impl.argnames))).reason)
        return whys[-1]

    engine_skill("digger", tools=["again"])
    tool = Tool("again", "Begin.", again, annotations={"mutates": "none"})

    class Direct(Answers):
        def __call__(self, request: Any) -> Any:
            done = [m.text for m in request.messages if m.role == "tool_result"]
            return "done" if done else Reply(calls=[Call("again")])

    agent, _ = together(Direct({}), **CRITIC, tools=(tool,))

    async def main() -> None:
        async with agent:
            await agent.chat("/digger dig")

    asyncio.run(main())
    assert whys == ["cycle: digger→collaboration→digger"]


def test_s10_11_a_kind_of_participants_of_a_plugin_takes_part_by_the_same_interface(together, pair):
    from skillkit_engines import TaskResult

    class Robots:
        def problem(self, name: str) -> str:
            return "" if name == "r2" else f"there is no robot {name}"

        def tools(self, name: str, task: Any) -> Any:
            return ()

        async def speak(self, name: str, task: Any) -> Any:
            assert "proposal text" in task.context and task.role == "critic"
            return TaskResult("completed", text=A)

    class Brings:
        @hookimpl(optionalhook=True)
        def register_participants(self, register: Any) -> None:
            register(Factory("robot", lambda host: Robots()))

    given = {"participants": ["research", "robot:r2"], "aliases": {"r2": "robot:r2"}, "roles": {"r2": "critic"}}
    _, record = chat(together({"research": P}, **given, plugins=[("brings", Brings())])[0])
    assert types(record) == ["research proposal", "r2 approval"] and record.status == "converged"
    assert as_json(record.trace())["outcome"] == "converged"


def test_s10_11_an_agent_of_a_file_takes_part_with_its_own_prompt_and_tools(together, pair, skillkit_home):
    folder = skillkit_home.config_dir / "agents"
    folder.mkdir(parents=True)
    head = "name: reviewer\ndescription: Reviews.\ntools: look"
    (folder / "reviewer.md").write_text(f"---\n{head}\n---\nYou review sternly.\n")
    tools = tuple(Tool(name, "Look.", _nothing, annotations={"mutates": "none"}) for name in ("look", "other"))
    given = {"participants": ["research", "agent:reviewer"], "aliases": {"stern": "agent:reviewer"}}
    agent, model = together(
        {"research": P, "stern": A},
        **given,
        roles={"stern": "reviewer"},
        plugins=["subagents"],
        tools=tools,
        session="new",
    )
    _, record = chat(agent)
    assert types(record) == ["research proposal", "stern approval"] and record.status == "converged"
    last = model.requests[-1]
    assert "You review sternly." in last.system and [tool.name for tool in last.tools] == ["look"]
    assert record.rows[-1]["session"] is not None and record.calls == 2


async def _nothing(args: Any, ctx: Any) -> str:
    return ""


def test_s10_7_packs_of_the_session_are_for_every_participant_and_no_other_skill(together, pair):
    class Packs:
        @hookimpl(optionalhook=True)
        def register_packs(self, register: Any) -> None:
            register(ToolPack("eyes", "Look.", ("look",)))

    tool = Tool("look", "Look.", _nothing, annotations={"mutates": "none"})
    agent, model = together(
        {"research": P, "critic": A}, **CRITIC, tool_packs=["eyes"], tools=(tool,), plugins=[("packs", Packs())]
    )
    chat(agent)
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["look"], ["look"]]


def test_s10_3_a_person_is_warned_once_where_the_turns_are_used_up(together, pair):
    agent, _ = together({"research": P, "critic": C}, **CRITIC, convergence={"max_turns": 2})
    user = ScriptedUser()
    agent.configure(ui=user)
    chat(agent)
    assert [text for level, text in user.notices if level == "warning" and "max turns" in text] == [
        "pair: max_turns: max turns reached"
    ]


def test_s10_6_a_participant_of_a_plugin_that_raises_has_failed(together, pair):
    class Robots:
        def problem(self, name: str) -> str:
            return ""

        def tools(self, name: str, task: Any) -> Any:
            return ()

        async def speak(self, name: str, task: Any) -> Any:
            raise ZeroDivisionError("a robot broke")

    class Brings:
        @hookimpl(optionalhook=True)
        def register_participants(self, register: Any) -> None:
            register(Factory("robot", lambda host: Robots()))

    given = {"participants": ["research", "robot:x"], "optional": ["robot:x"], "convergence": {"max_turns": 2}}
    _, record = chat(together({"research": P}, **given, plugins=[("brings", Brings())])[0])
    assert [one.outcome for one in record.refusals] == ["retry", "skip"] and "a robot broke" in record.refusals[0].text


@pytest.mark.parametrize(
    "odd",
    [
        '{"message_type": "proposal", "content": "\\ud800 x"}',
        '{"message_type": "Proposal", "content": {"a": 1}, "structured_data": 3, "references": "doc", "recipient": 7}',
        'Here it is:\n```json\n{"message_type": "proposal", "content": "x", "sender": "somebody else"}\n```\nBye.',
    ],
)
def test_s11_3_odd_answers_are_messages_as_far_as_they_can_be(together, pair, odd):
    _, record = chat(together({"research": odd, "critic": A}, **CRITIC, session="new")[0])
    assert types(record) == ["research proposal", "critic approval"]


def test_s10_4_a_question_to_the_supervisor_is_answered_and_takes_no_turn(together, pair):
    said = {
        "research": [message("request_info", "In which language?", recipient="supervisor"), P],
        "info": "In English.", "critic": [message("request_info", "Whose?", recipient="research"), A],
    }  # fmt: skip
    agent, model = together(said, **CRITIC, supervisor_strategy="role_based", convergence={"max_turns": 3})
    _, record = chat(agent)
    assert types(record)[:3] == ["research request_info", "supervisor info_response", "research proposal"]
    assert (
        record.turn == 3 and record.messages[1].content == "In English." and "In English." in model.texts("research")[1]
    )
