"""The conformance kit of the protocol, with capabilities on and off: it waits for most of its time, a minute or two."""

import os
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "support" / "a2a_kit_plugin.py"
ON = "a2a:\n  rate: 100000\n  push:\n    allow: [127.0.0.1]\n"
OFF = "a2a:\n  rate: 100000\n  streaming: false\n  extended: false\n  push:\n    enabled: false\n"


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "most"), [(ON, 240), (OFF, 131)], ids=["on", "off"])
def test_the_kit_finds_nothing_that_nobody_can_explain(
    shared_data, skillkit_cli, install_plugin, skillkit_home, write_skill, capsys, settings, most
):
    kit = shared_data / "servers" / "a2a"
    install_plugin("kit", PLUGIN)
    write_skill("one")
    skillkit_home.write_config(settings)
    with skillkit_cli.start("a2a", "serve", "--port", "0", "--open", "--provider", "kit") as process:
        try:
            url = process.stdout.readline().split()[1]
            command = [
                str(kit / "run-tck"),
                url,
                "--expect",
                str(kit / "skipped.json"),
                "--transport",
                "jsonrpc,http_json",
            ]
            environ = {**os.environ, "A2A_TCK_VENV": str(Path.home().parent / "a2a-tck")}
            done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=environ)
        finally:
            process.terminate()
            process.communicate(timeout=20)

    figure = done.stdout.strip().rpartition("\n")[2]
    with capsys.disabled():
        print(f"\n{figure}")
    assert done.returncode == 0 and "failed 0 " in figure and f"passed {most}" in figure, done.stdout[-4_000:]
