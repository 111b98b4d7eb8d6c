"""What starting costs: CPU time against an empty Python, and the number of imported modules.

Run it with the Python of an environment that has SkillKit and its plugins installed::

    python tests/benchmarks/startup.py [--rounds N] [--json]

Byte code is compiled first, in a private directory, so that the figures are those of an installed program. An empty
Python runs between all measurements: the ratios hold on a busy machine, too. The least of all rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

EMPTY = ["-c", "pass"]
# as the console script does it, with what the standard distribution lists, whatever else is installed
START = (
    "import sys; sys.argv.insert(1, '--only-default-plugins'); from skillkit_core.cli import entry; sys.exit(entry())"
)
COUNT = (
    "import sys; from skillkit_core.cli.main import run; code = run(['--only-default-plugins', *sys.argv[1:]]); "
    "print(len(sys.modules), file=sys.stderr); sys.exit(code)"
)
# command, the goal as times an empty Python, most modules
BUDGETS = [
    (["--help"], 4.7, 132),
    (["plugins", "list"], 4.7, 130),
    (["skills", "list"], 8.0, 256),
    (["sessions", "list"], 9.0, 330),
    (["doctor"], 14.0, 480),
    (["run", "--no-session", "what is 15% of 80"], 15.0, 460),
]
# What people have set: the file that `config init` makes, with a model and two sections, in a project that is trusted.
PEOPLE = "\nmodel: offline\nprovider: offline\nbash: {timeout: 60}\npermissions: {allow: ['Bash(git status:*)']}\n"
PROJECT = "tools: {allow: [bash]}\n"
PEOPLES = [(["sessions", "list"], 9.0, 350), (["run", "--no-session", "what is 15% of 80"], 17.0, 470)]
# The first turn of a program, beside the same turn with the bare SDK: the goal is to cost no more.
ASK = "Please do the work."
SDK = f"""
import asyncio, sys
from openai import AsyncOpenAI
async def main():
    async with AsyncOpenAI(base_url=sys.argv[1], api_key="sk-benchmark", max_retries=0) as client:
        await client.chat.completions.create(model="text-8", messages=[{{"role": "user", "content": {ASK!r}}}])
asyncio.run(main())
"""
LIBRARY = f"""
import asyncio, sys
from skillkit_core import AgentConfig, AgentRunner, Host
async def main():
    host = Host(plugins=(), discover=True)
    config = AgentConfig(model="text-8", provider="openai", base_url=sys.argv[1], api_key="sk-benchmark", stream=False)
    async with AgentRunner(config, host=host) as agent:
        await agent.chat({ASK!r})
    await host.aclose()
asyncio.run(main())
"""
FLOORS = {"import click": ["-c", "import click"], "import click, pluggy": ["-c", "import click, pluggy"]}


def cpu(arguments: list[str], env: dict[str, str], cwd: str | None = None) -> float:
    """CPU seconds of one run, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=env, cwd=cwd, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(arguments: list[str], env: dict[str, str], rounds: int, cwd: str | None = None) -> float:
    """How many times an empty Python a run costs."""
    cpu(arguments, env, cwd)
    pairs = [(cpu(EMPTY, env), cpu(arguments, env, cwd)) for _ in range(rounds)]
    return min(p[1] for p in pairs) / min(p[0] for p in pairs)


def modules(arguments: list[str], env: dict[str, str], cwd: str | None = None) -> int:
    """How many modules a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *arguments], env=env, cwd=cwd, capture_output=True, check=True, text=True
    )
    return int(done.stderr.split()[-1])


def first_turn(env: dict[str, str], rounds: int) -> float | None:
    """How many times the bare SDK a first turn costs, imports included; ``None`` without the SDK or the provider."""
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "provider_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            programs = [["-c", SDK, url], ["-c", LIBRARY, url]]
            for program in programs:
                if subprocess.run([sys.executable, *program], env=env, capture_output=True).returncode:
                    return None
            pairs = [(cpu(programs[0], env), cpu(programs[1], env)) for _ in range(rounds)]
        finally:
            server.terminate()
    return min(pair[1] for pair in pairs) / min(pair[0] for pair in pairs)


def furnish(env: dict[str, str], project: str) -> None:
    """Set in a home, and in the folder of a project, what people have set there."""
    skillkit = [sys.executable, "-c", START]
    subprocess.run([*skillkit, "config", "init"], env=env, check=True, capture_output=True)
    with open(os.path.join(env["SKILLKIT_HOME"], "config", "config.yaml"), "a") as file:
        file.write(PEOPLE)
    os.makedirs(os.path.join(project, ".skillkit"))
    with open(os.path.join(project, ".skillkit", "config.yaml"), "w") as file:
        file.write(PROJECT)
    subprocess.run([*skillkit, "config", "trust", "--yes", project], env=env, check=True, capture_output=True)


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Ratio and count of every command that is there, and what the libraries alone cost."""
    with tempfile.TemporaryDirectory() as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith("SKILLKIT_") and k != "PYTHONDONTWRITEBYTECODE"}
        env |= {"SKILLKIT_HOME": home, "PYTHONPYCACHEPREFIX": os.path.join(home, "bytecode")}
        out: dict[str, dict[str, float]] = {}
        for name, arguments in FLOORS.items():
            out[name] = {"ratio": ratio(arguments, env, rounds)}
        for command, most, count in BUDGETS:
            asked = ["-c", START, *command]
            if subprocess.run([sys.executable, *asked], env=env, capture_output=True).returncode:
                continue  # the plugin that has the command is not installed
            out[" ".join(["skillkit", *command[:2]]).removesuffix(" --no-session")] = {
                "ratio": ratio(asked, env, rounds), "most": most, "modules": modules(command, env), "most_modules": count,
            }  # fmt: skip
        project = os.path.join(home, "project")
        furnish(env, project)
        for command, most, count in PEOPLES:
            found = ratio(["-c", START, *command], env, rounds, project), modules(command, env, project)
            name = f"{command[0]}, as people have it"
            out[name] = {"ratio": found[0], "most": most, "modules": found[1], "most_modules": count}
        if (turn := first_turn(env, rounds)) is not None:
            out["first turn, of the SDK's"] = {"ratio": turn, "most": 1.0}
        return out


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{'':24} {'x empty':>8} {'goal':>7} {'modules':>8} {'budget':>7}")
    for name, row in found.items():
        most, count, limit = row.get("most", ""), row.get("modules", ""), row.get("most_modules", "")
        print(f"{name:24} {row['ratio']:8.2f} {most:>7} {count:>8} {limit:>7}")


if __name__ == "__main__":
    main()
