"""Distributions as products: made, built, installed beside the standard one, tampered with, upgraded, bundled."""

import json
import shutil
import subprocess
import textwrap

import pytest

SKILLKIT = ("python", "-m", "skillkit_core")
GUARD = """
[project]
name = "acme-guard"
version = "{version}"
dependencies = ["skillkit-core"]

[project.entry-points."skillkit.plugins"]
guard = "acme_guard.plugin"

[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"
"""
DENIES = """
from skillkit_core import ToolCallEventResult, hookimpl

@hookimpl(phase="guard")
def before_tool_call(event):
    if "forbidden" in str(event.args):
        return ToolCallEventResult(block=True, reason="forbidden here")
"""


def guard(outside, release, version):
    """Release a version of a guard of the company."""
    folder = outside.root / f"guard-{version}"
    package = folder / "src" / "acme_guard"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(GUARD.format(version=version))
    (package / "__init__.py").touch()
    (package / "plugin.py").write_text(DENIES)
    (package / "plugin.yaml").write_text('skillkit_api: "1"\nneeds: {hooks: [before_tool_call], secrets: []}\n')
    release(folder)


PLANT = """
import importlib.util, marshal, pathlib, sys
source = pathlib.Path(sys.argv[1])
stat, cached = source.stat(), pathlib.Path(importlib.util.cache_from_source(source))
head = importlib.util.MAGIC_NUMBER + bytes(4) + int(stat.st_mtime).to_bytes(4, "little") + stat.st_size.to_bytes(4, "little")
cached.parent.mkdir(exist_ok=True)
cached.write_bytes(head + marshal.dumps(compile("x = 1", str(source), "exec")))
"""


@pytest.fixture
def company(outside, venv, release):
    """The wheel of the company's distribution, built as its template says, with a guard of the company's own."""
    guard(outside, release, "1.0")
    maker = venv("skillkit-distributions", name="maker")
    maker.run(*SKILLKIT, "dist", "new", "acme", "--template", "company").ok()
    folder = outside.work / "skillkit-acme"
    for file, old, new in (
        ("pyproject.toml", '  "skillkit-bash', '  "acme-guard",\n  "skillkit-bash'),
        ("src/skillkit_acme/distribution.yaml", "  - commands\n", "  - commands\n  - guard\n"),
        ("src/skillkit_acme/distribution.yaml", "required: [permissions]", "required: [permissions, guard]"),
    ):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))
    built = maker.run(*SKILLKIT, "dist", "build", "skillkit-acme", "--json").json
    assert (built["plugins"][:3], built["packages"] > 30) == (["commands", "guard", "chat"], True)
    shutil.copy(built["wheel"], outside.index)
    return built


def test_a_companys_distribution_keeps_its_name_its_policy_and_its_files(company, outside, venv, release):
    environment = venv("skillkit-default", "skillkit-acme")

    # Its own name, defaults and policy, whatever else is installed.
    assert environment.run("acme", "--version").ok().stdout.startswith("acme 0.1.0 (SkillKit ")
    assert "Usage: acme " in environment.run("acme", "--help").ok().stdout
    assert (
        environment.run("acme", "run", "when is the office open").ok().stdout
        == "The office of Acme is open from 9 to 5.\n"
    )
    assert environment.run("acme", "config", "show", "limits.turns", "--json").json["limits.turns"]["value"] == 40
    assert environment.run("acme", "doctor", "--json").json["ok"]
    assert str(outside.home / ".local" / "share" / "acme") in environment.run("acme", "config", "path").ok().stdout
    running = [p["name"] for p in environment.run("acme", "plugins", "list", "--json").json["plugins"] if p["enabled"]]
    assert running == company["plugins"]
    for words in (["-P", "no:guard"], ["-P", "mcp"], ["--distribution", "default"]):
        environment.run("acme", *words, "plugins", "list").fails()
    several = environment.run("skillkit", "plugins", "list").fails().stderr
    assert "acme (skillkit-acme 0.1.0), default (skillkit-default " in several
    environment.run("skillkit", "--distribution", "default", "run", "--no-session", "what is 15% of 80").ok()
    verify = ("-m", "skillkit_distributions", "verify", "acme", "--deep")
    assert environment.run("python", *verify).ok()
    assert environment.run("acme", "plugins", "verify").ok()

    # A file is edited in place.
    edited = environment.place / "lib" / next((environment.place / "lib").glob("python*")).name
    edited = edited / "site-packages" / "acme_guard" / "plugin.py"
    before = edited.read_bytes()
    edited.unlink()  # uv links files into its cache
    edited.write_text("")
    assert f"{edited} was changed" in environment.run("acme", "run", "hello").fails().stderr
    assert f"{edited} was changed" in environment.run("acme", "plugins", "verify", "--deep").fails().stderr
    assert f"{edited} was changed" in environment.run("python", *verify).fails(1).stdout
    assert f"{edited} was changed" in environment.run("acme", "doctor").fails(1).stdout
    edited.write_bytes(before)
    environment.run("acme", "plugins", "verify", "--deep").ok()

    # Bytecode is planted that Python would run instead.
    environment.run("python", "-c", PLANT, edited).ok()
    assert "is not the bytecode of its source" in environment.run("python", *verify).fails(1).stdout
    shutil.rmtree(edited.parent / "__pycache__")

    # One plugin is upgraded.
    guard(outside, release, "1.1")
    environment.install("acme-guard==1.1")
    assert "acme-guard is 1.1, and 1.0 is locked" in environment.run("acme", "run", "hello").fails().stderr
    found = environment.run("python", *verify, "--json").fails(1)
    assert '"acme-guard is 1.1, and 1.0 is locked"' in found.stdout
    pinned = environment.run("python", "-m", "skillkit_distributions", "export", "acme").ok().stdout
    (outside.work / "pins.txt").write_text(pinned)
    environment.install("-r", "pins.txt")
    environment.run("acme", "plugins", "verify", "--deep").ok()

    # The standard distribution leaves, and the company's command stays.
    environment.run("uv", "pip", "uninstall", "--quiet", "--python", environment.python, "skillkit-default").ok()
    assert environment.run("acme", "run", "what is 15% of 80").ok().stdout == "15% of 80 = 12\n"


