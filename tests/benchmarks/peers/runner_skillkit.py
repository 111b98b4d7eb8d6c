"""SkillKit in workloads a to e: the default plugins, its session log on the disk, one client as shipped."""

from bench_peer import BASE_URL, PROMPT, SYSTEM, TOOL, BasePeer


class Peer(BasePeer):
    DIST = "skillkit-core"
    NOTE = "default plugins, session file per session"
    SESSION = "new"

    async def setup(self):
        import tempfile
        from pathlib import Path

        from skillkit_core import AgentConfig, AgentRunner, Host, Tool

        self.home = tempfile.TemporaryDirectory(prefix="skillkit-bench-")
        self.host = Host(environ={"SKILLKIT_HOME": self.home.name, "OPENAI_API_KEY": "x"}, cwd=Path(self.home.name))
        function = TOOL["function"]

        async def add(args, ctx):
            return str(self.add(args["a"], args["b"]))

        self.tool = Tool("add", function["description"], add, function["parameters"])
        self.runner, self.config = AgentRunner, AgentConfig
        self.host.load()

    def agent(self, model, *, tools=(), stream=False):
        config = self.config(
            model=model,
            provider="openai",
            base_url=BASE_URL,
            system_prompt=SYSTEM,
            tools=tools,
            only_tools=frozenset(t.name for t in tools),
            stream=stream,
            limits=self.limits(),
        )
        return self.runner(config, host=self.host, session=self.SESSION)

    @staticmethod
    def limits():
        from skillkit_core import Limits

        return Limits(turns=2000)

    async def turn(self, model):
        async with self.agent(model) as agent:
            return (await agent.chat(PROMPT)).content

    async def stream(self, model):
        n = 0
        async with self.agent(model, stream=True) as agent:
            async for event in agent.chat_stream_events(PROMPT):
                if event.type == "text_delta":
                    n += 1
        return n

    async def session(self, model):
        agent = self.agent(model, tools=(self.tool,))
        await agent.chat(PROMPT)
        return agent

    async def loop(self, model, steps):
        agent = await self.session(model)
        await agent.aclose()

    async def close(self):
        await self.host.aclose()
        self.home.cleanup()
