"""The suites for tools, guards and commands: good plugins pass, and each mistake is found by the check that names it."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace
from typing import Any

import click
import pytest
from skillkit_testkit.conformance import CommandConformance, GuardConformance, ToolConformance

from skillkit_core import Command, Tool, ToolCallEventResult, ToolError, ToolSet, hookimpl
from skillkit_core.testing import Call

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANNOTATIONS = {"mutates": "none"}


async def shout(args, ctx):
    if not args["text"].strip():
        raise ToolError("there is nothing to shout")
    return args["text"].upper()


def tools(**changed: Any) -> Any:
    class Plugin:
        name = "acme"

        @hookimpl
        def register_tools(self, register):
            given = {
                "description": "Say it loudly.",
                "execute": shout,
                "parameters": SCHEMA,
                "annotations": ANNOTATIONS,
            }
            register(Tool("shout", **{**given, **changed}))

    return Plugin()


def guard(decide: Any) -> Any:
    class Plugin:
        name = "acme"

        @hookimpl(phase="guard")
        def before_tool_call(self, event):
            return decide(event)

    return Plugin()


def no_rm(event):
    command = event.args.get("command", "")
    if "sudo" in command:
        return ToolCallEventResult(ask="As root?")
    return ToolCallEventResult(block=True, reason="rm deletes") if "rm " in command else None


@click.group()
@click.option("--tall", is_flag=True, help="Write it tall.")
def shop(tall):
    """Sell things."""


@shop.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json):
    """List things."""
    click.echo('["tea"]' if as_json else "tea")


@click.command()
@click.option("--bare")
def silent(bare):
    raise RuntimeError("broken")


@click.command()
def loud():
    """Write in red, whoever reads it."""
    click.echo("\x1b[31mred\x1b[0m", color=True)


def commands(target: str = "shop", name: str = "shop", help: str = "Sell things.") -> Any:
    class Plugin:
        @hookimpl
        def register_commands(self, register):
            register(Command(name, f"{__name__}:{target}", help))

    return Plugin()


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(shop=shop, silent=silent, loud=loud))


class TestTools(ToolConformance):
    plugin = tools()
    calls = MappingProxyType({"shout": {"text": "hello"}})


class TestGuard(GuardConformance):
    plugin = guard(no_rm)
    refuses = (Call("bash", {"command": "rm -rf /"}),)
    asks = (Call("bash", {"command": "sudo ls"}),)
    allows = (Call("bash", {"command": "ls"}), Call("read", {"path": "rm "}))


class TestCommands(CommandConformance):
    plugin = commands()
    works = (("shop", "list"),)
    listings = (("shop", "list"),)


def failing(suite: Any, request: pytest.FixtureRequest, host: str) -> dict[str, str]:
    """Return the checks of a suite that fail, and what they say; parameters have their first value."""
    made = suite()
    given: dict[str, Any] = {}
    for fixture in (host, "offered", "brought"):
        if (found := getattr(type(made), fixture, None)) is not None:
            source = request.getfixturevalue("make_host") if fixture == host else given[host]
            given[fixture] = found._get_wrapped_function()(made, source)
    failed: dict[str, str] = {}
    for name in [name for name in dir(made) if name.startswith("test_")]:
        check = getattr(made, name)
        wanted = check.__func__.__code__.co_varnames[1 : check.__func__.__code__.co_argcount]
        values = {**given, "ran": [], "odd": "\x00"}
        try:
            check(**{key: values[key] for key in wanted})
        except (AssertionError, RuntimeError) as error:
            failed[name] = str(error).splitlines()[0]
        except pytest.skip.Exception:
            pass
    return failed


async def crash(args, ctx):
    return str({"\x00": 1}.get(args["text"], "fine") + "")


async def silence(args, ctx):
    return ""


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"description": "shout"}, "test_a_model_reads_what_each_tool_does"),
        ({"parameters": {**SCHEMA, "properties": {"text": {}}}}, "test_a_model_reads_what_each_argument_is"),
        ({"parameters": {**SCHEMA, "required": ["txt"]}}, "test_a_model_reads_what_each_argument_is"),
        ({"parameters": {**SCHEMA, "unevaluatedProperties": False}}, "test_what_the_schema_says_is_checked"),
        ({"annotations": {}}, "test_guards_read_what_each_tool_touches"),
        ({"annotations": {"mutates": "files", "paths": ["file"]}}, "test_guards_read_what_each_tool_touches"),
        ({"execute": "json:no_such"}, "test_what_runs_can_be_imported"),
        ({"execute": silence}, "test_a_call_that_works_gives_the_model_a_text"),
        ({"parameters": {**SCHEMA, "required": []}, "execute": crash}, "test_an_odd_text_gives_a_result_or_a_failure_in_words"),
    ],
    ids=["name", "untyped", "required", "keyword", "facts", "paths", "import", "silence", "crash"],
)  # fmt: skip
def test_a_mistake_of_a_tool_is_found(request, changed, check):
    class Suite(TestTools):
        plugin = tools(**changed)

    assert check in failing(Suite, request, "tool_host")


def test_a_set_of_tools_is_left_to_the_agent(make_host):
    class Plugin:
        @hookimpl
        def register_tools(self, register):
            register(ToolSet("many", lambda agent: ()))

    assert TestTools.offered._get_wrapped_function()(TestTools(), make_host(Plugin())) == []


def forgets_sudo(event):
    return None if "sudo" in event.args.get("command", "") else no_rm(event)


def crashes(event):
    return no_rm(event) if event.args["command"] else None


def refuses_all(event):
    return ToolCallEventResult(block=True, reason="no")


def without_reason(event):
    return ToolCallEventResult(block=True) if "rm " in event.args.get("command", "") else no_rm(event)


@pytest.mark.parametrize(
    ("decide", "check"),
    [
        (lambda event: None, "test_what_it_refuses_does_not_run_and_the_model_reads_why"),
        (without_reason, "test_what_it_refuses_does_not_run_and_the_model_reads_why"),
        (forgets_sudo, "test_what_it_asks_about_runs_only_if_a_person_agrees"),
        (crashes, "test_a_call_without_arguments_is_decided_too"),
        (refuses_all, "test_what_it_allows_runs"),
        (lambda event: no_rm(event) if event.tool_call_id == "call-0" else None, "test_it_tells_the_calls_of_one_answer_apart"),
    ],
    ids=["nothing", "reason", "sudo", "crash", "all", "first"],
)  # fmt: skip
def test_a_mistake_of_a_guard_is_found(request, decide, check):
    class Suite(TestGuard):
        plugin = guard(decide)

    assert check in failing(Suite, request, "guard_host")


@pytest.mark.parametrize(
    ("given", "check"),
    [
        ({"name": "Shop"}, "test_each_command_is_one_line_of_the_help"),
        ({"help": "a\nb"}, "test_each_command_is_one_line_of_the_help"),
        ({"target": "silent"}, "test_each_command_can_be_imported_and_says_what_it_does"),
        ({"target": "silent"}, "test_each_option_says_what_it_is_for"),
        ({"target": "silent"}, "test_what_works_ends_with_zero"),
        ({"target": "loud"}, "test_what_is_piped_has_no_colours"),
    ],
    ids=["name", "lines", "docstring", "option", "crash", "colour"],
)
def test_a_mistake_of_a_command_is_found(request, given, check):
    class Suite(TestCommands):
        plugin = commands(**given)
        works = (("shop",),)
        listings = ()

    assert check in failing(Suite, request, "command_host")
