"""Tasks: what callers get of a run, in which order, over each binding; questions, cancellation, and what outlives a process."""

import asyncio
import json
from functools import partial
from pathlib import Path

import httpx
import pytest
from a2a_callers import Caller, said

from skillkit_core import SessionLocked

STATES = "TASK_STATE_"


def state(task):
    """Return the state of a task in short."""
    from a2a.types import TaskState

    return TaskState.Name(task.status.state).removeprefix(STATES).lower()


def texts(task):
    """Return the texts of the artifacts of a task by name."""
    return {artifact.name: "".join(part.text for part in artifact.parts) for artifact in task.artifacts}


def asked(task):
    """Return what a task asks: words, and data."""
    from google.protobuf.json_format import MessageToDict

    words, data = task.status.message.parts
    return words.text, MessageToDict(data.data)


@pytest.mark.smoke
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_s12_6_a_stream_begins_with_the_task_and_ends_when_it_is_over(serving, write_skill, binding):
    write_skill("one")

    async def main():
        async with serving() as served:
            caller = served.caller(binding=binding)
            events = await caller.events("say 3")
            task = await caller.task(events[0].task.id)
            plain = await caller.say("say 3")
            return events, task, plain, await caller.say("ping")

    events, task, plain, message = asyncio.run(main())
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds == ["task", "status_update", *["artifact_update"] * (len(kinds) - 3), "status_update"]
    assert [state(events[n].status_update) for n in (1, -1)] == ["working", "completed"]
    pieces = [event.artifact_update for event in events[2:-1]]
    assert [piece.append for piece in pieces] == [False, *[True] * (len(pieces) - 1)]
    assert "".join(part.text for piece in pieces for part in piece.artifact.parts) == "word0 word1 word2 "
    assert (state(task), texts(task), len(task.artifacts[0].parts)) == (
        "completed",
        {"answer": "word0 word1 word2 "},
        1,
    )
    assert [part.text for message in task.history for part in message.parts] == ["say 3"]
    assert (state(plain), texts(plain)) == (state(task), texts(task))
    assert message.parts[0].text == "Pong."  # a handler answered without a run: no task


def test_what_happens_faster_than_it_can_be_told_is_told_nevertheless(serving, write_skill, monkeypatch):
    from a2a.server.tasks import TaskUpdater
    from skillkit_live import Live

    write_skill("one")
    tell, attach, attached = TaskUpdater.add_artifact, Live.attach, []

    async def slowly(self, *given, **named):
        for _ in range(100):
            await asyncio.sleep(0)
        await tell(self, *given, **named)

    monkeypatch.setattr(TaskUpdater, "add_artifact", slowly)
    monkeypatch.setattr("skillkit_live.journal.BEHIND_MESSAGES", 3)
    monkeypatch.setattr(Live, "attach", lambda self, *a, **k: attached.append(a) or attach(self, *a, **k))

    async def main():
        async with serving() as served:
            return await served.caller().say("loud")

    task = asyncio.run(main())
    assert (state(task), texts(task)["answer"]) == ("completed", "done")
    assert len(attached) > 1  # it was left behind, and came back


def test_contexts_are_conversations_and_what_goes_wrong_is_the_state_of_a_task(serving, write_skill):
    from a2a.utils.errors import UnsupportedOperationError

    write_skill("one")

    async def main():
        async with serving() as served:
            caller = served.caller()
            first = await caller.say("hello", context="my-own")
            again = await caller.say("seen it", context="my-own")
            failed = await caller.say("fail")
            origin = await caller.say("origin", message="m1", metadata={"about": "it"})
            with pytest.raises(UnsupportedOperationError, match="is over"):
                await caller.say("more", task=first.id)
            return first, again, failed, origin

    first, again, failed, origin = asyncio.run(main())
    assert first.context_id == again.context_id == "my-own" and first.id != again.id
    assert json.loads(texts(again)["answer"])[:2] == ["seen it", 2]
    assert state(failed) == "failed" and "the model refuses" in failed.status.message.parts[0].text
    told = json.loads(texts(origin)["answer"])
    assert (told["kind"], told["principal"], told["id"], told["meta"]["about"]) == ("a2a", "a2a:anyone", "m1", "it")


