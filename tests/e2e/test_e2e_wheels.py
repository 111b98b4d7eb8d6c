"""What .ci/run tries of what a change did not touch: some wheels alone, and of all members that they declare what they import."""

import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"

pytestmark = pytest.mark.skipif(
    not CI.is_dir(), reason="the steps are in the checkout, and these tests run outside of it"
)


@pytest.fixture
def ci(monkeypatch):
    monkeypatch.syspath_prepend(str(CI))
    before = set(sys.modules)
    import declared
    import wheels

    yield wheels, declared
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == CI:
            del sys.modules[name]


def test_the_core_what_changed_and_first_of_the_others_what_depends_on_it_are_tried(ci):
    wheels, _ = ci
    found = wheels.members()
    tried = {m.name for m in wheels.worth_trying(found, ["plugins/skillkit-engines/src/skillkit_engines/plugin.py"])}
    depending = {"skillkit-engines"}
    for _ in found:
        depending |= {m.name for m in found if wheels.requires(m) & depending}
    assert tried >= {"skillkit-core", "skillkit-default", "skillkit-engines"} and len(depending) > wheels.MORE
    assert tried <= depending | {"skillkit-core", "skillkit-default"}
    assert len(tried) == 3 + wheels.MORE < len(found) / 2


def test_of_the_core_and_the_distribution_the_changed_files_run_and_of_a_changed_plugin_everything(ci):
    wheels, _ = ci
    found = {member.name: member for member in wheels.members()}
    paths = [
        "plugins/skillkit-mcp/README.md",
        "skillkit_core/tools.py",
        f"tests/e2e/{Path(__file__).name}",
        "tests/e2e/gone.py",
    ]
    tried = {
        name: wheels.tests_of(found[name], paths) for name in ("skillkit-core", "skillkit-default", "skillkit-mcp")
    }
    assert tried == {
        "skillkit-core": (False, []), "skillkit-default": (False, [f"tests/{Path(__file__).name}"]), "skillkit-mcp": (True, []),
    }  # fmt: skip
    assert wheels.tests_of(found["skillkit-files"], paths) == (False, [])
    assert wheels.tests_of(found["skillkit-default"], None) == (True, [])


def test_an_import_that_nothing_declares_is_named_with_its_line(ci, tmp_path, monkeypatch):
    wheels, declared = ci
    folder = tmp_path / "plugins" / "skillkit-acme"
    (folder / "src" / "skillkit_acme").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'skillkit-acme'\ndependencies = ['skillkit-core']\n")
    (folder / "src" / "skillkit_acme" / "__init__.py").write_text(
        "import click, skillkit_core\n\ndef f():\n    import mcp\n\ntry:\n    import rich\nexcept ImportError:\n    rich = None\n"
        "import httpx\n"
    )
    (folder / "tests" / "test_acme.py").write_text("import pytest\nimport hypothesis\nimport pyte\n")
    monkeypatch.setattr(declared, "ROOT", tmp_path)
    member = wheels.Member("skillkit-acme", folder, folder / "tests", ["pytest", "hypothesis"], [])
    declared.own()["skillkit-acme"] = ["skillkit-core"]
    assert list(declared.undeclared(member)) == [
        "plugins/skillkit-acme/src/skillkit_acme/__init__.py:10: httpx is of no dependency of skillkit-acme: declare httpx",
        "plugins/skillkit-acme/tests/test_acme.py:3: pyte is of no dependency of skillkit-acme: declare pyte",
    ]
