"""SkillKit in workloads a to e: the default plugins, its session log on the disk, one client as shipped."""

from pathlib import Path

from bench_peer import BASE_URL, PROMPT, SYSTEM, TOOL, BasePeer


class Peer(BasePeer):
    DIST = "skillkit-core"
    NOTE = "default plugins, session file per session, no tools but that of the workload"
    SESSION = "new"
    scratch = None

    async def setup(self):
        from skillkit_core import AgentConfig, AgentRunner, Host, Tool

        home = self.where()
        home.mkdir(exist_ok=True)
        self.host = Host(environ={"SKILLKIT_HOME": str(home), "OPENAI_API_KEY": "x"}, cwd=home)
        function = TOOL["function"]

        async def add(args, ctx):
            return str(self.add(args["a"], args["b"]))

        self.tool = Tool("add", function["description"], add, function["parameters"])
        self.runner, self.config = AgentRunner, AgentConfig
        self.host.load()

    def where(self):
        """The folder of sessions."""
        import tempfile

        self.scratch = tempfile.TemporaryDirectory(prefix="skillkit-bench-")
        return Path(self.scratch.name)

    def tools(self, given):
        """The tools of an agent, as fields of its configuration."""
        return {"tools": given, "only_tools": frozenset(t.name for t in given)}

    def agent(self, model, *, tools=(), stream=False):
        config = self.config(
            model=model,
            provider="openai",
            base_url=BASE_URL,
            system_prompt=SYSTEM,
            **self.tools(tools),
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
        if self.scratch is not None:
            self.scratch.cleanup()
