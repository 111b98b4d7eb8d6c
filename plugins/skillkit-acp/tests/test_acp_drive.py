"""The checks that others wrote of an agent, where they are: ``acp/drive.py`` with the model of ``plugin``."""

import os
import subprocess
import sys

import pytest

SAMPLE = "loads_a"


@pytest.mark.parametrize("only", [SAMPLE, pytest.param("", marks=pytest.mark.slow, id="all")])
def test_the_agent_passes_the_checks_of_an_editor_that_others_wrote(
    shared_data, skillkit_cli, install_plugin, skillkit_home, only
):
    servers = shared_data / "servers"
    install_plugin("acceptance", servers / "plugin" / "src" / "skillkit_acceptance" / "plugin.py")
    command = [*skillkit_cli.program, "-P", "acceptance", "acp", "--provider", "acceptance"]
    drive = [sys.executable, str(servers / "acp" / "drive.py"), "--only", only, "--", *command]

    done = subprocess.run(
        drive, capture_output=True, text=True, cwd=skillkit_home.cwd, env=dict(os.environ), timeout=400
    )

    assert done.returncode == 0 and " 0 absent, 0 failed" in done.stdout, done.stdout + done.stderr
