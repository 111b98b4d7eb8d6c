"""A front end that holds its agent lets others in: what is asked is asked in both, and the first answer counts."""

import asyncio

import pytest
from skillkit_live import RpcClient, address_for, shared
from skillkit_testkit import until

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Host,
    Provider,
    RunAborted,
    SessionLocked,
    Survey,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    UserInterface,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

pytest.importorskip("skillkit_sessions")
AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}}
NAME = Survey("A name", "", (SurveyQuestion("name", "Which?", "text"),))


async def name(args, ctx):
    """Ask for a name."""
    answers = await ctx.ui.ask(NAME)
    return "no name" if answers is None else answers["name"]


class Shop:
    @hookimpl
    def register_adapters(self, register):
        def answer(request):
            results = [m.text for m in request.messages if m.role == "tool_result"]
            said = [m.text for m in request.messages if m.role == "user"]
            if len(results) >= len(said):
                return f"{results[-1]}."
            word = said[-1].split()[0]
            args = {"amount": len(said)} if word == "pay" else {}
            return Reply("", calls=[Call(word, args, id=f"c{len(said)}")]) if word in ("pay", "name") else "Yes."

        model = ScriptedModel([answer], repeat=True)
        register(Provider("shop", {"scripted": lambda host, **_: model}, default_model="m"))

    @hookimpl
    def register_tools(self, register):
        register(Tool("pay", "Pay.", lambda args, ctx: f"paid {args['amount']}", AMOUNT))
        register(Tool("name", "Ask for a name.", name))

    @hookimpl(phase="guard", tools=("pay",))
    def before_tool_call(self, event):
        return ToolCallEventResult(ask="Pay?")


class Person(Approver, UserInterface):
    """Answers when the test says so."""

    def __init__(self):
        self.asked, self.told, self.gone = [], [], 0

    async def _wait(self):
        self.answer = asyncio.get_running_loop().create_future()
        try:
            return await self.answer
        except asyncio.CancelledError:
            self.gone += 1
            raise

    async def approve(self, request):
        self.asked.append(request.tool_name)
        return await self._wait()

    async def ask(self, survey):
        self.asked.append(survey.title)
        return await self._wait()

    async def notify(self, text, level="info"):
        self.told.append(text)


@pytest.fixture
def talk(tmp_path):
    """``talk(work)`` awaits ``work(agent, person, client, seen)`` with a client at the session of a front end."""
    import skillkit_sessions.plugin

    environ = {"SKILLKIT_DATA_DIR": str(tmp_path)}
    plugins = [("shop", Shop()), ("sessions", skillkit_sessions.plugin)]

    def run(work):
        async def main():
            host = Host(plugins=plugins, discover=False, cwd=tmp_path, environ=environ)
            person, seen = Person(), []
            config = AgentConfig(provider="shop", approver=person, ui=person)
            agent = AgentRunner(config, host=host, session="new", endpoint=address_for(host))
            async with agent, shared(agent):
                other = AgentRunner(AgentConfig(provider="shop"), host=host, session=agent.session.id)
                with pytest.raises(SessionLocked) as locked:
                    await other.open()
                async with RpcClient(
                    endpoint=locked.value.owner.endpoint, name="guest", on_message=seen.append
                ) as client:
                    await work(agent, person, client, seen)
            await host.aclose()

        asyncio.run(main())

    return run


def kinds(seen, kind):
    return [message for message in seen if message["type"] == kind]


def test_a_guest_answers_and_the_person_is_not_asked_any_more(talk):
    async def work(agent, person, client, seen):
        run = asyncio.create_task(agent.chat("pay"))
        await until(lambda: kinds(seen, "question") and person.asked)
        answer = await client.answer(kinds(seen, "question")[0]["question"]["id"], decision="allow")
        assert (await run).content == "paid 1." and answer.outcome == "taken"
        assert person.gone == 1 and person.told == ["pay: allowed by guest"]

    talk(work)


def test_the_person_answers_and_the_guest_sees_who_did(talk):
    async def work(agent, person, client, seen):
        run = asyncio.create_task(agent.chat("pay"))
        await until(lambda: kinds(seen, "question"))
        question = kinds(seen, "question")[0]["question"]["id"]
        person.answer.set_result(ApprovalDecision("deny", "no"))
        await run
        await until(lambda: kinds(seen, "question_answered"))
        told = kinds(seen, "question_answered")[0]
        assert (told["decision"], told["by"]["kind"]) == ("deny", "terminal")
        assert (await client.answer(question, decision="allow")).outcome == "late"
        assert person.told == []

    talk(work)


def test_a_guest_fills_in_a_survey_speaks_and_ends_a_run(talk):
    async def work(agent, person, client, seen):
        run = asyncio.create_task(agent.chat("name"))
        await until(lambda: kinds(seen, "question"))
        await client.answer(kinds(seen, "question")[0]["question"]["id"], answers={"name": "Ana"})
        assert (await run).content == "Ana." and person.asked == ["A name"]
        run = asyncio.create_task(agent.chat("pay"))
        await until(lambda: len(kinds(seen, "question")) == 2)
        await client.abort("enough")
        with pytest.raises(RunAborted):
            await run
        assert person.gone == 2 and kinds(seen, "question_withdrawn")
        assert (await client.prompt("hello")).content == "Yes."

    talk(work)


def test_a_guest_that_answers_nothing_leaves_the_question_to_the_person(talk):
    async def work(agent, person, client, seen):
        endpoint = (await client.state()).endpoint
        await client.close()
        async with RpcClient(endpoint=endpoint) as silent:
            run = asyncio.create_task(agent.chat("pay"))
            await until(lambda: person.asked)
            person.answer.set_result(ApprovalDecision("allow"))
            assert (await run).content == "paid 1." and (await silent.state()).messages == 4

    talk(work)
