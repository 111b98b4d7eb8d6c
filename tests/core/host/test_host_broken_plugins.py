"""Broken plugins on the real command line: the listings tell the truth, and everything else goes on working."""

from __future__ import annotations

from typing import Any

import pytest

BROKEN = {
    # name: source, stage, a part of the message, a part of the remedy
    "missing": (
        "import a_package_that_nobody_has", "import", "No module named 'a_package_that_nobody_has'",
        "pip install --force-reinstall acme-missing",
    ),
    "raising": ("raise ValueError('no luck\\ntoday')", "import", "ValueError: no luck today", "-P no:raising"),
    "leaving": ("import sys; sys.exit(3)", "import", "tried to end the program (SystemExit 3)", "-P no:leaving"),
    "hanging": ("import threading; threading.Event().wait()", "import", "hangs: import took longer", "-P no:hanging"),
    "unknown": (
        "@hookimpl\ndef register_adapter(register): ...", "hooks", "unknown hook 'register_adapter'",
        "did you mean register_adapters",
    ),
    "signature": (
        "@hookimpl\ndef register_adapters(register, colour): ...", "hooks", "colour", "-P no:signature",
    ),
    "stubborn": (
        "import time\nwhile True:\n    try:\n        time.sleep(0.01)\n    except:\n        pass", "import",
        "hangs: import took longer", "-P no:stubborn",
    ),
    "interrupting": ("raise KeyboardInterrupt", "import", "KeyboardInterrupt", "-P no:interrupting"),
    "generating": ("raise GeneratorExit", "import", "GeneratorExit", "-P no:generating"),
    "future": ("skillkit_api = 99", "api", "made for a newer core (plugin API 99, this is 1)", "upgrade skillkit-core"),
}  # fmt: skip
LATER = {
    "raises-in-register": (
        "@hookimpl\ndef register_runtimes(register):\n    register(Factory('half', 'x:y'))\n    raise KeyError('oops')",
        "register_runtimes", "KeyError: 'oops'",
    ),
    "hangs-in-register": (
        "import threading\n@hookimpl\ndef register_compactors(register): threading.Event().wait()",
        "register_compactors", "hangs",
    ),
    "interrupts-in-register": (
        "@hookimpl\ndef register_tools(register): raise KeyboardInterrupt", "register_tools", "KeyboardInterrupt",
    ),
    "interrupts-in-configure": (
        "@hookimpl\ndef host_configure(host, config): raise KeyboardInterrupt", "config", "KeyboardInterrupt",
    ),
    "wrong-item": (
        "@hookimpl\ndef register_adapters(register): register(Factory('f', 'x:y'))",
        "register_adapters", "register_adapters takes Provider, not Factory",
    ),
    "raises-at-the-end": ("@hookimpl\ndef host_shutdown(host): raise OSError('cannot stop')", None, ""),
    "hangs-at-the-end": (
        "import threading\n@hookimpl\ndef host_shutdown(host): threading.Event().wait()", None, "",
    ),
    "leaves-in-configure": ("@hookimpl\ndef host_configure(host, config): raise SystemExit(9)", "config", "SystemExit"),
    "takes-a-core-hook": (
        "from skillkit_core import hookspec\nclass Hooks:\n    @hookspec\n    def host_started(self, host): ...\n"
        "@hookimpl\ndef register_hookspecs(add): add(Hooks)", "register_hookspecs", "host_started",
    ),
}  # fmt: skip
GOOD = """
import click
hello = click.Command("hello", callback=lambda: click.echo("hello there"))

@hookimpl
def register_commands(register):
    register(Command("hello", f"{__name__}:hello", "Say hello."))

@hookimpl
def register_tools(register):
    from skillkit_core.tools import Tool
    register(Tool("greet", "greets", lambda args, ctx: "hi"))
"""
QUICK = {"SKILLKIT_PLUGINS__IMPORT_TIMEOUT": "0.4", "SKILLKIT_PLUGINS__HOOK_TIMEOUT": "0.4"}


