"""What sessions of one host share: lists that are equal are made once, and no session is told those of another one."""

import asyncio
import json

from skillkit_why import slash
from skillkit_why.recorder import NOTE

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import ScriptedModel

LISTS = ("sections", "tools", "skills")


async def nothing(args, ctx):
    return ""


OWN = Tool("own", "Do it.", nothing, {"type": "object", "properties": {}})
KINDS = (
    {},
    {"system_prompt": "Be kind."},
    {"tools": (OWN,)},
    {"tools": (Tool("own", "Do it well.", nothing, OWN.parameters),)},
    {"only_tools": frozenset()},
    {"only_tools": frozenset({"read"})},
    {"skills": ("greet",)},
)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def recorded(host, session, **config):
    """The lists of one turn: by name the digest, and the texts that they need."""
    async with AgentRunner(AgentConfig(model="scripted", **config), host=host, session=session) as agent:
        agent.set_adapter(ScriptedModel(["done"]))
        await agent.chat("please")
        recorder = agent.state("why")["recorder"]
        assert (recorder.ended is None) == (session is not None), "what no file keeps is recorded when somebody asks"
        await slash.why(agent, "", None)
        data = agent.session.notes(NOTE)[-1].data
        texts = recorder.texts
        found = {name: (data[name], texts.get_json(data[name])) for name in LISTS}
        sections = [texts.get(row["text"]) for row in found["sections"][1]]
    assert None not in sections
    return found, sections


def test_sessions_of_one_host_record_what_each_would_record_alone(tmp_path):
    put(tmp_path / "home" / "skills" / "greet" / "SKILL.md", "---\nname: greet\ndescription: Greet.\n---\nBe kind.\n")
    (tmp_path / "work").mkdir()

    def host(deny=()):
        settings = {"permissions": {"deny": list(deny)}}
        return Host(environ={"SKILLKIT_HOME": str(tmp_path / "home")}, cwd=tmp_path / "work", settings=settings)

    async def alone(session, **config):
        one = host()
        try:
            return await recorded(one, session, **config)
        finally:
            await one.aclose()

    async def run():
        for session in (None, "new"):
            expected = [await alone(session, **kind) for kind in KINDS]
            assert len({json.dumps(found) for found in expected}) == len(KINDS)
            shared = host()
            for _ in range(2):
                assert [await recorded(shared, session, **kind) for kind in KINDS] == expected
            await shared.aclose()
        other = host(["Read"])
        tools = (await recorded(other, None))[0]["tools"]
        await other.aclose()
        assert tools != (await alone(None))[0]["tools"]

    asyncio.run(run())


def test_a_secret_that_came_to_be_known_later_is_in_no_later_session(tmp_path):
    host = Host(environ={"SKILLKIT_HOME": str(tmp_path)}, cwd=tmp_path)
    asked = {"system_prompt": "The word is swordfish-tango."}

    async def run():
        _, before = await recorded(host, None, **asked)
        host.remember_secret("swordfish-tango")
        _, after = await recorded(host, None, **asked)
        await host.aclose()
        return before, after

    before, after = asyncio.run(run())
    assert "swordfish" in " ".join(before) and "swordfish" not in " ".join(after)
