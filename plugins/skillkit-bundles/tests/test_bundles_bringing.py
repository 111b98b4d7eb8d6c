"""What bundles bring to a run: skills, commands, agents, servers and hooks, with a scripted model, under every guard."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_bundles.plugin
import skillkit_commands.plugin
import skillkit_mcp.plugin
import skillkit_permissions.plugin
import skillkit_shell_hooks.plugin
import skillkit_skills.plugin
import skillkit_subagents.plugin
from bundle_folders import bundle, hooks, skill
from skillkit_bundles.books import changing
from skillkit_bundles.running import consent_digest
from skillkit_commands import Prompt, SlashCommands

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, SkillKitError, hookimpl, hookspec
from skillkit_core.descriptors import Factory
from skillkit_core.testing import Call, Reply, ScriptedModel

PLUGINS = (
    ("skills", skillkit_skills.plugin),
    ("bash", skillkit_bash.plugin),
    ("commands", skillkit_commands.plugin),
    ("mcp", skillkit_mcp.plugin),
    ("permissions", skillkit_permissions.plugin),
    ("subagents", skillkit_subagents.plugin),
    ("bundles", skillkit_bundles.plugin),
)

SERVER = '''\
"""An MCP server that says where it stands."""
import os
from mcp.server.mcpserver import MCPServer

server = MCPServer("here")


@server.tool()
def where() -> str:
    return os.environ["CLAUDE_PLUGIN_ROOT"] + " " + os.environ.get("GREETING", "")


server.run()
'''


def host_with(make_host, *folders, **settings):
    options = {"bundles": {"dirs": [str(folder) for folder in folders], **settings.pop("bundles", {})}, **settings}
    return make_host(*PLUGINS, settings=options)


class Allow(Approver):
    """Allows what it is asked."""

    def __init__(self):
        self.asked = []

    async def approve(self, request):
        self.asked.append(request)
        return ApprovalDecision("allow")


async def called(agent, line):
    """Return what a slash command hands back."""
    commands = SlashCommands(agent)
    return await commands.run(commands.match(line))


def results(agent):
    return [message.text for message in agent.messages if message.role == "tool_result"]


@pytest.mark.smoke
async def test_a_command_a_skill_and_an_agent_of_a_bundle(make_host, tmp_path):
    acme = bundle(
        tmp_path / "acme",
        files={
            "skills/review/SKILL.md": skill("review", "Look at ${CLAUDE_PLUGIN_ROOT}/notes.txt"),
            "commands/fix.md": "---\ndescription: Fix it\n---\n\nFix $ARGUMENTS with ${CLAUDE_PLUGIN_ROOT}\n",
            "agents/critic.md": "---\nname: critic\ndescription: Finds faults\n---\n\nYou find faults.\n",
        },
    )
    host = host_with(make_host, acme)
    async with AgentRunner(AgentConfig(), host=host) as agent:
        prompt = await called(agent, "/acme:fix issue 12")
        assert prompt == Prompt(f"Fix issue 12 with {acme}")
        model = ScriptedModel(
            [
                Reply(calls=[Call("activate_skill", {"name": "acme:review"})]),
                Reply(calls=[Call("spawn_agent", {"task": "look", "agent": "acme:critic"})]),
                "a fault",
                "done",
            ]
        )
        agent.set_adapter(model)
        assert (await agent.chat(prompt.text)).content == "done"
        skill_text, fault = results(agent)
    assert f"Look at {acme}/notes.txt" in skill_text and fault == "a fault"
    assert "You find faults." in model.requests[2].system


async def test_what_a_command_allows_counts_for_its_run_alone_and_deny_rules_win(make_host, tmp_path):
    text = (
        "---\ndescription: d\nallowed-tools: Bash(mkdir *)\ndisallowed-tools: WebFetch\n---\n\nGo: !`mkdir -v zero`\n"
    )
    acme = bundle(tmp_path / "acme", files={"commands/go.md": text})
    host = host_with(make_host, acme, tools={"allow": ["bash"]})
    async with AgentRunner(AgentConfig(), host=host) as agent:
        prompt = await called(agent, "/acme:go")
        assert "zero" in prompt.text and Path("zero").is_dir()
        agent.set_adapter(
            ScriptedModel([r for n in "ab" for r in (Reply(calls=[Call("bash", {"command": f"mkdir {n}"})]), "done")])
        )
        await agent.chat(prompt.text)
        await agent.chat("and now without the command")
    assert Path("a").is_dir() and not Path("b").exists(), "the grant ended with the run"
    denied = host_with(make_host, acme, permissions={"deny": ["Bash(mkdir *)"]})
    async with AgentRunner(AgentConfig(), host=denied) as agent:
        with pytest.raises(SkillKitError, match="did not run to its end"):
            await called(agent, "/acme:go")


async def test_what_a_model_gives_never_becomes_a_part_of_a_shell_line(make_host, tmp_path):
    from skillkit_bundles import command_named, expand, read_bundle, variables_of

    acme = bundle(tmp_path / "acme", files={"commands/go.md": "---\nallowed-tools: Bash(*)\n---\n!`echo $0`\n"})
    host, read = host_with(make_host, acme), read_bundle(acme).bundle
    values = variables_of(acme, tmp_path, tmp_path)
    async with AgentRunner(AgentConfig(), host=host) as agent:
        with pytest.raises(SkillKitError, match="plain words"):
            await expand(agent, command_named(read, "go"), "x;touch${IFS}evil", values, by="model")
        done = await expand(agent, command_named(read, "go"), "fine", values, by="model")
    assert done.text == "fine" and not Path("evil").exists()


async def test_a_server_of_a_bundle_is_started_with_its_variables_and_asked_about(make_host, tmp_path):
    servers = {"mcpServers": {"here": {
        "command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"], "env": {"GREETING": "${user_config.greeting}"},
        "alwaysAllow": ["*"],
    }}}  # fmt: skip
    options = {"greeting": {"type": "string", "default": "hello"}}
    acme = bundle(tmp_path / "acme", files={".mcp.json": servers, "server.py": SERVER}, userConfig=options)
    host = host_with(make_host, acme)
    ask = Allow()
    async with AgentRunner(AgentConfig(approver=ask), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("mcp__plugin_acme_here__where", {})]), "done"]))
        await agent.chat("go")
        assert results(agent) == [f"{acme} hello"]
    assert [one.tool_name for one in ask.asked] == ["mcp__plugin_acme_here__where"], "a bundle lets nothing run unasked"
    await host.aclose()


async def test_programs_of_a_bundle_are_on_the_path_and_hide_no_other(make_host, tmp_path):
    programs = {"bin/acme-tool": "#!/bin/sh\necho from the bundle\n", "bin/ls": "#!/bin/sh\necho not this one\n"}
    host = host_with(make_host, bundle(tmp_path / "acme", files=programs))
    runtime = await host.find_runtime("bash")
    assert (await runtime.execute("acme-tool")).stdout == "from the bundle\n"
    assert "not this one" not in (await runtime.execute("ls")).stdout


class Runner:
    """A plugin with the family of hooks that run, as the contract between the packages has it."""

    class Hooks:
        @hookspec
        def register_shell_hooks(self, register, host, config):
            """Offer hooks."""

    @hookimpl
    def register_hookspecs(self, add):
        add(self.Hooks, kinds={"shell_hooks": Factory})


async def test_only_hooks_that_were_consented_to_are_handed_over(make_host, run, tmp_path):
    two = {"hooks": {"PreToolUse": hooks()["hooks"]["PreToolUse"], "Stop": hooks("Stop", "echo stop")["hooks"]["Stop"]}}
    acme = bundle(tmp_path / "acme", files={"hooks/hooks.json": two, "bin/tool": "#!/bin/sh\n"})
    run("bundles", "add", acme, "--yes")
    waiting = run("bundles", "list", "--json").json[0]["waiting"]
    run("bundles", "consent", "acme", "--allow-hook", waiting[0][7:19])
    host = make_host(*PLUGINS, ("runner", Runner()))
    known = host.registry("shell_hooks")
    (said,) = known.get("bundles")()
    assert said["digest"] == waiting[0] and said["origin"] == "bundle:acme" and said["dialect"] == "claude"
    assert said["hooks"] == {"PreToolUse": [{"matcher": "", "hooks": [{"type": "command", "command": "true"}]}]}
    assert said["plugin"]["name"] == "acme" and Path(said["plugin"]["root"]).is_dir()
    assert any("1 of the hooks of the bundle acme" in str(problem) for problem in host.problems), (
        "doctor tells what waits"
    )


def test_a_host_without_bundles_registers_nothing(make_host):
    host = make_host(*PLUGINS, ("runner", Runner()))
    mine = [(kind, e.name) for kind in host.kinds for e in host.registry(kind).entries() if e.source == "bundles"]
    assert {kind for kind, _ in mine} == {"commands", "config"}


# --- public bundles, drawn at random ------------------------------------------------------------------------------------


def _roots(corpus):
    return sorted(
        {path.parents[1] for path in corpus.rglob(".claude-plugin/plugin.json") if "synthetic" not in path.parts}
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
async def test_public_bundles_work_end_to_end(make_host, corpus, skillkit_home, caplog, part):
    """Each is installed, and one of each kind that it has is used by a scripted model: thirty in all."""
    from skillkit_bundles import read_bundle

    # what npm would fetch is not there, and it asks nobody for it
    (skillkit_home.path / ".npmrc").write_text("offline=true\nupdate-notifier=false\nfetch-retries=0\n")
    roots = _roots(corpus)
    drawn = random.Random(29).sample(roots, 30)[part * 5 : part * 5 + 5]
    used = []
    for root in drawn:
        reading = read_bundle(root)
        assert reading.bundle is not None or any(problem.fatal for problem in reading.problems), root
        if reading.bundle is not None:
            used.append(await _exercised(make_host, reading.bundle, caplog))
    assert any(used)


async def _exercised(make_host, found, caplog):
    """Use one of each kind that a bundle has; return the kinds."""
    from skillkit_bundles.bringing import typed

    settings = {"bundles": {"dirs": [str(found.root)]}, "mcp": {"wait": 20}}
    host = make_host(*PLUGINS, ("shell-hooks", skillkit_shell_hooks.plugin), settings=settings)
    kinds = []
    if found.hooks:
        with changing(host) as state:
            state.consents |= {consent_digest(found, hook): "of a test" for hook in found.hooks}
        kinds.append("hook")
    replies = []
    if found.skills:
        replies.append(Reply(calls=[Call("activate_skill", {"name": found.skills[0].name})]))
        kinds.append("skill")
    if found.agents:
        replies += [
            Reply(calls=[Call("spawn_agent", {"task": "go", "agent": typed(found.agents[0].name)})]),
            "from below",
        ]
        kinds.append("agent")
    caplog.clear()
    caplog.set_level("DEBUG", "skillkit.shell_hooks")
    async with AgentRunner(AgentConfig(approver=Allow()), host=host) as agent:
        prompt = "go"
        if found.commands:
            try:
                prompt = (await called(agent, f"/{typed(found.commands[0].name)} one two")).text
                assert prompt.strip()
            except SkillKitError as error:
                assert "may not run" in str(error) or "did not run to its end" in str(error), error
            kinds.append("command")
        for one in filter(_far, found.servers):
            await called(agent, f"/mcp {found.name}:{one.name} off")
        agent.set_adapter(ScriptedModel([*replies, "done"]))
        assert (await agent.chat(prompt)).content == "done"
        for text in results(agent):
            assert "no skill" not in text.lower()[:40], text
        if found.agents:
            assert "from below" in results(agent)[-1]
        if found.servers:
            _servers(found, await called(agent, "/mcp"))
            kinds.append("server")
    await host.aclose()
    if found.hooks:
        _hooks(found, caplog)
    return kinds


def _far(server):
    """Whether a server stands elsewhere, or is fetched by a program that cannot be told to ask nobody: tests do not start it."""
    program = server.config.get("command")
    return program is None or (program in ("bun", "docker", "uvx") and shutil.which(program) is not None)


def _servers(found, listed):
    """Each server was started, or the list of servers says why it cannot be used here."""
    lines = {line.partition(": ")[0]: line.partition(": ")[2] for line in listed.splitlines()}
    for one in found.servers:
        said = lines[f"{found.name}:{one.name}"]
        if _far(one):
            assert said == "off", said
        elif shutil.which(one.config["command"]) is None:
            assert said.startswith("failed: ") and one.config["command"] in said, said
        elif one.config["command"] == "npx":  # the package would have to be fetched
            assert said.startswith("failed: ") and "ENOTCACHED" in said, said
        else:
            assert said.startswith("ready"), said


def _hooks(found, caplog):
    """Hooks of what happened in the run have run, and none of them failed."""
    told = {line.partition(" hook of ")[0]: line.rpartition(", ")[2] for line in caplog.messages}
    for hook in found.hooks:
        if hook.event in ("SessionStart", "UserPromptSubmit", "Stop") and not hook.matcher:
            assert told[hook.event] in ("none", "allow"), (hook.event, caplog.messages)