def test_what_tools_hand_over_are_artifacts_and_no_file_outside_the_workspace_is(serving, write_skill):
    write_skill("one")

    async def main():
        async with serving() as served:
            return await served.caller().say("leave")

    task = asyncio.run(main())
    made = {artifact.name: artifact.parts[0] for artifact in task.artifacts}
    assert set(made) == {"answer", "report.txt", "data", "note"}
    assert (made["report.txt"].raw, made["report.txt"].media_type) == (b"a report", "text/plain")
    assert made["data"].data.struct_value.fields["n"].number_value == 1


@pytest.mark.parametrize("output", ["json", "file"])
def test_what_the_action_of_a_skill_leaves_is_an_artifact(serving, write_skill, output):
    write_skill("one", output=output)

    async def main():
        async with serving(plugins=["bash"]) as served:
            (served.folder / "made.txt").write_text("made")
            return await served.caller().say("act")

    task = asyncio.run(main())
    made, answer = task.artifacts
    assert state(task) == "completed" and answer.parts[0].text.startswith("done: ")
    if output == "json":
        assert made.parts[0].data.struct_value.fields["n"].number_value == 3
    else:
        assert (made.parts[0].raw, made.parts[0].filename) == (b"made", "made.txt")


def test_files_and_data_of_callers_reach_the_agent_and_other_kinds_are_refused(serving, write_skill):
    from a2a.types import Part
    from a2a.utils.errors import ContentTypeNotSupportedError

    write_skill("one")

    async def main():
        async with serving() as served:
            caller = served.caller()
            image = Part(raw=b"png", media_type="image/png")
            text = Part(raw=b"a,b", media_type="text/csv", filename="a.csv")
            seen = await caller.say("seen it", data={"k": "v"}, parts=[image, text])
            with pytest.raises(ContentTypeNotSupportedError, match="application/zip"):
                await caller.say("seen", parts=[Part(raw=b"zip", media_type="application/zip")])
            return seen

    text, _, kinds = json.loads(texts(asyncio.run(main()))["answer"])
    assert text == 'seen it\na.csv:\na,b\n{"k": "v"}' and kinds == ["TextBlock", "ImageBlock"]


# --- questions ------------------------------------------------------------------------------------------------------


def test_s12_5_an_approval_is_input_and_the_same_task_goes_on_once(serving, write_skill):
    from a2a.utils.errors import UnsupportedOperationError
    from skillkit_a2a.serving.keys import Keys

    write_skill("one")

    async def main():
        async with serving(open_=False) as served:
            keys = Keys(served.host.data_dir)
            mine = served.caller(keys.add("mine", approve=True))
            weak = served.caller(keys.add("weak"))
            waits = await mine.say("pay 5")
            unclear = await mine.say("perhaps", task=waits.id)
            done = await mine.say("allow", task=waits.id)
            denied = await mine.say("", data={"decision": "deny"}, task=(await mine.say("pay 6")).id)
            first = await mine.say("both")
            second = await mine.say(
                "", data={"question": asked(first)[1]["question"], "answer": "allow"}, task=first.id
            )
            both = await mine.say("yes", task=second.id)
            not_mine = await weak.say("pay 7")
            with pytest.raises(UnsupportedOperationError, match="the owner"):
                await weak.say("allow", task=not_mine.id)
            return waits, unclear, done, denied, first, second, both, not_mine, served.folder / "paid.txt"

    waits, unclear, done, denied, first, second, both, not_mine, paid = asyncio.run(main())
    words, data = asked(waits)
    assert state(waits) == "input_required" and "Pay 5 euros?" in words
    assert (data["options"], data["tool"], data["args"], data["by"]) == (
        ["allow", "deny"],
        "pay",
        {"text": "5"},
        "caller",
    )
    assert state(unclear) == "input_required" and "neither allow nor deny" in asked(unclear)[0]
    assert (state(done), texts(done)["answer"]) == ("completed", "done: paid 5")
    assert state(denied) == "completed" and "paid 6" not in texts(denied)["answer"]
    assert [state(task) for task in (first, second, both)] == ["input_required", "input_required", "completed"]
    assert asked(first)[1]["args"] != asked(second)[1]["args"]
    assert asked(not_mine)[1]["by"] == "owner"
    assert paid.read_text().split() == ["5", "1", "2"]


