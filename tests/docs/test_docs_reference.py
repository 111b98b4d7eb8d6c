"""The generated reference is up to date, and what it shows is true."""

import importlib.util
import re
import shlex
import sys
import types

import pytest
from markdown_blocks import ROOT, blocks, pages
from skillkit_frontend import parse_action_args
from skillkit_skills import SkillFolderLoader

import skillkit_core
from skillkit_core import Host, SkillSource
from skillkit_core.events.types import EVENTS
from skillkit_core.hookspecs import lifecycle
from skillkit_core.settings.schema import CoreSettings
from skillkit_core.settings.sections import model_of

MADE_UP = {"RouterAdapter"}


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator():
    return script("generate_hooks")


def test_the_page_of_public_names_is_what_the_code_says():
    public = script("generate_public")
    assert public.PAGE.read_text(encoding="utf-8") == public.page(), "run 'python docs/generate_public.py'"


def test_the_matrix_of_bundles_is_what_the_package_says():
    bundles = script("generate_bundles")
    assert bundles.PAGE.read_text(encoding="utf-8") == bundles.page(), "run 'python docs/generate_bundles.py'"


def test_the_page_of_contracts_is_what_the_code_says_and_leaves_no_field_without_words():
    contracts = script("generate_contracts")
    text = contracts.PAGE.read_text(encoding="utf-8")
    assert text == contracts.page(), "run 'python docs/generate_contracts.py'"
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert [row for row in rows if len(row) == 4 and not row[3].strip()] == []
    for name in ("ThinkingBlock", "StopReason", "ToolContext", "Tool", "SessionStore", "SessionHandle", "Command"):
        assert f"### `{name}`" in text
    for name in ("TokenEstimator", "ContextProvider", "CliState", "LLMAdapter", "SkillRuntime", "UserInterface"):
        assert f"### `{name}`" in text


def test_the_pages_are_what_the_code_says(generator):
    for path, text in generator.pages().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"run 'python docs/generate_hooks.py' to write {path.name} again"
        )


def test_every_event_is_a_hook_and_every_lifecycle_hook_an_event(generator):
    hooks = {f.__name__ for f in generator.specs(lifecycle)}
    assert hooks - {"wrap_model_call", "wrap_tool_call", "event"} == set(EVENTS)


def test_the_page_of_events_names_what_a_handler_of_each_event_may_answer():
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[`(\w+)`\].*\| ([^|]*) \|$", page, re.M))
    assert rows.keys() == EVENTS.keys()
    for name, event in EVENTS.items():
        named = re.findall(r"`(\w+)`", rows[name])
        assert bool(named) == (event.answer is not None), name
        for kind in named:  # what the dispatcher takes, and what no other event has an answer class of its own for
            assert issubclass(getattr(skillkit_core, kind), event.answer), name
            assert not any(
                other.answer is getattr(skillkit_core, kind) is not event.answer for other in EVENTS.values()
            )
    assert rows["session_before_switch"] == rows["session_before_fork"] == "`SessionBeforeResult`"
    assert rows["session_before_tree"] == "`SessionBeforeTreeResult`"
    assert rows["input"] == "`Continue`, `Transform`, `Handled`"


def examples():
    found = [b for b in blocks(ROOT / "docs" / "reference" / "hooks.md") if "@hookimpl" in b.text]
    return [pytest.param(b, id=re.search(r"def (\w+)", b.text)[1]) for b in found]


@pytest.mark.parametrize("block", examples())
def test_the_example_of_a_hook_is_an_implementation_that_the_host_takes(block, make_host, monkeypatch):
    module = types.ModuleType("example")
    module.__package__, module.__path__ = "example", []
    monkeypatch.setitem(sys.modules, "example", module)
    monkeypatch.setitem(sys.modules, "example.hooks", types.ModuleType("example.hooks"))
    module.hooks = sys.modules["example.hooks"]
    exec("from skillkit_core import hookspec\n@hookspec\ndef example_hook(): ...", vars(module.hooks))
    names = set(re.findall(r"\b[A-Z]\w+(?=\()", block.text)) - MADE_UP
    vars(module).update({name: getattr(skillkit_core, name) for name in {"hookimpl", *names}})
    exec(compile(block.text, block.where, "exec"), vars(module))
    host = make_host()
    host.add_plugin(module, name="example")
    assert host.plugins["example"].hooks
    assert not [p for p in host.problems if p.stage in ("hooks", "api")]


def test_every_setting_of_the_core_is_documented_with_its_default():
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    host = Host(discover=False, environ={})
    for key, value, _ in host.config.values():
        row = next((line for line in page.splitlines() if line.startswith(f"| `{key}` |")), None)
        assert row is not None, f"{key} is not in reference/configuration.md"
        shown = "none" if value in (None, [], "") else f"{value:g}" if isinstance(value, float) else str(value)
        assert f"| {shown} |" in row.replace("`", ""), f"the default of {key} is {shown}"
    for section in ("limits", "retry"):
        for name, field in model_of(CoreSettings).model_fields[section].annotation.model_fields.items():
            assert re.search(rf"^\| `{section}\.{name}` \| .* \| {re.escape(field.description)} \|$", page, re.M), name
    assert set(model_of(CoreSettings).model_fields) <= set(re.findall(r"^\| `(\w+)", page, re.M))


def commands():
    """The calls of bundled actions that stand within lines of the pages."""
    for page in pages():
        for n, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for command in re.findall(r"`(skillkit run --skill [^`]+)`", line):
                words = shlex.split(command)[3:]
                if (ROOT / "skills" / "skillkit_bundled" / words[0]).is_dir():
                    yield pytest.param(words, id=f"{page.relative_to(ROOT)}:{n}")


@pytest.mark.parametrize("words", list(commands()))
def test_a_call_of_a_bundled_action_has_arguments_that_exist(words):
    source = SkillSource("bundled", "bundled", ROOT / "skills" / "skillkit_bundled")
    skill = next(s for s in SkillFolderLoader().load(source).skills if s.name == words[0])
    action = skill.action(words[1])
    assert action is not None, f"skill {skill.name} has no action {words[1]!r}"
    parse_action_args(skill.name, action, words[2:])
