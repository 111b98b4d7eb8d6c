"""Reading skills again: sources that appear are found, and a run ends with the skills that it began with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skillkit_core import AgentConfig, AgentRunner, Factory, Host, Skill, SkillLoader, SkillSource, Tool, hookimpl
from skillkit_core.contracts.skill_loader import LoadedSkills
from skillkit_core.testing import Call, Reply, ScriptedModel


class Lines(SkillLoader):
    """A skill for every line of a file."""

    def accepts(self, source: SkillSource) -> bool:
        return source.path is not None

    def load(self, source: SkillSource) -> LoadedSkills:
        assert source.path is not None
        return LoadedSkills([Skill(name=line, source=source.name) for line in source.path.read_text().split()])


class Brings:
    """The files of a folder as sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @hookimpl
    def register_skill_loaders(self, register):
        register(Factory("lines", lambda host: Lines()))

    @hookimpl
    def register_skill_sources(self, register):
        for path in sorted(self.folder.glob("*.txt")):
            register(SkillSource(path.stem, "user", path))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "first.txt").write_text("one two")
    return Host(plugins=[("brings", Brings(tmp_path))], discover=False)


def test_sources_that_appear_and_skills_that_go_are_found(host, tmp_path):
    host.skill_sources.register("own", SkillSource("own", "user", tmp_path / "own.list"))
    (tmp_path / "own.list").write_text("mine")
    assert host.skills.list() == ["one", "two", "mine"]
    (tmp_path / "second.txt").write_text("three")
    (tmp_path / "first.txt").write_text("two")
    assert host.reload_skills() is host.skills
    assert sorted(host.skills.list()) == ["mine", "three", "two"] and not host.problems


def test_a_run_ends_with_the_skills_that_it_began_with(host, tmp_path):
    seen = [host.skills.list()]

    async def edit(args, ctx):
        (tmp_path / "first.txt").write_text("three")
        seen.append(host.reload_skills().list())
        seen.append(host.skills.list())
        return "edited"

    async def run():
        model = ScriptedModel([Reply(calls=[Call("edit", {})]), "done"])
        async with AgentRunner(AgentConfig(model="scripted", tools=(Tool("edit", "Edit.", edit),)), host=host) as agent:
            agent.set_adapter(model)
            await agent.chat("please")
            await agent.wait_idle()
            seen.append(host.skills.list())

    asyncio.run(run())
    assert seen == [["one", "two"]] * 3 + [["three"]]
