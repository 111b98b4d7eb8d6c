"""The conformance kit of the protocol, with capabilities on and off: it waits for most of its time, a minute or two."""

import os
import subprocess
from pathlib import Path

import pytest
from a2a_callers import free_port

PLUGIN = Path(__file__).parent / "support" / "a2a_kit_plugin.py"
ON = "a2a:\n  rate: 100000\n  push:\n    allow: [127.0.0.1]\n"
OFF = "a2a:\n  rate: 100000\n  streaming: false\n  extended: false\n  push:\n    enabled: false\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "bindings", "passed"),
    [(ON, "jsonrpc,http_json,grpc", 239), (OFF, "jsonrpc,http_json", 131)],
    ids=["on", "off"],
)
def test_s12_2_s12_4_the_kit_finds_nothing_that_nobody_can_explain(
    shared_data, skillkit_cli, install_plugin, skillkit_home, write_skill, capsys, settings, bindings, passed
):
    kit = shared_data / "servers" / "a2a"
    install_plugin("kit", PLUGIN)
    write_skill("one")
    skillkit_home.write_config(settings)
    options = ["--port", "0", "--open", "--provider", "kit"]
    if "grpc" in bindings:
        pytest.importorskip("grpc", reason="gRPC is an extra")
        options += ["--grpc-port", str(free_port())]
    with skillkit_cli.start("a2a", "serve", *options) as process:
        try:
            url = process.stdout.readline().split()[1]
            command = [str(kit / "run-tck"), url, "--expect", str(kit / "skipped.json"), "--transport", bindings]
            environ = {**os.environ, "A2A_TCK_VENV": str(skillkit_home.path / "kit")}
            done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environ)
        finally:
            process.terminate()
            process.communicate(timeout=20)

    figure = done.stdout.strip().rpartition("\n")[2]
    with capsys.disabled():
        print(f"\n{figure}")
    assert done.returncode == 0 and f"passed {passed}  failed 0 " in figure, (done.stdout + done.stderr)[-4_000:]
