"""Who answers is kept where it changes: ``model_change`` and ``thinking_level_change`` (spec, section 12)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import (
    CompactionResult,
    Compactor,
    ErrorKind,
    Factory,
    MemoryStore,
    ModelDefinition,
    ModelSettings,
    hookimpl,
)
from skillkit_core.agent.session import ModelChoice, Session
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel

FIRST = ModelChoice("scripted", "scripted", "model")
OTHER = ModelChoice("other", "scripted", "model")
CHANGES = ("model_change", "thinking_level_change")


def changes(session: Session) -> list[tuple[str, dict[str, Any]]]:
    """The changes on the way from the root to the leaf."""
    return [(e.type, dict(e.data)) for e in session.path() if e.type in CHANGES]


def again(session: Session) -> Session:
    """The same session, read anew from its entries."""
    return Session(session.handle, lambda: 9.0)


def with_other(agent: Any, *turns: Any) -> Any:
    agent.host.adapters.register("other", ScriptedModel(turns), source="test")
    return agent


def thinking(level: Any) -> ModelSettings:
    return ModelSettings(thinking=level)


def test_a_session_that_never_switches_has_no_entry_of_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "one", "two", tools=[kit.tool("a", "ok")], settings=thinking("off"))
        await agent.chat("go")
        await agent.chat("on")
        assert changes(agent.session) == [] and agent.seen.of("model_select") == []
        assert agent.session.model == FIRST and agent.session.thinking_level == "off"
        kit.check(agent)

    go(main)


@pytest.mark.spec("I11")
def test_a_switch_is_kept_before_the_answer_of_the_other_model_and_before_it_is_told(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = with_other(
            kit.agent(
                Reply(calls=[Call("a")]), tools=[kit.tool("a", lambda a, c: c.agent.set_adapter("other") or "switched")]
            ),
            "from the other",
        )
        kept: list[Any] = []
        agent.events.on("model_select", lambda e: kept.append((changes(agent.session), agent.session.model)))
        await agent.chat("go")
        told = [("model_change", {"provider": "other", "api": "scripted", "model": "model"})]
        assert kept == [(told, OTHER)] and changes(agent.session) == told
        kinds = [e.type for e in agent.session.path()]
        assert kinds == ["message", "message", "message", "model_change", "message"]
        kit.check(agent)

    go(main)


def test_a_switch_back_is_another_change_and_one_that_changes_nothing_is_none(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = with_other(kit.agent("one", "three", "four"), "two")
        for name in ("scripted", "other", "scripted", "scripted"):
            agent.set_adapter(name)
            await agent.chat("go")
        assert [data["provider"] for _, data in changes(agent.session)] == ["other", "scripted"]
        assert len(agent.seen.of("model_select")) == 4

    go(main)


def test_a_failed_answer_of_the_other_model_leaves_its_change_so_that_going_back_is_one(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = with_other(kit.agent("one", "three"), Fail(ErrorKind.auth))
        await agent.chat("go")
        agent.set_adapter("other")
        with pytest.raises(Exception, match="scripted failure"):
            await agent.chat("now you")
        assert agent.session.model == OTHER
        agent.set_adapter("scripted")
        await agent.chat("then you again")
        assert [data["provider"] for _, data in changes(agent.session)] == ["other", "scripted"]

    go(main)


def test_another_model_of_the_same_provider_is_a_change(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        await agent.chat("go")
        agent.set_model(ModelDefinition("bigger", "scripted", "scripted"), "scripted")
        await agent.chat("on")
        assert changes(agent.session) == [("model_change", FIRST._replace(model="bigger")._asdict())]
        assert agent.seen.one("model_select").model.id == "bigger"

    go(main)


def test_the_level_of_thinking_is_kept_when_it_changes(kit: Any, go: Any) -> None:
    async def main() -> None:
        session = await Session.create(None, lambda: 1.0)
        host = kit.host()
        model = ScriptedModel(["1", "2", "3", "4", "5"])
        for level in ("high", "high", "low", None, "off"):
            agent = kit.agent(adapter=model, host=host, session=session, settings=thinking(level))
            await agent.chat("go")
            assert again(session).thinking_level == session.thinking_level == (level or "off")
        levels = [data["thinking_level"] for kind, data in changes(session)]
        assert levels == ["high", "low", "off"]
        assert [e.type for e in session.path()][:3] == ["message", "thinking_level_change", "message"]

    go(main)


def test_another_process_with_another_model_keeps_and_tells_the_change(kit: Any, go: Any) -> None:
    async def main() -> None:
        first = kit.agent("one", session=await Session.create(None, lambda: 1.0))
        await first.chat("go")
        agent = kit.agent(
            "two", "three", session=again(first.session), model=ModelDefinition("new", "scripted", "scripted")
        )
        await agent.chat("on")
        assert agent.session.model == FIRST._replace(model="new")
        assert changes(again(agent.session)) == [("model_change", agent.session.model._asdict())]
        assert agent.seen.one("model_select").model.id == "new"
        await agent.chat("and on")
        assert len(changes(agent.session)) == 1 and len(agent.seen.of("model_select")) == 1

    go(main)


def test_each_branch_has_its_own_model_and_level(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = with_other(kit.agent("one", "three", "four"), "two")
        await agent.chat("go")
        first = agent.session.leaf_id
        agent.config = kit.agent(settings=thinking("high")).config
        agent.set_adapter("other")
        await agent.chat("now you")
        second = agent.session.leaf_id
        assert (agent.session.model, agent.session.thinking_level) == (OTHER, "high")
        await agent.move_to(first)
        assert (agent.session.model, agent.session.thinking_level) == (FIRST, "off")
        await agent.move_to(None)
        assert (agent.session.model, agent.session.thinking_level) == (None, "off")
        await agent.move_to(second)
        assert (agent.session.model, agent.session.thinking_level) == (OTHER, "high")
        await agent.move_to(first)
        agent.set_adapter("scripted")
        await agent.chat("you went on all the time")
        assert [kind for kind, _ in changes(agent.session)] == ["thinking_level_change"]
        loaded = again(agent.session)
        assert (loaded.model, loaded.thinking_level) == (FIRST, "high")

    go(main)


def test_a_fork_takes_the_model_and_the_level_along(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = with_other(kit.agent("one"), "two", "three")
        await agent.chat("go")
        first = agent.session.leaf_id
        agent.config = kit.agent(settings=thinking("low")).config
        agent.set_adapter("other")
        await agent.chat("now you")
        kept = changes(agent.session)
        old = agent.session
        forked = await agent.fork()
        assert forked.id != old.id and (forked.model, forked.thinking_level) == (OTHER, "low")
        await agent.chat("still you")
        assert changes(agent.session) == kept
        early = await agent.fork(first)
        assert (early.model, early.thinking_level) == (FIRST, "off")

    go(main)


def test_a_compaction_forgets_neither(kit: Any, go: Any) -> None:
    class All(Compactor):
        async def compact(self, request: Any) -> CompactionResult:
            return CompactionResult("short", len(request.messages))

    class Plugin:
        @hookimpl
        def register_compactors(self, register: Any) -> None:
            register(Factory("all", lambda host: All()))

    async def main() -> None:
        agent = with_other(kit.agent("one", plugins=[("all", Plugin())], settings=thinking("high")), "word " * 400, "x")
        await agent.chat("go")
        agent.set_adapter("other")
        await agent.chat("now you")
        before = changes(agent.session)
        assert await agent.compact()
        loaded = again(agent.session)
        assert (loaded.model, loaded.thinking_level) == (OTHER, "high") and len(loaded.messages) == 1
        await agent.chat("on")
        assert changes(agent.session) == before

    go(main)


def test_what_names_no_model_says_nothing_about_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        session = await Session.create(MemoryStore(), lambda: 1.0)
        agent = kit.agent("one", session=session)
        await agent.chat("go")
        await session.append("message", {"message": {"role": "assistant", "content": []}})
        await session.append("model_change", {})
        await session.append("thinking_level_change", {})
        loaded = again(session)
        assert (loaded.model, loaded.thinking_level) == (FIRST, "off")

    go(main)
