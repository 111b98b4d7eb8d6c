"""What commands say of isolated plugins."""

from __future__ import annotations

import asyncio
from typing import Any

from skillkit_inspect import Tracer, check_hooks

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.testing import ScriptedModel

ACME = """
print("imported")

async def now(args, ctx):
    return "noon"

@hookimpl
def register_tools(register):
    register(Tool("now", "The time.", now))

@hookimpl
def register_commands(register):
    register(Command("hello", "x:y", "Says hello."))

@hookimpl
def turn_start(event):
    return None

@hookimpl
def event(event):
    return None
"""


def test_the_commands_about_plugins_show_which_are_isolated(
    install: Any, skillkit_cli: Any, skillkit_home: Any
) -> None:
    install("acme", ACME)
    skillkit_home.write_config("plugins:\n  isolate: [acme]\n")
    only = ("--plugins", "acme,isolation")
    table = skillkit_cli(*only, "plugins", "list").ok().stdout.splitlines()
    (row,) = [line for line in table if line.startswith("acme")]
    assert row.split()[2] == "isolated"
    info = skillkit_cli(*only, "plugins", "info", "acme").ok().stdout
    assert f"its own ({skillkit_home.config_dir / 'config.yaml'}:2" in info.replace("~", str(skillkit_home.path))
    assert "hooks         event, register_tools, turn_start" in info and "tools         now" in info
    assert "register_commands does not work isolated: a command runs in the process of the command line" in info
    done = skillkit_cli(*only, "plugins", "doctor")
    assert "2 plugins loaded (1 isolated), no errors" in done.ok().stdout and "imported" in done.stderr
    off = skillkit_cli("--plugins", "acme", "plugins", "doctor")
    assert off.exit_code == 1 and "may only run in a process of its own" in off.stdout
    assert "skillkit plugins install skillkit-isolation" in off.stdout and "imported" not in off.stderr


async def test_inspect_tells_what_a_hook_of_an_isolated_plugin_costs(install: Any, isolated: Any, capsys: Any) -> None:
    from skillkit_inspect.report import isolated_cost, print_isolated

    host = isolated(install("acme", ACME))
    tracer = Tracer(host)
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        agent.set_adapter(ScriptedModel(["done"]))
        await agent.chat("go")
    (row,) = isolated_cost(host, tracer.calls)
    assert row["plugin"] == "acme" and row["calls"] > 10 and row["microseconds"] > 0
    print_isolated([row])
    assert f"acme runs in a process of its own: {row['microseconds']} us a hook" in capsys.readouterr().out
    tracer.stop()
    await host.aclose()


def test_every_hook_goes_well_beside_an_isolated_plugin(install: Any, isolated: Any) -> None:
    found = asyncio.run(check_hooks(isolated(install("acme", ACME))))
    assert found["run"] == {"outcome": "completed", "error": None} and [r["plugin"] for r in found["isolated"]] == [
        "acme"
    ]
    assert [row["errors"] for row in found["handlers"] if row["state"] == "failed"] == []
    assert {row["hook"] for row in found["handlers"] if row["plugin"] == "acme"} == {
        "event",
        "register_tools",
        "turn_start",
    }
