"""Who brings the command ``skillkit``: the package that people are told to install, and it alone."""

import pytest

ACME = """
[project]
name = "skillkit-acme"
version = "1.0"
dependencies = ["skillkit-core", "skillkit-offline", "skillkit-chat"]

[project.scripts]
acme = "skillkit_core.cli:entry"

[project.entry-points."skillkit.distributions"]
acme = "skillkit_acme"

[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"

[tool.uv.build-backend]
namespace = true
"""


@pytest.fixture
def acme(outside, release):
    """A second distribution, with a command of its own name."""
    folder = outside.root / "acme"
    package = folder / "src" / "skillkit_acme"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(ACME)
    (package / "distribution.yaml").write_text("schema_version: 1\nname: acme\nplugins: [chat, offline]\n")
    return release(folder)


def test_uv_tool_install_of_the_standard_distribution_gives_the_command(run):
    run("uv", "tool", "install", "skillkit-default").ok()

    assert run("skillkit", "run", "--no-session", "what is 15% of 80").ok().stdout.strip() == "15% of 80 = 12"


def test_pipx_install_of_the_standard_distribution_gives_the_command(venv, run):
    tools = venv("pipx", name="tools", pip=True)

    tools.run("pipx", "install", "skillkit-default").ok()

    assert run("skillkit", "--version").ok().stdout.startswith("skillkit ")
    assert run("skillkit", "plugins", "doctor").ok()


def test_pip_install_of_the_standard_distribution_gives_the_command_and_its_plugins_alone_have_none(venv):
    environment = venv("skillkit-default", pip=True)
    environment.run("pip", "uninstall", "--quiet", "--yes", "skillkit-default").ok()
    assert not (environment.bin / "skillkit").exists()
    assert environment.run("python", "-m", "skillkit_core", "--version").ok()

    environment.run("pip", "install", "--quiet", "skillkit-default").ok()

    assert environment.run("skillkit", "--version").ok()


@pytest.mark.parametrize(
    ("leaves", "gone", "stays"), [("skillkit-default", "skillkit", "acme"), ("skillkit-acme", "acme", "skillkit")]
)
def test_of_two_distributions_one_leaves_and_the_command_of_the_other_still_runs(acme, venv, leaves, gone, stays):
    environment = venv("skillkit-default", acme)

    environment.run("uv", "pip", "uninstall", "--quiet", "--python", environment.python, leaves).ok()

    assert not (environment.bin / gone).exists()
    assert environment.run(stays, "plugins", "doctor").ok()
