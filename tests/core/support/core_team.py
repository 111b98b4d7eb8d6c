"""An agent and the agents that a tool of its own asks."""

from __future__ import annotations

from typing import Any

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.testing import Call, Reply, ScriptedModel


class Team:
    """A parent whose tool ``delegate`` asks an agent of its own; both answer by script."""

    def __init__(
        self, kit: Any, parent: Any, child: Any, *, tools: Any = (), child_tools: Any = (), **options: Any
    ) -> None:
        self.kit = kit
        self.children: list[AgentRunner] = []
        self.answers: list[Any] = []
        self.scripted = ScriptedModel(child) if isinstance(child, (list, tuple)) else child
        self.child_config: dict[str, Any] = options.pop("child_config", {})
        self.child_tools = tuple(child_tools)
        self.ran: list[Any] = []

        async def delegate(args: Any, ctx: Any) -> Any:
            agent = self.child()
            try:
                response = await agent.chat(str(args.get("task", "do it")))
            finally:
                await agent.aclose()
            self.answers.append(response)
            return response.content

        self.parent = kit.agent(*parent, tools=(kit.tool("delegate", delegate), *tools), **options)

    def child(self) -> AgentRunner:
        agent = AgentRunner(AgentConfig(model=self.parent.config.model, tools=self.child_tools, **self.child_config))
        agent.set_adapter(self.scripted)
        self.children.append(agent)
        return agent

    def results(self) -> list[tuple[str, str]]:
        return [(m.outcome.value, m.text) for m in self.parent.messages if m.role == "tool_result"]

    def events(self, depth: int) -> list[Any]:
        return [event for event in self.parent.seen.events if len(event.agent_path) == depth]


DELEGATE = Reply(calls=[Call("delegate", {"task": "look"})])
