"""The command of a distribution: its own name, folders and variables, and nothing else that is installed changes it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from core_site import Done

COMMAND = """
import click
from skillkit_core.errors import UsageError

@click.command()
@click.argument("what", required=False)
@click.pass_context
def hello(ctx, what):
    "Say hello. Then try 'skillkit plugins list'."
    if what == "wrong":
        raise UsageError("that is wrong", hint="see 'skillkit plugins doctor', or set SKILLKIT_DEBUG")
    click.echo(f"{ctx.obj.host.config.get('limits.turns')} {ctx.obj.host.data_dir} {ctx.obj.host.distribution.name}")
"""


@pytest.fixture
def acme(site: Any) -> Any:
    """Two distributions, of which one has a command of its own; ``acme(...)`` runs it."""
    source = (
        '@hookimpl\ndef register_commands(register):\n    register(Command("hello", "acme_a_a_cmd:hello", "Say it."))\n'
    )
    site.plugin("a", source)
    (site.path / "acme_a_a_cmd.py").write_text(COMMAND)
    site.plugin("b")
    site.distribution(
        "acme-corp", "plugins: [a]\npolicy: {only_listed: true}\ndefaults: {limits: {turns: 7}}\n", version="2.1"
    )
    site.distribution("other", "plugins: [b]\n")

    def run(*arguments: str, program: str = "acme_corp", **env: str) -> Done:
        code = f"import sys; from skillkit_core.cli.bound import {program} as entry; entry()"
        done = subprocess.run(
            [sys.executable, "-S", "-c", code, *arguments],
            cwd=site.cwd,
            env=site.env(**env),
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    site.acme = run
    return site


def test_a_second_distribution_changes_nothing_for_a_bound_command_and_neither_does_a_choice(acme: Any) -> None:
    assert acme.acme("hello").out == f"7 {acme.home}/data acme-corp\n"

    acme.config("distribution: other\n")

    assert acme.acme("hello", SKILLKIT_DISTRIBUTION="other").out == f"7 {acme.home}/data acme-corp\n"
    assert [r["name"] for r in acme.acme("plugins", "list", "--json").json["plugins"] if r["enabled"]] == ["a"]
    assert acme.acme("--distribution", "other", "plugins", "list", "--json").json["distribution"] == "other"
    assert "several" not in acme.run("hello").err, "the configuration chose"


def test_a_bound_command_says_its_own_name_everywhere(acme: Any) -> None:
    assert acme.acme("--version").out.startswith("acme-corp 2.1 (SkillKit ")
    assert acme.acme("--help").out.startswith("Usage: acme-corp [OPTIONS]")
    assert "Try: acme-corp plugins list" in acme.acme("--help").out
    assert "Then try 'acme-corp plugins list'." in acme.acme("hello", "--help").out
    assert acme.acme("hello", "--wrong").err.endswith("(see 'acme-corp hello --help')\n")
    assert acme.acme("hello", "wrong").err == (
        "Error: that is wrong; see 'acme-corp plugins doctor', or set SKILLKIT_DEBUG\n"
    )
    assert acme.acme("helo").err.startswith("Error: unknown command 'helo'; did you mean 'hello'?")
    checks = {row["check"]: row["message"] for row in acme.acme("doctor", "--json").json["checks"]}
    assert checks["version"].startswith("acme-corp 2.1 (SkillKit")
    assert "acme-corp" in acme.acme("hello", **{"_ACME_CORP_COMPLETE": "bash_source"}).out


def test_a_distribution_may_have_folders_variables_and_a_description_of_its_own(acme: Any) -> None:
    file = acme.path / "dist_acme_corp" / "distribution.yaml"
    file.write_text(file.read_text() + "command: {home: acme, prefix: ACME, help: Acme does it.}\n")
    env = {"SKILLKIT_HOME": "/nowhere", "SKILLKIT_LIMITS__TURNS": "3", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}

    assert acme.acme("hello", **env).out == f"7 {acme.home}/.local/share/acme acme-corp\n"
    assert acme.acme("hello", **env, ACME_LIMITS__TURNS="4", ACME_HOME="/tmp/x").out == "4 /tmp/x/data acme-corp\n"
    assert "Acme does it." in acme.acme("--help", **env).out
    assert acme.acme("hello", "wrong", **env).err.endswith("or set ACME_DEBUG\n")
    odd = acme.acme("plugins", "list", **env, ACME_LIMIT="4")
    assert "ACME_LIMIT sets nothing; did you mean ACME_LIMITS?" in odd.err


def test_a_policy_may_keep_a_person_from_leaving_the_distribution(acme: Any) -> None:
    file = acme.path / "dist_acme_corp" / "distribution.yaml"
    file.write_text(file.read_text().replace("only_listed: true", "only_listed: true, may_leave: false"))

    left = acme.acme("--distribution", "other", "hello")
    off = acme.acme("-P", "no:a", "hello")
    on = acme.acme("-P", "b", "hello")
    only = acme.acme("--plugins", "", "hello")

    assert left.err == "Error: acme-corp runs the distribution 'acme-corp' and no other: its policy says so\n"
    assert off.err == "Error: disabled by -P no:a: distribution 'acme-corp' lets nobody switch the plugin 'a' off\n"
    assert on.err == "Error: enabled by -P b: distribution 'acme-corp' lets nobody switch the plugin 'b' on\n"
    assert "lets nobody switch the plugin 'a' off" in only.err
    assert {left.code, off.code, on.code, only.code} == {2}
    assert acme.acme("-P", "no:b", "--distribution", "acme-corp", "hello").code == 0, "nothing changes"


def test_a_command_whose_distribution_is_gone_says_so_in_one_line(acme: Any) -> None:
    done = acme.acme("hello", program="acme_crop")

    assert (done.code, done.err) == (2, "Error: unknown distribution 'acme_crop'; did you mean 'acme-corp'?\n")
