"""The suite of commands, and a conversation with a scripted model: what is printed, and what a typed word answers."""

import pytest
import skillkit_commands.plugin
from skillkit_core import AgentConfig, AgentRunner, Tool, ToolCallEventResult
from skillkit_core.testing import Call, Reply, ScriptedModel
from skillkit_frontend import Conversation
from skillkit_testkit.conformance import CommandConformance

import skillkit_acme


class TestCommand(CommandConformance):
    plugin = skillkit_acme


async def water(args, ctx):
    return "it is wet now"


@pytest.mark.parametrize(("typed", "end"), [("y", "it is wet now"), ("n", "Denied"), (None, "Denied")])
async def test_a_typed_word_decides_about_a_call(make_host, capsys, typed, end):
    def read():
        if typed is None:
            raise EOFError
        return typed

    host = make_host(("commands", skillkit_commands.plugin), skillkit_acme)
    config = AgentConfig(model="any", tools=(Tool("water", "Water the garden.", water),))
    async with AgentRunner(config, host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply("I will.", calls=[Call("water")]), "Done."]))
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="Water the garden?"), phase="guard")
        conversation = Conversation(agent, skillkit_acme.AcmeView(read))
        conversation.begin("Water the garden.")
        await conversation.idle()
        await conversation.close()
    shown = capsys.readouterr().out
    assert "text  I will." in shown and "Water the garden?" in shown and end in shown
    assert shown.endswith("text  Done.\n")
