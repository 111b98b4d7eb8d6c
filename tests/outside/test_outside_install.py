"""Plugins of strangers, added one after the other, upgraded and synced, in each kind of environment: all are still there."""

import pytest

PROJECT = """
[project]
name = "{package}"
version = "{version}"
dependencies = ["skillkit-core"]

[project.entry-points."skillkit.plugins"]
{plugin} = "{module}"

[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"
"""

CODE = """
from pathlib import Path

from pydantic import BaseModel

from skillkit_core import Tool, ToolCallEventResult, hookimpl
from skillkit_core.descriptors import ConfigSection


class Settings(BaseModel):
    level: int = 1


@hookimpl
def register_config(register):
    register(ConfigSection("{plugin}", Settings))


@hookimpl
def register_tools(register):
    register(Tool("{plugin}_says", "Say something.", lambda args, ctx: "hello", {{"type": "object", "properties": {{}}}}))


@hookimpl(phase="guard")
def before_tool_call(event):
    return None
"""


@pytest.fixture
def plugin(outside):
    """``plugin("one", "1.0")``: a project that brings the plugin of that name in the package ``skillkit-acme-one``."""

    def write(name, version="1.0", code=CODE):
        folder = outside.root / f"skillkit-acme-{name}"
        module = f"skillkit_acme_{name}"
        (folder / "src" / module).mkdir(parents=True, exist_ok=True)
        (folder / "pyproject.toml").write_text(
            PROJECT.format(package=f"skillkit-acme-{name}", version=version, plugin=name, module=module)
        )
        (folder / "src" / module / "__init__.py").write_text(code.format(plugin=name))
        return folder

    return write


MINI = """
[project]
name = "skillkit-mini"
version = "1.0"
dependencies = ["skillkit-core", "skillkit-plugin-packages"]

[project.scripts]
mini = "skillkit_core.cli.bound:mini"

[project.entry-points."skillkit.distributions"]
mini = "skillkit_mini"

[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"

[tool.uv.build-backend]
namespace = true
"""


@pytest.fixture
def mini(outside, release):
    """A distribution of two packages, with a command of its own, in the index."""
    package = outside.root / "mini" / "src" / "skillkit_mini"
    package.mkdir(parents=True)
    (outside.root / "mini" / "pyproject.toml").write_text(MINI)
    (package / "distribution.yaml").write_text("schema_version: 1\nname: mini\nplugins: [plugin-packages]\n")
    release(outside.root / "mini")


