"""A tool whose work is done by an agent below."""

from skillkit_core import AgentConfig, AgentRunner, Tool, hookimpl


async def research(args, ctx):
    async with AgentRunner(AgentConfig(only_tools=frozenset()), session=args.get("session")) as below:
        return (await below.chat("Look into it.")).content


@hookimpl
def register_tools(register):
    parameters = {"type": "object", "properties": {"session": {"type": "string"}}}
    register(Tool("research", "Look into something.", research, parameters, annotations={"mutates": "none"}))