def test_a_bundle_runs_under_a_bare_python_without_network(outside, venv, run):
    maker = venv("skillkit-distributions[bundle]", name="maker")
    maker.run(*SKILLKIT, "dist", "new", "mini").ok()
    made = maker.run(*SKILLKIT, "dist", "bundle", "skillkit-mini", "-o", "mini.pyz", "--json").json
    maker.run(*SKILLKIT, "dist", "image", "skillkit-mini").ok()
    bare = venv(name="bare")
    shutil.rmtree(maker.place)
    alone = {"PATH": "/usr/bin:/bin", "HOME": str(outside.home), "LANG": "C.UTF-8"}
    cut = ["unshare", "--map-root-user", "--net"] if can_cut_the_network() else []

    def mini(*words):
        argv = [*cut, str(bare.python), "-I", made["bundle"], *words]
        return subprocess.run(argv, cwd=outside.work, env=alone, capture_output=True, text=True)

    answer = mini("run", "what is 15% of 80")

    assert (answer.returncode, answer.stdout) == (0, "15% of 80 = 12\n"), answer.stderr
    assert mini("--version").stdout.startswith("mini 0.1.0 (SkillKit ")
    assert mini("doctor").returncode == 0


def can_cut_the_network():
    return subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True).returncode == 0


@pytest.mark.slow  # pip makes an environment
def test_the_container_file_installs_what_was_built(outside, venv, run):
    """Its pip runs here, in an environment of its own, where no container can be built."""
    maker = venv("skillkit-distributions", name="maker", pip=True)
    maker.run(*SKILLKIT, "dist", "new", "mini").ok()
    folder = outside.work / "skillkit-mini"
    maker.run(*SKILLKIT, "dist", "build", folder).ok()
    maker.run(*SKILLKIT, "dist", "image", folder).ok()
    lines = (folder / "Containerfile").read_text().splitlines()
    place = outside.root / "opt"
    steps = [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ") and "useradd" not in line]
    assert "COPY dist/ /build/" in lines and len(steps) == 2

    for step in steps:
        words = step.replace("/opt/mini", str(place)).replace("/build", str(folder / "dist")).split()
        maker.run(*words).ok()

    assert f'ENTRYPOINT ["{(place / "bin" / "mini").name}"]' in lines
    assert run(place / "bin" / "mini", "run", "what is 15% of 80").ok().stdout == "15% of 80 = 12\n"


BROKEN = {
    "absent": "import no_such_module",
    "syntax": "def broken(:",
    "leaves": "raise SystemExit(3)",
    "hangs": "while True: pass",
    "misspelt": "from skillkit_core import hookimpl\n@hookimpl\ndef before_tool_cal(event): pass",
    "raises": "from skillkit_core import hookimpl\n@hookimpl\ndef register_commands(register): raise KeyError('x')",
    "future": "",
}


def test_a_plugin_that_is_broken_in_seven_ways_leaves_the_other_commands_alone(outside, venv, release):
    folder = outside.root / "broken"
    entries = "".join(f'{name} = "acme_broken.{name}.plugin"\n' for name in BROKEN)
    for name, source in BROKEN.items():
        package = folder / "src" / "acme_broken" / name
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "plugin.py").write_text(textwrap.dedent(source))
    (folder / "src" / "acme_broken" / "__init__.py").touch()
    (folder / "src" / "acme_broken" / "future" / "plugin.yaml").write_text('skillkit_api: "9"\n')
    head = GUARD.format(version="1.0").replace("acme-guard", "acme-broken")
    (folder / "pyproject.toml").write_text(head.replace('guard = "acme_guard.plugin"\n', entries))
    release(folder)
    environment = venv("skillkit-default", "acme-broken")
    quick = {"SKILLKIT_PLUGINS__IMPORT_TIMEOUT": "0.3"}

    report = environment.run("skillkit", "plugins", "doctor", "--json", env=quick).fails(1)

    assert {p["plugin"] for p in json.loads(report.stdout)["problems"]} == set(BROKEN)
    assert "made for a newer core" in report.stdout and "upgrade skillkit-core" in report.stdout
    answer = environment.run("skillkit", "run", "--no-session", "what is 15% of 80", env=quick).ok()
    assert answer.stdout == "15% of 80 = 12\n"
    for words in (["plugins", "list"], ["skills", "list"], ["sessions", "list"], ["config", "path"], ["--help"]):
        environment.run("skillkit", *words, env=quick).ok()