@pytest.fixture
def repository(outside, plugin):
    """A git repository with the plugin ``three``."""
    folder = plugin("three")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "Three")):
        outside.run("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *words, cwd=folder).ok()
    return f"git+file://{folder}"


def versions(skillkit):
    """The versions of the plugins of strangers that run."""
    rows = skillkit("plugins", "list", "--json").json["plugins"]
    return {
        row["name"]: row["version"]
        for row in rows
        if row["distribution"].startswith("skillkit-acme-") and row["enabled"]
    }


def add_two_upgrade_and_remove(skillkit, plugin, release, repository, outlive, everything=False):
    """What a person does in any environment; ``outlive`` is what its own package manager does later.

    ``everything``: the package manager upgrades no single package.
    """
    release(plugin("one"))
    release(plugin("two"))
    found = skillkit("plugins", "install", "skillkit-acme-one", "--yes", "--json").json
    (one,) = found["plugins"]
    assert found["packages"] == [{"name": "skillkit-acme-one", "version": "1.0"}]
    assert one["hooks"] == {"registration": ["register_config", "register_tools"], "lifecycle": ["before_tool_call"]}
    assert one["items"] == {"tools": ["one_says"], "config": ["one"]} and one["settings"] == ["one.level"]
    assert one["loaded"] and one["requires"] == ["skillkit-core"] and one["problems"] == []
    assert one["cost"]["modules"] >= 1 and one["cost"]["milliseconds"] > 0

    said = skillkit("plugins", "install", "skillkit-acme-two", "--yes").ok().stdout
    assert "skillkit-acme-two 1.0 is installed" in said and "To be run in the " in said and "before_tool_call" in said
    assert versions(skillkit) == {"one": "1.0", "two": "1.0"}
    skillkit("plugins", "install", repository, "--yes").ok()
    assert versions(skillkit) == {"one": "1.0", "two": "1.0", "three": "1.0"}

    release(plugin("one", "1.1"))
    release(plugin("two", "1.1"))
    rows = skillkit("plugins", "upgrade", "one", "--yes", "--json").json["packages"]
    assert {"package": "skillkit-acme-one", "before": "1.0", "after": "1.1"} in rows
    assert versions(skillkit)["two"] == ("1.1" if everything else "1.0")
    outlive()
    now = versions(skillkit)
    assert now.keys() == {"one", "two", "three"} and now["one"] == "1.1"

    gone = skillkit("plugins", "uninstall", "two", "--yes").ok().stdout
    assert " plugins install skillkit-acme-two==" in gone
    outlive()
    assert versions(skillkit).keys() == {"one", "three"}
    skillkit("plugins", "doctor").ok()


def test_plugins_of_a_uv_tool_stay_together(run, outside, plugin, release, repository):
    run("uv", "tool", "install", "skillkit-default").ok()
    skillkit = lambda *words: run("skillkit", *words)  # noqa: E731

    add_two_upgrade_and_remove(
        skillkit, plugin, release, repository, lambda: run("uv", "tool", "upgrade", "skillkit-default").ok()
    )

    refused = skillkit("plugins", "uninstall", "skillkit-default", "--yes").fails(2)
    assert "is there for" in refused.stderr


def test_plugins_of_a_pipx_application_stay_together(mini, venv, plugin, release, repository):
    tools = venv("pipx", name="tools", pip=True)
    tools.run("pipx", "install", "skillkit-mini").ok()
    skillkit = lambda *words: tools.run("mini", *words)  # noqa: E731

    add_two_upgrade_and_remove(
        skillkit,
        plugin,
        release,
        repository,
        lambda: tools.run("pipx", "upgrade", "--include-injected", "skillkit-mini").ok(),
        everything=True,
    )


def test_plugins_of_a_uv_project_stay_together(run, outside, plugin, release, repository):
    project = outside.work
    (project / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "0"\nrequires-python = ">=3.11"\ndependencies = []\n'
        '[dependency-groups]\ndev = ["skillkit-plugin-packages"]  # the tools\n'
    )
    run("uv", "sync", "--quiet").ok()
    skillkit = lambda *words: run(project / ".venv/bin/python", "-m", "skillkit_core", *words)  # noqa: E731

    add_two_upgrade_and_remove(skillkit, plugin, release, repository, lambda: run("uv", "sync", "--quiet").ok())

    said = (project / "pyproject.toml").read_text()
    assert "# the tools" in said and "dependencies = []" in said
    assert "skillkit-acme-one" in said and "skillkit-acme-two" not in said


@pytest.mark.parametrize("pip", [True, False], ids=["with-pip", "without-pip"])
def test_plugins_of_a_virtual_environment_stay_together(venv, outside, plugin, release, repository, pip):
    environment = venv("skillkit-plugin-packages", pip=pip)
    skillkit = lambda *words: environment.run("python", "-m", "skillkit_core", *words)  # noqa: E731

    add_two_upgrade_and_remove(skillkit, plugin, release, repository, lambda: None)


def test_what_a_policy_denies_is_not_installed(venv, outside, plugin, release):
    environment = venv("skillkit-plugin-packages")
    release(plugin("one"))
    file = outside.work / "strict.yaml"
    file.write_text("schema_version: 1\nname: strict\nplugins: [plugin-packages]\npolicy: {only_listed: true}\n")
    skillkit = lambda *words: environment.run("python", "-m", "skillkit_core", "--distribution", file, *words)  # noqa: E731

    refused = skillkit("plugins", "install", "skillkit-acme-one", "--yes").fails(2)
    assert (
        "'strict' runs only the plugins that it lists, and 'one' of skillkit-acme-one is none of them" in refused.stderr
    )
    file.write_text("schema_version: 1\nname: strict\nplugins: [plugin-packages]\npolicy: {deny: [one]}\n")
    refused = skillkit("plugins", "install", plugin("one"), "--yes").fails(2)
    assert "'strict' denies the plugin 'one' of skillkit-acme-one" in refused.stderr

    assert "skillkit-acme-one" not in environment.run("uv", "pip", "list").stdout


def test_what_brings_nothing_or_is_a_plugins_name_is_not_installed(venv, outside, plugin):
    environment = venv("skillkit-plugin-packages")
    folder = plugin("none")
    text = (folder / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(text.replace("skillkit.plugins", "other.plugins"))
    skillkit = lambda *words: environment.run("python", "-m", "skillkit_core", *words)  # noqa: E731

    assert "brings no plugin" in skillkit("plugins", "install", folder, "--yes").fails(2).stderr
    assert "the plugin of skillkit-skills" in skillkit("plugins", "install", "skills", "--yes").fails(2).stderr
    assert "nobody can be asked" in skillkit("plugins", "install", "skillkit-recorder").fails(2).stderr
    dry = skillkit("plugins", "install", "skillkit-recorder", "--dry-run", "--json").json
    assert dry["environment"] == "virtual environment" and dry["commands"][0].endswith("skillkit-recorder")


def test_the_python_of_the_system_is_left_alone(venv, outside):
    """The packages lie on a path of a Python without a virtual environment."""
    environment = venv("skillkit-plugin-packages")
    (site,) = (environment.place / "lib").glob("python*/site-packages")
    base = environment.run("python", "-c", "import sys; print(sys.base_prefix)").ok().stdout.strip()

    refused = outside.run(
        f"{base}/bin/python3",
        "-m",
        "skillkit_core",
        "plugins",
        "install",
        "skillkit-acme-one",
        "--yes",
        env={"PYTHONPATH": str(site)},
    ).fails(2)

    assert "the Python of the system" in refused.stderr and "uv tool install skillkit-default" in refused.stderr


def test_a_missing_command_and_section_name_their_package(venv, outside):
    environment = venv("skillkit-plugin-packages")
    core = lambda *words: environment.run("python", "-m", "skillkit_core", *words)  # noqa: E731

    said = core("skills", "list").fails(2).stderr
    assert (
        "unknown command 'skills'; 'skills' comes with skillkit-skills: skillkit plugins install skillkit-skills"
        in said
    )
    config = outside.home / "skillkit" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("bash: {timeout: 5}\nacme: {x: 1}\n")
    checked = str(core("doctor"))
    assert "'bash' comes with skillkit-bash" in checked and "skillkit-acme" not in checked


def test_a_plugin_that_does_not_load_is_said_and_other_commands_go_on(venv, outside, plugin):
    environment = venv("skillkit-plugin-packages")
    skillkit = lambda *words: environment.run("python", "-m", "skillkit_core", *words)  # noqa: E731

    done = skillkit("plugins", "install", plugin("broken", code="import nonsense\n"), "--yes").fails(1)

    assert "does not load" in done.stdout and "nonsense" in done.stderr
    assert skillkit("plugins", "list").ok()
    skillkit("plugins", "uninstall", "broken", "--yes").ok()
    assert skillkit("plugins", "doctor").ok()


def test_a_folder_is_used_in_place_and_a_package_of_skills_is_listed(venv, outside, plugin):
    environment = venv("skillkit-plugin-packages")
    skillkit = lambda *words: environment.run("python", "-m", "skillkit_core", *words)  # noqa: E731
    folder = plugin("one")

    skillkit("plugins", "install", "--editable", folder, "--yes").ok()
    plugin("one", code=CODE.replace("_says", "_shouts"))
    said = skillkit("plugins", "install", "skillkit-bundled", "--yes").ok().stdout

    assert skillkit("plugins", "info", "one", "--json").json["items"]["tools"] == ["one_shouts"]
    assert "Skills of skillkit_bundled" in said
    assert [row["name"] for row in skillkit("plugins", "list", "--json").json["skills"]] == ["bundled"]
    assert skillkit("plugins", "info", "bundled", "--json").json["distribution"] == "skillkit-bundled"