@pytest.mark.parametrize(
    ("question", "may"),
    [
        ({"kind": "approval", "questions": [{"plugin": "shop"}]}, True),
        ({"kind": "approval", "questions": [{"plugin": "shop"}, {"plugin": "permissions"}]}, False),
        ({"kind": "approval", "questions": [{"plugin": "sandbox"}]}, False),
        ({"kind": "survey", "survey": {"questions": [{"kind": "text"}]}}, True),
        ({"kind": "survey", "survey": {"questions": [{"kind": "text"}, {"kind": "secret"}]}}, False),
    ],
)
def test_what_is_about_this_machine_and_what_is_secret_is_for_its_owner(question, may):
    from skillkit_a2a.serving.keys import Caller
    from skillkit_a2a.serving.questions import decides

    assert decides(Caller("anna", approve=True), question) is may


def test_a_survey_is_input_with_a_schema_and_is_answered_by_data_or_in_words(serving, write_skill):
    write_skill("one")

    async def main():
        async with serving() as served:
            caller = served.caller()
            waits = await caller.say("journey")
            wrong = await caller.say("Paris", task=waits.id)
            words = await caller.say("oslo", task=waits.id)
            two = await caller.say("journey far")
            unclear = await caller.say("oslo", task=two.id)
            data = await caller.say("", data={"answers": {"city": "Rome", "sure": True}}, task=two.id)
            return waits, wrong, words, unclear, data

    waits, wrong, words, unclear, data = asyncio.run(main())
    schema = asked(waits)[1]["schema"]
    assert schema["properties"]["city"]["enum"] == ["Rome", "Oslo"] and schema["required"] == ["city"]
    assert state(wrong) == "input_required" and "must be one of Rome, Oslo" in asked(wrong)[0]
    assert texts(words)["answer"] == 'done: {"city": "Oslo"}'
    assert "answer with a data part" in asked(unclear)[0]
    assert texts(data)["answer"] == 'done: {"city": "Rome", "sure": true}'


def test_a_message_answers_what_was_asked_when_it_came_and_nothing_that_is_asked_later(serving, write_skill):
    from skillkit_a2a.serving.keys import Keys

    write_skill("one")

    async def main():
        async with serving(open_=False) as served:
            caller = served.caller(Keys(served.host.data_dir).add("mine", approve=True))
            waits = await caller.say("both")
            first = {"question": asked(waits)[1]["question"], "answer": "allow"}
            _, late = [await caller.say("", data=first, task=waits.id) for _ in range(2)]
            return late, await caller.say("deny", task=waits.id), served.folder / "paid.txt"

    late, done, paid = asyncio.run(main())
    assert state(late) == "input_required" and "That was answered already." in asked(late)[0]
    assert state(done) == "completed" and len(paid.read_text().split()) == 1


def test_a_question_that_nobody_answers_soon_waits_in_the_session(serving, write_skill, monkeypatch):
    from skillkit_a2a.serving import server

    write_skill("one")
    monkeypatch.setattr(server, "Lives", partial(server.Lives, patience=0))

    async def main():
        async with serving() as served:
            caller = served.caller()
            waits = await caller.say("journey")
            while not any(row["suspended"] for row in await served.host.session_store().list()):
                await asyncio.sleep(0.01)
            return await caller.task(waits.id), await caller.say("Oslo", task=waits.id)

    waits, done = asyncio.run(main())
    assert state(waits) == "input_required"
    assert (state(done), texts(done)["answer"]) == ("completed", 'done: {"city": "Oslo"}')