@pytest.fixture
def broken(site: Any) -> Any:
    """Ten kinds of broken plugins, a disabled one, a name that two distributions offer, and a good one."""
    for name, (source, *_) in BROKEN.items():
        site.plugin(name, source)
    site.plugin("quiet", f"open({str(site.cwd / 'was-imported')!r}, 'w')")
    site.plugin("good", GOOD, version="2.1")
    site.plugin("good", f"open({str(site.cwd / 'was-imported')!r}, 'w')", distribution="rival-good", version="9.0")
    site.config("plugins:\n  disabled: [quiet]\n")
    return site


@pytest.mark.spec("9.48")
def test_doctor_names_plugin_distribution_version_stage_and_remedy_of_each_kind(broken: Any) -> None:
    done = broken.run("plugins", "doctor", "--json", **QUICK)
    assert done.code == 1
    assert done.err == ""
    report = done.json
    assert report["ok"] is False
    assert report["loaded"] == ["good"]
    assert report["disabled"] == ["quiet", "good"]
    problems = {p["plugin"]: p for p in report["problems"] if p["plugin"] in BROKEN}
    assert set(problems) == set(BROKEN)
    for name, (_, stage, message, remedy) in BROKEN.items():
        problem = problems[name]
        assert problem["distribution"] == f"acme-{name}"
        assert problem["version"] == "1.0"
        assert problem["stage"] == stage, problem
        assert problem["severity"] == "error"
        assert message in problem["message"]
        assert remedy in problem["remedy"]
        assert "\n" not in problem["message"]
    twice = next(p for p in report["problems"] if p["plugin"] == "good")
    assert twice["stage"] == "discovery"
    assert "acme-good 2.1" in twice["message"]
    assert "rival-good 9.0" in twice["message"]
    assert twice["remedy"] == "uninstall one of them: pip uninstall rival-good"


SET = """
from skillkit_core.tools import ToolSet
@hookimpl
def register_tools(register):
    register(ToolSet('own', lambda agent: ()))
@hookimpl(phase='guard', tools=('orbit',))
def before_tool_call(event): ...
"""


def test_doctor_names_the_keywords_of_a_tool_that_nobody_checks(site: Any) -> None:
    site.plugin(
        "lax",
        "from skillkit_core.tools import Tool\n@hookimpl\ndef register_tools(register):\n"
        "    register(Tool('act', 'acts', 'json:dumps', {'type': 'object', 'unevaluatedProperties': False}))",
    )
    done = site.run("plugins", "doctor", "--json")
    assert done.code == 0
    (problem,) = done.json["problems"]
    assert (problem["plugin"], problem["distribution"], problem["severity"]) == ("lax", "acme-lax", "warning")
    assert problem["message"] == "tool 'act': nobody checks 'unevaluatedProperties' in its parameters"


def test_doctor_warns_of_a_handler_for_a_tool_that_no_plugin_registers(site: Any) -> None:
    names = ("greet", "gret", "rocket", "mcp__files__list", "calc__add")
    site.plugin("good", GOOD)
    site.plugin("late", f"@hookimpl(phase='guard', tools={names})\ndef before_tool_call(event): ...")
    site.plugin("own", SET)  # its set brings 'orbit' to some agents only: nothing to warn of
    done = site.run("plugins", "doctor", "--json")
    assert done.code == 0 and done.json["ok"] is True
    found = [(p["plugin"], p["stage"], p["severity"], p["message"], p["remedy"]) for p in done.json["problems"]]
    says = ("late", "before_tool_call", "warning")
    assert found == [
        (*says, "no plugin registers the tool 'gret'", "did you mean 'greet'?"),
        (*says, "no plugin registers the tool 'rocket'", "ignore this if the tool comes with an agent"),
    ]


@pytest.mark.spec("9.48")
def test_no_disabled_or_shadowed_plugin_is_ever_imported(broken: Any) -> None:
    for command in (["plugins", "doctor"], ["doctor"], ["plugins", "info", "quiet"], ["--help"], ["config", "show"]):
        broken.run(*command, **QUICK)
    assert not (broken.cwd / "was-imported").exists()
    broken.run("-P", "quiet", "--plugins", "good", "plugins", "doctor", **QUICK)
    assert (broken.cwd / "was-imported").exists(), "the plugin does write its file when it is enabled"


