"""What an agent may not do although the agent that asked it may: a mode and rules, which hold for its own agents, too."""

import pytest
import skillkit_permissions.plugin
from skillkit_subagents import subagents_of
from skillkit_testkit import Call, Reply

from skillkit_core import ApprovalDecision, Approver, Tool, ToolResultMessage, hookimpl

PERMISSIONS = ("permissions", skillkit_permissions.plugin)


class Hands:
    """Tools that change files and the world."""

    def __init__(self):
        self.used = []

    @hookimpl
    def register_tools(self, register):
        async def run(args, ctx):
            self.used.append((ctx.agent.name or "main", ctx.tool_name, args.get("path") or args.get("line")))
            return "done"

        text = {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "string"}}}
        register(Tool("edit", "Edit.", run, text, annotations={"mutates": "files", "paths": ["path"]}))
        register(Tool("shell", "Run.", run, text, annotations={"mutates": "world", "command": "line"}))


class Agrees(Approver):
    def __init__(self):
        self.asked = []

    async def approve(self, request):
        self.asked.append((request.agent_path[-1].split(":")[0], request.tool_name))
        return ApprovalDecision("allow")


def spawn(task, **args):
    return Call("spawn_agent", {"task": task, **args})


def both():
    return Reply(tool_calls=[Call("edit", {"path": "a.txt"}), Call("shell", {"line": "make"})])


@pytest.mark.smoke
async def test_a_policy_only_narrows_what_the_asking_agent_may_do(agent_with, script):
    """The parent edits without a question and is asked about commands."""
    hands, person = Hands(), Agrees()
    told = script(
        main=[
            Reply(tool_calls=[
                spawn("same: go"),
                spawn("reads: go", policy={"mode": "read-only"}),
                spawn("rules: go", policy={"deny": ["Bash(make:*)"], "ask": ["Edit"]}),
            ]),
            Reply(text="heard"),
        ],
        same=[both(), Reply(text="ok")],
        reads=[both(), Reply(tool_calls=[spawn("below: go", policy={"mode": "accept-edits"})]), Reply(text="ok")],
        below=[both(), Reply(text="ok")],
        rules=[both(), Reply(text="ok")],
    )  # fmt: skip
    settings = {"permissions": {"mode": "accept-edits", "deny": ["Bash(rm:*)"]}, "subagents": {"parallel": 1}}
    plugins = (PERMISSIONS, ("hands", hands))
    async with agent_with(*plugins, settings=settings, approver=person) as agent:
        await agent.chat("main: go")
        assert [one.answer for _, one in subagents_of(agent)] == ["ok"] * 4
    read = {role: [i.text for i in told.requests[role][1].tool_results] for role in ("same", "reads", "below", "rules")}
    assert read["same"] == ["done", "done"]
    assert all("the mode is read-only" in text for text in read["reads"] + read["below"]), (
        "a policy below widens nothing"
    )
    assert read["rules"][0] == "done" and "Bash(make:*) (policy of agent:" in read["rules"][1]
    assert person.asked == [("agent", "shell"), ("agent", "edit")] and len(hands.used) == 3


async def test_a_mode_of_the_parent_is_not_loosened_and_a_file_may_make_it_stricter(agent_with, script, skillkit_home):
    folder = skillkit_home.config_dir / "agents"
    folder.mkdir(parents=True)
    (folder / "loose.md").write_text("---\ndescription: x\npermissionMode: acceptEdits\n---\nWork.")
    (folder / "plans.md").write_text("---\ndescription: x\npermissionMode: plan\n---\nPlan.")
    hands = Hands()
    told = script(
        main=[Reply(tool_calls=[
            spawn("loose: go", agent="loose"), spawn("plans: go", agent="plans", policy={"mode": "ask"}),
        ]), Reply(text="heard")],
        loose=[both(), Reply(text="ok")],
        plans=[both(), Reply(text="ok")],
    )  # fmt: skip
    async with agent_with(PERMISSIONS, ("hands", hands)) as agent:  # mode ask, and nobody can be asked
        await agent.chat("main: go")
    assert hands.used == []
    assert all("read-only" in i.text for i in told.requests["plans"][1].tool_results)
    assert not any("read-only" in i.text for i in told.requests["loose"][1].tool_results)


async def test_without_permissions_a_policy_is_not_offered_and_a_file_with_a_mode_is_refused(
    agent_with, script, skillkit_home
):
    folder = skillkit_home.config_dir / "agents"
    folder.mkdir(parents=True)
    (folder / "plans.md").write_text("---\ndescription: x\npermissionMode: plan\n---\nPlan.")
    calls = [spawn("a: go", policy={"mode": "read-only"}), spawn("a: go", agent="plans")]
    told = script(main=[Reply(tool_calls=calls), Reply(text="heard")])
    async with agent_with() as agent:
        await agent.chat("main: go")
        wrong, refused = [m for m in agent.messages if isinstance(m, ToolResultMessage)]
    offered = next(t for t in told.requests["main"][0].tools if t.name == "spawn_agent")
    assert "policy" not in offered.parameters["properties"]
    assert wrong.is_error and "policy" in wrong.text
    assert refused.is_error and "installs skillkit-permissions" in refused.text
