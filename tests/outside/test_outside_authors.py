"""Authors of plugins: a new package is synced, tested, checked, built by three tools, and runs in another environment."""

import zipfile

import pytest

KINDS = ["provider", "tool", "guard", "runtime", "compactor", "store", "skills", "command", "front-end", "family"]


def test_a_new_plugin_is_green_in_a_project_of_uv_and_runs_once_it_is_installed(outside, venv, release):
    environment = venv("skillkit-default")
    environment.run("skillkit", "plugins", "new", "station", "--kind", "tool").ok()
    project = outside.work / "skillkit-station"

    outside.run("uv", "sync", "--quiet", cwd=project).ok()
    assert "18 passed" in outside.run("uv", "run", "pytest", "-q", cwd=project).ok().stdout
    outside.run("uv", "run", "mypy", cwd=project).ok()
    card = outside.run("uv", "run", "skillkit", "plugins", "check", "--json", ".", cwd=project).json
    shown = outside.run("uv", "run", "skillkit", "dev", "plugins", "info", "station", "--json", cwd=project).json
    release(project)
    environment.install("skillkit-station")

    assert {check["state"] for check in card["checks"] if check["name"] != "skills"} == {"passed"}
    installed = environment.run("skillkit", "plugins", "info", "station", "--json").json
    assert shown["items"] == installed["items"] == {"config": ["station"], "tools": ["station"]}


def test_without_the_testkit_a_card_says_what_it_did_not_look_at(outside, venv):
    environment = venv("skillkit-default")
    environment.run("skillkit", "plugins", "new", "station", "--kind", "skills").ok()

    card = environment.run("skillkit", "plugins", "check", "skillkit-station").ok().stdout  # fetches the build backend
    answer = environment.run("skillkit", "run", "--skills-dir", "skillkit-station/src/skillkit_station", "--no-session",
                             "count the words of 'one two three' with station").ok()  # fmt: skip

    assert "- tests      not looked at: skillkit-testkit is not installed here" in card
    assert answer.stdout == "3 words\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pip_uv_and_hatch_build_each_kind_and_its_card_is_green(outside, venv, kind):
    environment = venv("skillkit-default", "skillkit-testkit", "hatchling", pip=True)
    environment.run("skillkit", "plugins", "new", "mine", "--kind", kind).ok()
    project = outside.work / "skillkit-mine"
    wheels = [outside.work / name for name in ("by-pip", "by-uv", "by-hatch")]

    environment.run("pip", "wheel", "--quiet", "--no-deps", "-w", wheels[0], ".", cwd=project).ok()
    outside.run("uv", "build", "--quiet", "--wheel", "-o", wheels[1], cwd=project).ok()
    outside.run("uvx", "hatch", "build", "-t", "wheel", wheels[2], cwd=project).ok()
    environment.run("skillkit", "plugins", "check", "skillkit-mine").ok()

    names = [sorted(zipfile.ZipFile(next(folder.glob("*.whl"))).namelist()) for folder in wheels]
    assert names[0] == names[1] == names[2]
    assert not [name for name in names[0] if name.startswith("tests")]