def test_list_shows_every_plugin_with_its_state_and_imports_none(broken: Any) -> None:
    done = broken.run("plugins", "list", "--json")
    assert done.code == 0
    rows = done.json["plugins"]
    assert done.json["checked"] is False
    assert [r["distribution"] for r in rows] == sorted(r["distribution"] for r in rows)
    states = {(r["name"], r["distribution"]): (r["enabled"], r["reason"], r["duplicate"]) for r in rows}
    assert states["quiet", "acme-quiet"] == (
        False,
        f"disabled by {broken.home}/config/config.yaml:2: plugins.disabled",
        False,
    )
    assert states["good", "acme-good"] == (True, "installed", False)
    assert states["good", "rival-good"] == (False, "the name is taken by acme-good 2.1", True)
    assert all(states[name, f"acme-{name}"] == (True, "installed", False) for name in BROKEN)


@pytest.mark.parametrize("name", ["raising", "unknown", "quiet", "good"])
def test_info_tells_what_one_plugin_is(broken: Any, name: str) -> None:
    done = broken.run("plugins", "info", name, "--json", **QUICK)
    assert done.code == 0
    info = done.json
    assert info["distribution"] == f"acme-{name}"
    assert info["loaded"] is (name == "good")
    assert info["enabled"] is (name != "quiet")
    if name == "good":
        assert info["version"] == "2.1"
        assert info["hooks"] == ["register_commands", "register_tools"]
        assert info["items"] == {"commands": ["hello"], "tools": ["greet"]}
        assert [row["distribution"] for row in info["shadowed"]] == ["rival-good"]
    elif name in BROKEN:
        assert [p["stage"] for p in info["problems"]] == [BROKEN[name][1]]


@pytest.mark.spec("9.48", "I20")
def test_every_other_command_still_works(broken: Any) -> None:
    for command in (["--help"], ["--version"], ["plugins", "list"], ["config", "show"], ["config", "path"], ["hello"]):
        done = broken.run(*command, **QUICK)
        assert done.code == 0, (command, done)
        assert done.err == "", (command, done)
    assert broken.run("hello", **QUICK).out == "hello there\n"
    assert "Say hello." in broken.run("--help", **QUICK).out


@pytest.mark.spec("9.48", "I20")
def test_a_plugin_that_fails_later_loses_that_hook_and_nothing_else(site: Any) -> None:
    for name, (source, *_) in LATER.items():
        site.plugin(name, source)
    site.plugin("good", GOOD)
    done = site.run("plugins", "doctor", "--json", **QUICK)
    assert done.code == 1
    problems = {p["plugin"]: p for p in done.json["problems"]}
    assert set(problems) == {name for name, (_, stage, _) in LATER.items() if stage}
    for name, problem in problems.items():
        assert problem["stage"] == LATER[name][1]
        assert LATER[name][2] in problem["message"]
        assert problem["distribution"] == f"acme-{name}"
    assert set(done.json["loaded"]) == {"good", *LATER} - {"takes-a-core-hook"}
    half = site.run("plugins", "info", "raises-in-register", "--json", **QUICK).json
    assert half["items"] == {}, "what it registered before it raised is taken back"
    for command in (["hello"], ["--help"]):
        assert site.run(*command, **QUICK).code == 0


def test_a_plugin_that_prints_or_changes_the_process_at_import_does_not_spoil_json(site: Any) -> None:
    said = "import os, subprocess\nprint('I am here')\nos.write(1, b'and here')\nsubprocess.run(['echo', 'and there'])"
    site.plugin("chatty", said)
    done = site.run("plugins", "info", "chatty", "--json")
    assert done.code == 0
    assert done.json["loaded"] is True
    assert sorted(done.err.splitlines()) == ["I am here", "and hereand there"]


def test_an_interrupt_by_the_user_while_a_plugin_is_imported_ends_the_command(site: Any) -> None:
    site.plugin("slow", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)")
    done = site.run("plugins", "doctor", "--json")
    assert (done.code, done.out) == (130, "")


