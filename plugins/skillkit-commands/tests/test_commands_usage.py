"""``/usage``: the books of a session, message by message."""

import skillkit_commands.plugin
from skillkit_commands import SlashCommands, context_tokens

from skillkit_core import AgentConfig, AgentRunner, ModelCost, ModelDefinition, TokenUsage
from skillkit_core.testing import Call, Reply, ScriptedModel

PRICED = ModelDefinition("priced", "acme", context_window=10_000, cost=ModelCost(input=1.0, output=2.0, cache_read=0.1))


async def usage_of(agent):
    commands = SlashCommands(agent)
    return (await commands.run(commands.match("/usage"))).splitlines()


async def test_usage_is_told_by_message_and_in_all_with_what_is_left_of_the_context(make_host):
    host = make_host(("commands", skillkit_commands.plugin))
    async with AgentRunner(AgentConfig(model=PRICED), host=host) as agent:
        assert await usage_of(agent) == ["Nothing was used yet."]
        agent.set_adapter(
            ScriptedModel([
                Reply("one", usage=TokenUsage(input=1_000, output=50)),
                Reply(calls=[Call("nothing")], usage=TokenUsage(input=200, output=30, cache_read=1_000)),
                Reply("two", usage=TokenUsage(input=100, output=20, cache_read=1_200)),
            ])
        )  # fmt: skip
        await agent.chat("the first question")
        await agent.chat("and another one, which is so long that it is cut")
        head, first, second, total, _, context = await usage_of(agent)
        assert head.split() == ["message", "in", "of", "it", "cached", "out", "cost"]
        assert first.split() == ["the", "first", "question", "1,000", "0", "50", "$0.0011"]
        assert second.split()[-4:] == ["2,500", "2,200", "50", "$0.0006"] and "is so …" in second
        assert total.split() == ["in", "all", "3,500", "2,200", "100", "$0.0017"]
        assert len({line.index(cell) + len(cell) for line, cell in ((first, "1,000"), (second, "2,500"))}) == 1
        assert context == "Context: about 1,320 of 10,000 tokens (13%), 8,680 are left."
        assert context_tokens(agent) == 1_320


async def test_a_price_that_the_catalog_lacks_is_not_known_and_never_nought(make_host):
    host = make_host(("commands", skillkit_commands.plugin))
    async with AgentRunner(AgentConfig(model=PRICED), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply("one", usage=TokenUsage(input=10, output=5))]))
        await agent.chat("priced")
        agent.configure(model=ModelDefinition("unpriced", "acme"))
        agent.set_adapter(ScriptedModel([Reply("two", usage=TokenUsage(input=10, output=5))]))
        await agent.chat("unpriced")
        _, priced, other, total, *_, context = await usage_of(agent)
        assert priced.endswith("$0.0000") and other.endswith("  not known") and total.endswith("$0.0000 + not known")
        assert context.endswith("How many the model takes is not known.")
