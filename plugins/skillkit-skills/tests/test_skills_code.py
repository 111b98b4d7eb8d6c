"""No argument of an action becomes code for an interpreter: refused where it is read, and where only the values show it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_skills.plugin
from skillkit_skills.skill_md.action_definition import ActionError, read_action

from skillkit_core import AgentConfig, AgentRunner, ToolResultMessage
from skillkit_core.testing import Call, Reply, ScriptedModel

CODE = (
    ["sh", "-c", "{x}"], ["bash", "-ec", "echo {x}"], ["bash", "-c", "-x", "{x}"], ["bash", "-euo", "pipefail", "-c", "{x}"],
    ["/bin/bash", "-o", "pipefail", "-c", "{x}"], ["env", "bash", "-c", "{x}"], ["nice", "-n", "5", "sh", "-c", "{x}"],
    ["timeout", "5", "env", "A=b", "zsh", "-fc", "{x}"], ["xargs", "sh", "-c", "{x}"], ["find", "-exec", "sh", "-c", "{x}", ";"],
    ["busybox", "sh", "-c", "{x}"], ["fish", "--command={x}"], ["python3", "-c", "{x}"], ["/usr/bin/python3.12", "-Ic", "{x}"],
    ["python", "-cprint({x})"], ["python", "-W", "ignore", "-c", "{x}"], ["uv", "run", "python", "-c", "{x}"],
    ["node", "-e", "{x}"], ["node", "--eval={x}"], ["node", "-pe", "{x}"], ["node", "--require", "./a.js", "-e", "{x}"],
    ["deno", "eval", "--ext=ts", "{x}"], ["perl", "-ne", "{x}"], ["perl", "-I", "lib/a", "-e1", "-e", "{x}"],
    ["ruby", "-rjson", "-e", "{x}"],
    ["php", "-r", "{x}"], ["lua", "-e", "{x}"], ["pwsh", "-NoProfile", "-Command", "Write", "{x}"], ["env", "-S", "{x}"],
)  # fmt: skip
WORDS = (
    ["sh", "-c", 'echo "$1"', "sh", "{x}"], ["bash", "run.sh", "-c", "{x}"], ["python3", "tool.py", "-c", "{x}"],
    ["python3", "-W", "ignore", "tool.py", "-c", "{x}"], ["python3", "-c", "import sys; print(sys.argv)", "{x}"],
    ["uv", "run", "python", "-m", "pytest", "-c", "{x}"], ["node", "cli.js", "-e", "{x}"], ["grep", "-c", "{x}"],
    ["env", "A={x}", "ls"],
    ["node", "--import=a", "cli.js", "-e", "{x}"], ["perl", "-I", "lib", "a.pl", "-e", "{x}"], ["git", "commit", "-m", "{x}"],
)  # fmt: skip


def action(run, **arg):
    return {"name": "go", "run": run, "args": {"x": {"type": "string", **arg}}, "confirm": "never"}


def put(root: Path, *actions: dict) -> Path:
    (root / "s").mkdir(parents=True)
    block = f"metadata: {{skillkit: {json.dumps({'actions': actions})}}}"
    (root / "s" / "SKILL.md").write_text(f"---\nname: s\ndescription: Use it.\n{block}\n---\nGo.\n")
    return root


@pytest.mark.parametrize("run", CODE, ids=" ".join)
def test_an_argument_is_never_code_wherever_the_interpreter_stands(run):
    with pytest.raises(ActionError, match="an argument cannot be part of the code that") as refused:
        read_action(action(run), None, [])
    assert refused.value.code == "action-code-argument"


@pytest.mark.parametrize("arg", [{"position": 1}, {"flag": "-c"}, {}], ids=str)
def test_nor_when_it_comes_after_the_words_of_run(arg):
    with pytest.raises(ActionError, match="the code that bash runs"):
        read_action(action(["bash"] if "flag" in arg else ["nohup", "bash", "-c"], **arg), None, [])


@pytest.mark.parametrize("run", WORDS, ids=" ".join)
def test_an_argument_beside_the_code_is_fine(run):
    assert read_action(action(run), None, []).run == tuple(run)


def test_check_names_the_file_and_the_line(skillkit_cli, tmp_path):
    folder = tmp_path / "s"
    (folder / "agents").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: s\ndescription: Use it.\n---\nGo.\n")
    sidecar = folder / "agents" / "skillkit.yaml"
    sidecar.write_text("actions:\n  - name: go\n    args: {x: string}\n    run: [env, bash, -c, '{x}']\n")
    done = skillkit_cli("skills", "check", tmp_path)
    assert done.exit_code == 1
    assert (
        "error   action-code-argument: action 'go': an argument cannot be part of the code that bash runs"
        in done.stdout
    )
    assert "(agents/skillkit.yaml:4)" in done.stdout


@pytest.mark.parametrize(
    ("run", "args", "given", "says"),
    [
        (["nice", "{x}"], {"x": "array"}, {"x": ["sh", "-c", "touch made"]}, "the code that sh runs"),
        (["python3", "{x}"], {"x": "string"}, {"x": "-copen('made', 'w')"}, "the code that python runs"),
        (["bash", "{x}", "{y}"], {"x": "string", "y": "string"}, {"x": "-c", "y": "touch made"}, "the code that bash"),
        (["bash", "{x}", "-c", "{y}"], {"x": "string", "y": "string"}, {"y": "touch made"}, "the code that bash runs"),
    ],
    ids=["array", "attached", "two", "absent"],
)
def test_values_that_turn_into_options_are_refused_when_called(make_host, run, args, given, says):
    host = make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin))
    put(host.config_dir / "skills", {"name": "go", "run": run, "args": args, "confirm": "never"})

    async def talk():
        async with AgentRunner(AgentConfig(model="scripted"), host=host) as agent:
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("s__go", given)]), "done"]))
            await agent.chat("please")
            return [m for m in agent.session.messages if isinstance(m, ToolResultMessage)]

    (result,) = asyncio.run(talk())
    assert says in result.text and result.is_error
    assert not (host.cwd / "made").exists()
