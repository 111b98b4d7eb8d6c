"""A live session in one process: clients attach, see everything once, speak, decide and leave."""

import asyncio
from pathlib import Path

import pytest
from skillkit_live import FellBehind, Lives

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    ErrorKind,
    Host,
    ImageBlock,
    Origin,
    Provider,
    Selection,
    Survey,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel, VirtualClock

ANNA, BERT = Origin("test", "owner", "anna"), Origin("test", "owner", "bert")


class House:
    """Tools that pay and ask, a guard that asks, and a model that calls what it is told to."""

    def __init__(self, folder):
        self.paid = []
        self.folder = folder
        self.gate = asyncio.Event()
        self.also = None  # what the guard asks instead

    @hookimpl
    def register_adapters(self, register):
        register(Provider("obeys", {"scripted": lambda host, **_: Obeys()}, default_model="m"))

    @hookimpl
    def register_tools(self, register):
        number = {"type": "object", "properties": {"n": {"type": "integer"}}}
        register(Tool("pay", "Pay.", self.pay, number))
        register(Tool("linger", "Wait.", self.linger, number))
        register(Tool("where", "Ask.", self.where, number))
        register(Tool("travel", "Ask first, and book then.", self.travel, number, annotations={"asks": True}))
        register(Tool("delegate", "Ask another agent.", self.delegate, number))

    def pay(self, args, ctx):
        self.paid.append(args["n"])
        return f"paid {args['n']}"

    async def linger(self, args, ctx):
        ctx.on_output("lingering\n")
        await self.gate.wait()
        return "done"

    async def where(self, args, ctx):
        answers = await ctx.ui.ask(Survey("A journey", "", (SurveyQuestion("city", "Where to?"),)))
        return "nowhere" if answers is None else f"to {answers['city']}"

    async def travel(self, args, ctx):
        answers = await ctx.ask(Survey("A journey", "", (SurveyQuestion("city", f"Where to, {args['n']}?"),)))
        if answers is None:
            return "stayed"
        self.paid.append(answers["city"])
        return f"booked {answers['city']}"

    async def delegate(self, args, ctx):
        async with AgentRunner(AgentConfig(provider="obeys")) as agent:
            return (await agent.chat("hello from above")).content

    @hookimpl(phase="guard", tools=("pay",))
    def before_tool_call(self, event):
        return ToolCallEventResult(ask=self.also or f"Pay {event.args['n']}?", ask_key="pay")


class Obeys(ScriptedModel):
    def __init__(self):
        super().__init__([self.answer], repeat=True)
        self.provider = "obeys"

    @staticmethod
    def answer(request):
        last = request.messages[-1]
        if last.role == "tool_result":
            return last.text
        name, _, number = last.text.partition(" ")
        if name == "break":
            return Fail(ErrorKind.invalid_request, "broken", status=400)
        if name in {tool.name for tool in request.tools}:
            return Reply("I will.", calls=[Call(name, {"n": int(n)}, f"call_{n}") for n in (number or "0").split()])
        return f"You said: {last.text}"


CONFIG = AgentConfig(provider="obeys")


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


@pytest.fixture
def lives(house, tmp_path):
    """``lives(**how)`` gives a ``Lives`` over a host with the house."""

    def make(**how):
        host = Host(plugins=[("house", house)], discover=False, cwd=tmp_path, environ={})
        return Lives(host, **how)

    return make


def seen(message):
    """What a message is, in a word."""
    return message.data["event"]["type"] if message.type == "event" else message.type


async def until(client, kind):
    """Read up to a message of a kind, and give all that was read."""
    found = []
    async for message in client:
        found.append(message)
        if seen(message) == kind:
            return found
    raise AssertionError(f"the messages end without {kind}: {[seen(m) for m in found]}")


def text_in(messages):
    events = [m.data["event"] for m in messages if m.type == "event"]
    return "".join(e["event"].get("content", "") for e in events if seen_delta(e))