def test_a_command_whose_module_is_missing_says_what_to_install(site: Any) -> None:
    site.plugin("far", "@hookimpl\ndef register_commands(register): register(Command('far', 'far_away:main', 'Go.'))")
    assert "Go." in site.run("--help").out
    done = site.run("far")
    assert done.code == 1
    assert "plugin 'far'" in done.err
    assert "No module named 'far_away'" in done.err
    assert "pip install --force-reinstall acme-far" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("\n\nraise ValueError('no luck')\n", 5),
        ("\ndef broken(:\n", 4),
        ("import json\n\njson.loads('{')\n", 5),
        ("import no_such_module\n", 3),
        ("@hookimpl\ndef register_tools(register):\n    import json\n    json.loads('{')\n", 6),
    ],
)
def test_doctor_names_the_line_of_the_plugin_that_raised(site: Any, source: str, line: int) -> None:
    site.plugin("odd", source)
    (problem,) = site.run("plugins", "doctor", "--json").json["problems"]
    assert problem["message"].endswith(f"({site.path}/acme_odd_odd.py:{line})")


def test_debug_shows_the_traceback_of_a_broken_plugin(site: Any) -> None:
    site.plugin("raising", BROKEN["raising"][0])
    assert "Traceback" not in site.run("plugins", "doctor").out
    done = site.run("--debug", "plugins", "doctor")
    assert "Traceback" in done.out + done.err
    assert "no luck" in done.out + done.err


FIELDS = {
    # the descriptor: what is said of its field
    "Provider('acme', {'a': 'x:y'}, api_key_env='ACME_KEY')": (
        "adapters", "Provider 'acme': api_key_env is 'ACME_KEY'; it must be a collection of names",
    ),
    "Provider('acme', 'x:y')": ("adapters", "Provider 'acme': apis is 'x:y'; it must be a mapping"),
    "Provider('acme', {}, headers={'x': 1})": ("adapters", "headers is of type dict; it must be a mapping of str to str"),
    "Provider('acme', {}, rank='10')": ("adapters", "rank is '10'; it must be an int"),
    "Command('acme', print, 'Help.')": ("commands", "Command 'acme': target is of type builtin_function_or_method"),
    "ConfigSection('acme', {})": ("config", "ConfigSection 'acme': model is of type dict; it must be a class or a str"),
    "ContextProvider('acme', 'x:y', order='first')": ("context_providers", "order is 'first'; it must be an int"),
    "TokenEstimator('acme', len, models='gpt-*')": ("token_estimators", "models is 'gpt-*'; it must be a collection of names"),
    "Factory('acme', None)": ("runtimes", "Factory 'acme': create is of type NoneType; it must be a function or a str"),
    "Factory(b'acme', 'x:y')": ("compactors", "name is of type bytes; it must be a str"),
    "ToolSet('acme', [])": ("tools", "tool set 'acme': factory is of type list; it must be a function or a str"),
    "SkillSource('acme', path='skills')": ("skill_sources", "skill source 'acme': path is 'skills'; it must be a Path"),
}  # fmt: skip


def test_doctor_names_the_plugin_and_the_field_of_a_wrong_descriptor(site: Any) -> None:
    for n, (made, (kind, _)) in enumerate(FIELDS.items()):
        imports = "from skillkit_core import SkillSource, ToolSet\n"
        site.plugin(f"acme{n}", f"{imports}@hookimpl\ndef register_{kind}(register): register({made})")
    done = site.run("plugins", "doctor", "--json")
    found = {p["plugin"]: p for p in done.json["problems"]}
    for n, (kind, said) in enumerate(FIELDS.values()):
        problem = found[f"acme{n}"]
        assert problem["stage"] == f"register_{kind}"
        assert said in problem["message"]
        assert problem["remedy"]


def test_no_letter_of_a_variables_name_is_looked_up(site: Any) -> None:
    """``_`` is in the environment of every shell, and would have gone to the server as the key."""
    site.plugin("acme", """
        @hookimpl
        def register_adapters(register):
            register(Provider("acme", {"acme": "acme:Adapter"}, api_key_env="ACME_KEY", default_model="m"))
        """)  # fmt: skip
    site.plugin("run", """
        import click
        @click.command()
        @click.pass_obj
        def ask(state): click.echo(state.host.adapters.api_key(state.host.adapters.provider("acme")))
        @hookimpl
        def register_commands(register): register(Command("ask", f"{__name__}:ask", "Ask."))
        """)  # fmt: skip
    done = site.run("ask", _="/usr/bin/python")
    assert done.code != 0
    assert "/usr/bin/python" not in done.out + done.err