def test_the_owner_answers_elsewhere_and_the_task_knows_it(serving, write_skill):
    from skillkit_live import RpcClient

    write_skill("one")

    async def main():
        async with serving() as served:
            caller = served.caller()
            waits = await caller.say("pay 5")
            with pytest.raises(SessionLocked) as locked:
                await served.host.session_store().open(waits.id.partition(".")[0])
            async with RpcClient(endpoint=locked.value.owner.endpoint) as owner:
                (waiting,) = await owner.inbox()
                await owner.answer(waiting.question["id"], decision="allow")
            while state(found := await caller.task(waits.id)) in ("input_required", "working"):
                await asyncio.sleep(0.01)
            return waits, found

    waits, found = asyncio.run(main())
    assert asked(waits)[1]["by"] == "owner"
    assert (state(found), texts(found)["answer"]) == ("completed", "done: paid 5")


# --- cancelling -----------------------------------------------------------------------------------------------------


def test_s12_7_a_task_is_cancelled_at_once_whatever_it_does_and_nothing_of_it_waits(serving, write_skill):
    from a2a.types import SubscribeToTaskRequest
    from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

    write_skill("one")

    async def main():
        async with serving() as served:
            caller = served.caller()
            client = await caller.client()
            stream = client.send_message(said("hang on"))
            begun = (await anext(stream)).task
            await stream.aclose()  # who leaves stops nothing
            follows = client.subscribe(SubscribeToTaskRequest(id=begun.id))
            again = (await anext(follows)).task
            async with asyncio.timeout(1.9):  # the tool goes on for 2 seconds
                cancelled = await caller.cancel(begun.id)
            rest = [event async for event in follows]
            with pytest.raises(TaskNotCancelableError):
                await caller.cancel(begun.id)
            with pytest.raises(UnsupportedOperationError):
                await anext(client.subscribe(SubscribeToTaskRequest(id=begun.id)))
            waits = await caller.say("pay 5")
            dropped = await caller.cancel(waits.id)
            inbox = [row for row in await served.host.session_store().list() if row["suspended"]]
            later = await caller.say("hello", context=waits.context_id)
            return again, cancelled, rest, dropped, inbox, later, served.folder / "paid.txt"

    again, cancelled, rest, dropped, inbox, later, paid = asyncio.run(main())
    assert state(again) in ("submitted", "working") and state(cancelled) == state(dropped) == "canceled"
    assert state(rest[-1].status_update) == "canceled"
    assert (inbox, state(later), paid.exists()) == ([], "completed", False)


# --- another process ------------------------------------------------------------------------------------------------


def test_a_task_that_waits_survives_the_process_and_is_approved_and_executed_once(
    skillkit_cli, install_plugin, write_skill, skillkit_home
):
    write_skill("one")
    install_plugin("agent", Path(__file__).parent / "support" / "a2a_agent_plugin.py")
    key = skillkit_cli("a2a", "keys", "add", "mine", "--approve").stdout.strip()
    argv = ("a2a", "serve", "--port", "0", "--provider", "obeys")

    def served(work, *, kill):
        with skillkit_cli.start(*argv) as process:
            url = process.stdout.readline().split()[1]

            async def main():
                headers = {"Authorization": f"Bearer {key}"}
                async with httpx.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
                    return await work(Caller(url, http, "JSONRPC"))

            try:
                return asyncio.run(main())
            finally:
                process.kill() if kill else process.terminate()
                process.communicate(timeout=20)

    async def first(caller):
        waits, works = await caller.say("pay 5"), None
        client = await caller.client()
        async for event in client.send_message(said("hang")):
            works = event.task.id
            break
        return waits, works

    async def second(caller):
        from a2a.types import ListTasksRequest

        listed = await (await caller.client()).list_tasks(ListTasksRequest())
        before = await caller.task(waits.id)
        done = await caller.say("allow", task=waits.id)
        return listed, before, done, await caller.task(works)

    waits, works = served(first, kill=True)
    listed, before, done, lost = served(second, kill=False)

    assert {task.id for task in listed.tasks} == {waits.id, works}
    assert (state(waits), state(before), state(done)) == ("input_required", "input_required", "completed")
    assert texts(done)["answer"] == "done: paid 5"
    assert (skillkit_home.cwd / "paid.txt").read_text().split() == ["5"]
    assert state(lost) == "failed" and "the server ended" in lost.status.message.parts[0].text
