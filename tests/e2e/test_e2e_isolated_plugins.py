"""The plugins that print, interrupt, cancel, loop and end the process in a hook, each isolated: a run is right beside them."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("skillkit_isolation", reason="isolation is not part of the standard distribution")

PLUGIN = Path(__file__).parent / "support" / "rude_plugin.py"
WHAT = ("print", "warn", "begin", "write", "kbd", "cancel", "loop", "exit")
HOOKS = (
    "host_started",
    "register_tools",
    "session_start",
    "turn_start",
    "message_update",
    "turn_end",
    "agent_end",
    "host_shutdown",
)
ALL = [f"{what}-{hook}" for what in WHAT for hook in HOOKS]
ASKED = ("run", "what is 15% of 80")


@pytest.fixture
def rude(skillkit_cli, skillkit_home, monkeypatch):
    """``rude("loop-turn_start", ...)`` runs a request beside plugins that do that, each in a process of its own."""
    site = skillkit_home.path / "site"

    def run(*deeds, command=ASKED, **options):
        names = [f"rude{n}" for n in range(len(deeds))]
        for name, deed in zip(names, deeds, strict=True):
            what, where = deed.split("-")
            info = site / f"{name}-1.0.dist-info"
            info.mkdir(parents=True)
            text = PLUGIN.read_text().replace('os.environ.get("RUDE", "").partition("-")', repr((what, "-", where)))
            assert repr(where) in text
            text = text.replace(
                '    elif WHAT == "loop":', '    elif WHAT == "exit":\n        os._exit(0)\n    elif WHAT == "loop":'
            )
            (site / f"{name}_plugin.py").write_text(text)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[skillkit.plugins]\n{name} = {name}_plugin\n")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))))
        # a project's folder that shadows modules is none of the process's
        (skillkit_home.cwd / "json.py").write_text("raise SystemExit('a module of the project was imported')\n")
        skillkit_home.write_config(
            f"plugins: {{isolate: [{', '.join(names)}], hook_timeout: 1}}\nisolation: {{timeout: 0.5, restarts: 1}}\n"
        )
        chosen = [part for name in ("isolation", *names) for part in ("-P", name)]
        return skillkit_cli(*chosen, *command, **options)

    return run


def check(done, plain):
    assert (done.exit_code, done.stdout) == (0, plain.stdout), done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_is_right_beside_one_of_each_kind(rude, skillkit_cli):
    plain = skillkit_cli(*ASKED).ok()
    check(rude(*(f"{what}-{hook}" for what, hook in zip(WHAT, HOOKS[3:] + HOOKS[:3], strict=True))), plain)


@pytest.mark.slow
@pytest.mark.parametrize("deed", ALL)
def test_a_run_is_right_beside_each(rude, skillkit_cli, deed):
    check(rude(deed), skillkit_cli(*ASKED).ok())


@pytest.mark.slow  # by day one of each kind is beside a run, and the plugin's own tests end what loops
def test_json_has_nothing_of_what_it_prints_and_a_run_ends_it_when_it_is_killed(rude, skillkit_cli, skillkit_home):
    done = rude("write-all", command=(*ASKED, "--json"))
    assert "15% of 80 = 12" in json.dumps(done.ok().json) and "written in turn_start" in done.stderr
    config = skillkit_home.config_dir / "config.yaml"
    config.write_text(config.read_text().replace("timeout: 0.5,", "timeout: 600,"))
    site = skillkit_home.path / "site"
    loop = (site / "rude0_plugin.py").read_text().replace("'write', '-', 'all'", "'loop', '-', 'turn_start'")
    (site / "rude0_plugin.py").write_text(loop)
    process = subprocess.Popen(
        [*skillkit_cli.program, "-P", "isolation", "-P", "rude0", *ASKED], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd=skillkit_home.cwd,
    )  # fmt: skip
    try:
        while not (skillkit_home.cwd / "looping").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