def seen_delta(event):
    return event["type"] == "message_update" and event["event"]["type"] == "text_delta"


def test_what_two_people_say_at_once_is_said(lives, house):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                says = [live.say("linger", origin=ANNA), live.say("hello", origin=BERT)]
                assert await asyncio.gather(*says) == ["", "q1"]
                house.gate.set()
                await until(client, "agent_settled")
            said = [m.text for m in live.agent.messages if m.role == "user"]
            assert said == ["linger", "hello"]

    asyncio.run(main())


def test_an_agent_inside_the_run_is_seen_and_is_no_new_beginning(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("delegate", origin=ANNA)
                found = await until(client, "agent_settled") + await until(client, "agent_settled")
                paths = {len(m.data["event"]["agent_path"]) for m in found if m.type == "event"}
                assert paths == {1, 2}
                assert [m.type for m in found].count("snapshot") == 1
            async with live.attach() as late:
                assert (await until(late, "snapshot"))[0].data["events"] == []

    asyncio.run(main())


def test_two_clients_see_the_same_messages_by_number(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as one, live.attach() as two:
                await live.say("hello", origin=ANNA)
                first, second = await until(one, "agent_settled"), await until(two, "agent_settled")
            assert [m.to_dict() for m in first] == [m.to_dict() for m in second]
            assert first[0].type == "snapshot" and text_in(first) == "You said: hello"
            numbers = [int(m.id.partition(".")[2]) for m in first[1:]]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))

    asyncio.run(main())


def test_a_client_that_comes_back_gets_what_it_missed_each_message_once(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("one", origin=ANNA)
                first = await until(client, "message_update")
                after = client.after
            async with live.attach() as whole:
                pass
            async with live.attach(after) as client:
                second = await until(client, "agent_settled")
            assert whole and text_in(first) + text_in(second) == "You said: one"
            assert not {m.id for m in first} & {m.id for m in second}
            assert "snapshot" not in {m.type for m in second}

    asyncio.run(main())


def test_a_client_that_comes_in_the_middle_gets_a_snapshot_and_then_the_rest(lives, house):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as first:
                await live.say("linger", origin=ANNA)
                await until(first, "tool_execution_update")
                async with live.attach("other-epoch.7") as late:
                    house.gate.set()
                    found = await until(late, "agent_settled")
            shot = found[0].data
            assert shot["state"] == "running" and [e["type"] for e in shot["entries"]][:1] == ["message"]
            kinds = [event["type"] for event in shot["events"]]
            assert kinds == ["agent_start", "tool_execution_start", "tool_execution_update"]
            assert shot["events"][-1]["output"] == "lingering\n"
            assert "tool_execution_end" in map(seen, found)

    asyncio.run(main())


def test_a_snapshot_holds_nothing_of_an_earlier_run_or_of_the_session_before(lives):
    async def main():
        async with lives() as all_lives:
            live = await all_lives.open(origin=ANNA, config=CONFIG)
            await live.prompt("one", origin=ANNA)
            first = live.agent.session.leaf_id
            with pytest.raises(AgentError, match="broken"):
                await live.prompt("break", origin=ANNA)
            broken = live.snapshot().data["events"]
            await live.prompt("two", origin=ANNA)
            after = live.snapshot().data["events"]
            await live.act("fork", {"entry": first}, ANNA)
            return broken, after, live.snapshot().data

    broken, after, copy = asyncio.run(main())
    assert [event["message"]["error"] for event in broken] == ["broken"] and after == []
    said = [e["data"]["message"]["content"][0]["text"] for e in copy["entries"] if e["type"] == "message"]
    assert copy["events"] == [] and said == ["one", "You said: one"]


def test_the_first_decision_counts_and_the_others_see_who_decided(lives, house):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as one, live.attach() as two:
                await live.say("pay 5", origin=ANNA)
                question = (await until(one, "question"))[-1].data["question"]
                assert live.state == "asking" and question["questions"][0]["text"] == "Pay 5?"
                assert await live.answer(question["id"], ApprovalDecision("allow"), BERT) == "taken"
                assert await live.answer(question["id"], ApprovalDecision("deny"), ANNA) == "late"
                assert await live.answer("nothing", ApprovalDecision("deny"), ANNA) == "unknown"
                told = (await until(two, "question_answered"))[-1].data
                assert told["by"]["id"] == "bert" and told["decision"] == "allow"
                await until(one, "agent_settled")
            assert house.paid == [5]

    asyncio.run(main())


def test_a_survey_is_answered_by_any_client_and_a_wrong_answer_is_refused(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("where", origin=ANNA)
                question = (await until(client, "question"))[-1].data["question"]
                with pytest.raises(UsageError, match="no question 'town'"):
                    await live.answer(question["id"], {"town": "Rome", "city": "Rome"}, ANNA)
                assert await live.answer(question["id"], {"city": "Oslo"}, ANNA) == "taken"
                assert text_in(await until(client, "agent_settled")).endswith("to Oslo")

    asyncio.run(main())


@pytest.mark.parametrize(("given", "said"), [({"city": "Oslo"}, "booked Oslo"), (None, "stayed")])
def test_the_survey_of_a_tool_is_one_question_and_its_answer_names_who_gave_it(lives, given, said):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("travel 1", origin=ANNA)
                found = await until(client, "question")
                question = found[-1].data["question"]
                asked = [m.data["event"] for m in found if seen(m) == "question_asked"]
                assert [event["id"] for event in asked] == [question["id"]]
                assert [w.question["id"] for w in await all_of.inbox()] == [question["id"]]
                assert [q["id"] for q in live.snapshot().data["questions"]] == [question["id"]]
                assert await live.answer(question["id"], given, BERT) == "taken"
                found = await until(client, "agent_settled")
                answered = [m.data["event"] for m in found if m.type == "event" and seen(m) == "question_answered"]
                assert [(event["id"], event["by"]["id"]) for event in answered] == [(question["id"], "bert")]
                told = [m.data for m in found if m.type == "question_answered"]
                assert [data["by"]["id"] for data in told] == ["bert"]
                assert text_in(found).endswith(said)

    asyncio.run(main())


@pytest.mark.parametrize(("given", "booked"), [({"city": "Oslo"}, ["Oslo"]), (None, [])])
def test_the_survey_of_a_tool_that_nobody_is_there_to_answer_waits_in_the_session(lives, house, given, booked):
    async def main():
        async with lives(clock=VirtualClock(), idle=10_000) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("travel 1", origin=ANNA)
                old = (await until(client, "question"))[-1].data["question"]
            await live.agent.wait_idle()
            assert live.state == "suspended" and house.paid == []
            (waiting,) = await all_of.inbox()
            assert waiting.question["kind"] == "survey" and waiting.question["survey"] == old["survey"]
            await live.aclose()
            live = await all_of.open(live.id, origin=BERT, config=CONFIG)
            async with live.attach() as client:
                (question,) = (await until(client, "snapshot"))[0].data["questions"]
                with pytest.raises(UsageError, match="no question 'town'"):
                    await live.answer(question["id"], {"town": "Rome", "city": "Rome"}, BERT)
                with pytest.raises(UsageError, match="mapping"):
                    await live.answer(question["id"], ApprovalDecision("allow"), BERT)
                assert await live.answer(question["id"], given, BERT) == "taken"
                assert await live.answer(question["id"], {"city": "Rome"}, ANNA) == "late"
                found = await until(client, "agent_settled")
            events = [m.data["event"] for m in found if m.type == "event" and seen(m) == "question_answered"]
            assert [event["by"]["id"] for event in events] == (["bert"] if given else [])
            assert house.paid == booked and await all_of.inbox() == []

    asyncio.run(main())


def test_two_surveys_that_wait_are_answered_by_two_people_at_once(lives, house):
    async def main():
        async with lives(clock=VirtualClock(), idle=10_000) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("travel 1 2", origin=ANNA)
                await until(client, "question")
            await live.agent.wait_idle()
            one, two = (question["id"] for question in live.waiting())
            async with live.attach() as client:
                answers = [live.answer(one, {"city": "Oslo"}, ANNA), live.answer(two, {"city": "Rome"}, BERT)]
                assert await asyncio.gather(*answers) == ["taken", "taken"]
                await until(client, "agent_settled")
            assert sorted(house.paid) == ["Oslo", "Rome"] and live.state == "idle"

    asyncio.run(main())


@pytest.mark.parametrize("tool", ["pay", "travel"])
def test_an_answer_to_a_question_that_was_asked_again_meanwhile_does_not_count(lives, house, tool):
    async def main():
        async with lives(clock=VirtualClock(), idle=10_000) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say(f"{tool} 1 2", origin=ANNA)
                await until(client, "question")
            await live.agent.wait_idle()
            one, two = (question["id"] for question in live.waiting())
            answer = ApprovalDecision("allow") if tool == "pay" else {"city": "Rome"}
            async with live.attach() as client:
                await until(client, "snapshot")
                assert await live.answer(one, answer, ANNA) == "taken"
                again = (await until(client, "question"))[-1].data["question"]["id"]
                assert again != two and await live.answer(two, answer, BERT) == "unknown"
                assert await live.answer(again, answer, BERT) == "taken"
                await until(client, "agent_settled")
            assert sorted(house.paid) == ([1, 2] if tool == "pay" else ["Rome", "Rome"])

    asyncio.run(main())


def test_an_aborted_run_withdraws_its_question(lives, house):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5", origin=ANNA)
                question = (await until(client, "question"))[-1].data["question"]
                await live.abort("enough", BERT)
                assert (await until(client, "question_withdrawn"))[-1].data["question"] == question["id"]
            assert house.paid == [] and live.state == "idle"

    asyncio.run(main())


def test_a_question_that_nobody_is_there_to_answer_suspends_the_run_and_is_answered_later(lives, house):
    async def main():
        clock = VirtualClock()
        async with lives(clock=clock, idle=10_000) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5", origin=ANNA)
                await until(client, "question")
            assert 60.0 in clock.slept or not await live.agent.wait_idle()
            await live.agent.wait_idle()
            assert live.state == "suspended" and house.paid == []
            waiting = await all_of.inbox()
            assert [w.question["tool"] for w in waiting] == ["pay"]
            async with live.attach() as client:
                shot = (await until(client, "snapshot"))[0].data
                assert await live.answer(shot["questions"][0]["id"], ApprovalDecision("allow"), BERT) == "taken"
                await until(client, "agent_settled")
            assert house.paid == [5]

    asyncio.run(main())


def test_several_calls_that_wait_are_answered_at_once_by_several_people(lives, house):
    async def main():
        async with lives(clock=VirtualClock(), idle=10_000) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5 7", origin=ANNA)
                await until(client, "question")
            await live.agent.wait_idle()
            waiting = [question["id"] for question in live.waiting()]
            assert len(waiting) == 2
            async with live.attach() as client:
                answers = [live.answer(waiting[0], ApprovalDecision("allow"), ANNA)]
                answers += [live.answer(waiting[1], ApprovalDecision("deny"), BERT)]
                answers += [live.answer(waiting[1], ApprovalDecision("allow"), ANNA)]
                assert await asyncio.gather(*answers) == ["taken", "taken", "late"]
                await until(client, "agent_settled")
            assert house.paid == [5] and live.state == "idle"

    asyncio.run(main())


def test_without_a_client_that_answers_approvals_they_are_denied(lives, house):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach(answers=()) as client:
                answer = await live.prompt("pay 5", origin=ANNA)
                await until(client, "agent_settled")
            assert "answers no approvals" in answer.content and house.paid == []

    asyncio.run(main())


def test_a_client_that_does_not_read_is_dropped_and_holds_up_nobody(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            slow = live.attach()
            assert (await anext(slow)).type == "snapshot"
            await live.prompt("one", origin=ANNA)
            after = (await anext(slow)).id
            for n in range(40):
                await live.prompt(f"again {n}", origin=ANNA)
            with pytest.raises(FellBehind) as behind:
                async for message in slow:
                    after = message.id
            assert behind.value.after == after and live.clients == 0
            async with live.attach(after) as back:
                rest = await until(back, "agent_settled")
            assert int(rest[0].id.partition(".")[2]) > int(after.partition(".")[2])

    asyncio.run(main())


def test_only_the_owner_makes_an_answer_hold_beyond_the_session_and_only_approvers_answer(lives):
    async def main():
        async with lives(approvers=("owner", "carla")) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5", origin=ANNA)
                question = (await until(client, "question"))[-1].data["question"]
                with pytest.raises(UsageError, match="answers of 'dora' do not count"):
                    await live.answer(question["id"], ApprovalDecision("allow"), Origin("a2a", "dora"))
                ever = ApprovalDecision("allow", remember="ever")
                assert await live.answer(question["id"], ever, Origin("a2a", "carla")) == "taken"
                told = (await until(client, "question_answered"))[-1].data
                assert (told["by"]["principal"], told["remember"]) == ("carla", "session")

    asyncio.run(main())


def test_images_are_fetched_apart(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.prompt("look", images=[ImageBlock(data="aGVsbG8=", mime_type="image/png")], origin=ANNA)
                found = await until(client, "agent_settled")
                assert "aGVsbG8=" not in str([m.to_dict() for m in found])
                name = next(m.data["event"] for m in found if seen(m) == "input")["images"][0]["blob"]
            async with live.attach() as late:
                shot = (await until(late, "snapshot"))[0].data
                assert shot["entries"][0]["data"]["message"]["content"][1]["blob"] == name
            blob = await live.act("blob", {"blob": name}, ANNA)
            assert blob == {"data": "aGVsbG8=", "media_type": "image/png"}
            with pytest.raises(UsageError, match="unknown method 'blobs'"):
                await live.act("blobs", {}, ANNA)

    asyncio.run(main())


def test_leaving_while_a_question_is_open_suspends_the_run(lives, house, tmp_path):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5", origin=ANNA)
                await until(client, "question")
                await live.aclose()
                assert (await until(client, "closed"))[-1].type == "closed"
            again = await all_of.open(live.id, origin=BERT, config=CONFIG)
            assert again.state == "suspended" and house.paid == []

    asyncio.run(main())


def test_an_idle_session_without_clients_closes_and_opens_again(lives):
    async def main():
        clock = VirtualClock()
        async with lives(clock=clock) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.prompt("hello", origin=ANNA)
                same = await all_of.open(live.id, origin=BERT, config=CONFIG)
                assert same is live
            await live.over.wait()
            while live.state != "closed":
                await asyncio.sleep(0)
            with pytest.raises(StopAsyncIteration):
                await anext(client)
            again = await all_of.open(live.id, origin=BERT, config=CONFIG)
            assert again is not live and again.epoch != live.epoch and len(again.agent.messages) == 2
            assert 600.0 in clock.slept

    asyncio.run(main())


def test_a_folder_has_a_host_of_its_own(house, tmp_path):
    async def main():
        made = []

        def make(folder):
            made.append(folder)
            return Host(plugins=[("house", house)], discover=False, cwd=folder, environ={})

        (tmp_path / "a").mkdir()
        (tmp_path / "b").symlink_to(tmp_path / "a")
        async with Lives(make_host=make) as all_of:
            one = await all_of.open(folder=tmp_path / "a", origin=ANNA, config=CONFIG)
            two = await all_of.open(folder=tmp_path / "b", origin=ANNA, config=CONFIG)
            three = await all_of.open(folder=tmp_path, origin=ANNA, config=CONFIG)
            assert one.agent.host is two.agent.host is not three.agent.host
            assert made == [Path(tmp_path / "a").resolve(), tmp_path.resolve()]

    asyncio.run(main())


def test_the_host_of_another_folder_has_the_choice_of_plugins_and_the_distribution_of_the_given_one(tmp_path):
    pytest.importorskip("skillkit_offline")  # a plugin to choose; the package alone has none
    file = tmp_path / "mine.yaml"
    file.write_text("schema_version: 1\nname: mine\nplugins: [live, offline]\npolicy: {only_listed: true}\n")
    (tmp_path / "a").mkdir()
    given = Host(str(file), selection=Selection(disable={"offline": "-P no:offline"}), cwd=tmp_path)
    other = Lives(given).host(tmp_path / "a")
    try:
        assert (other.distribution.name, other.cwd) == ("mine", (tmp_path / "a").resolve())
        assert {d.name: d.reason for d in other.decisions}["offline"] == "disabled by -P no:offline"
    finally:
        other.close()
        given.close()


def test_an_early_decision_counts_for_the_questions_that_were_seen_alone(lives, house):
    async def main():
        async with lives(clock=VirtualClock(), idle=10_000) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5 7", origin=ANNA)
                await until(client, "question")
            await live.agent.wait_idle()
            first, second = (question["id"] for question in live.waiting())
            house.also = "The account is overdrawn. Pay?"
            async with live.attach() as client:
                answers = [live.answer(call, ApprovalDecision("allow"), ANNA) for call in (first, second)]
                assert await asyncio.gather(*answers) == ["taken", "taken"]
                async for message in client:
                    if seen(message) == "question":
                        asked = message.data["question"]
                        assert asked["questions"][-1]["text"] == house.also
                        assert await live.answer(asked["id"], ApprovalDecision("deny"), BERT) == "taken"
                    if seen(message) == "agent_settled":
                        break
            assert house.paid == []

    asyncio.run(main())


def test_who_may_not_answer_does_not_resume_and_widens_no_answer_about_what_waits(lives, house):
    async def main():
        async with lives(clock=VirtualClock(), idle=10_000, approvers=("owner", "carla")) as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            async with live.attach() as client:
                await live.say("pay 5", origin=ANNA)
                await until(client, "question")
            await live.agent.wait_idle()
            (waiting,) = live.waiting()
            with pytest.raises(UsageError, match="answers of 'dora' do not count"):
                await live.resume({waiting["id"]: "allow"}, origin=Origin("a2a", "dora"))
            async with live.attach() as client:
                ever = ApprovalDecision("allow", remember="ever")
                assert await live.answer(waiting["id"], ever, Origin("a2a", "carla")) == "taken"
                told = await until(client, "agent_settled")
            assert {m.data["remember"] for m in told if m.type == "question_answered"} == {"session"}
            assert [m.data["event"]["remember"] for m in told if seen(m) == "approval_resolved"] == ["session"]
            assert house.paid == [5]

    asyncio.run(main())


def test_a_secret_in_an_open_question_is_told_to_nobody(lives, house):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            live.agent.host.secrets.remember("hunter2hunter2")
            house.also = "Pay with hunter2hunter2?"
            async with live.attach() as client:
                await live.say("pay 5", origin=ANNA)
                await until(client, "question")
                assert "hunter2" not in str([live.waiting(), await all_of.inbox()])

    asyncio.run(main())


def test_no_part_of_a_secret_is_in_the_title(lives):
    async def main():
        async with lives() as all_of:
            live = await all_of.open(origin=ANNA, config=CONFIG)
            live.agent.host.secrets.remember("hunter2" * 12)
            await live.prompt(f"keep {'hunter2' * 12}", origin=ANNA)
            told = [e.data["title"] for e in live.agent.session.entries if e.type == "session_info"]
            assert told == ["keep ***"]

    asyncio.run(main())
