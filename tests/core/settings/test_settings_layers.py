"""Configuration on the command line: layers, origins, and what wrong configuration is told."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import Limits, RetryPolicy

SECTION = """
@hookimpl
def register_config(register):
    register(ConfigSection({name!r}, "acme_settings:Settings"))
"""
SETTINGS = """
from pydantic import BaseModel, ConfigDict, Field, SecretStr

class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = Field(default=3, ge=0, description="how deep: 'very' # or not")
    names: tuple[str, ...] = ()

class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    timeout: float = Field(default=60.0, gt=0, description="seconds\\nper command")
    shells: list[str] = ["bash", "sh"]
    tags: frozenset[str] = frozenset({"b", "a"})
    key: SecretStr | None = None
    table: dict[str, int] = {}
    maybe: list[str] | None = None
    inner: Inner = Inner()
"""


@pytest.fixture
def acme(site: Any) -> Any:
    (site.path / "acme_settings.py").write_text(SETTINGS)
    site.plugin("acme", SECTION.format(name="acme"))
    site.plugin("two-words", SECTION.format(name="two-words"))
    return site


UNTRUSTED = "Warning: .skillkit/config.yaml does not count: this folder is not trusted; see 'skillkit config trust'\n"


def shown(site: Any, *flags: str, cwd: Path | None = None, **env: str) -> dict[str, tuple[Any, str]]:
    done = site.run(*flags, "config", "show", "--json", cwd=cwd, **env)
    assert done.code == 0, done.err
    assert done.err.replace(UNTRUSTED, "") == ""
    return {key: (row["value"], row["origin"]) for key, row in done.json.items()}


def refused(site: Any, *flags: str, **env: str) -> str:
    done = site.run(*flags, "config", "show", **env)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    return str(done.err.removeprefix("Error: ").rstrip("\n"))


def test_every_setting_is_shown_with_its_default(acme: Any) -> None:
    found = shown(acme)
    assert found["limits.turns"] == (200, "default")
    assert found["model"] == (None, "default")
    assert found["acme.timeout"] == (60.0, "default")
    assert found["acme.tags"] == (["a", "b"], "default")
    assert found["acme.inner.depth"] == (3, "default")
    assert list(found) == sorted(found)
    narrow = acme.run("config", "show", "acme.inner", "--json").json
    assert list(narrow) == ["acme.inner.depth", "acme.inner.names"]


def test_limits_and_retries_are_settings_with_the_defaults_that_programs_get(acme: Any) -> None:
    found = shown(acme)
    for section, value in (("limits", Limits()), ("retry", RetryPolicy())):
        shown_keys = {key.partition(".")[2]: row for key, row in found.items() if key.startswith(f"{section}.")}
        assert shown_keys == {name: (default, "default") for name, default in asdict(value).items()}


def test_layers_lie_above_each_other_and_every_value_names_where_it_was_set(acme: Any) -> None:
    file = acme.distribution(
        "house",
        """\
        plugins:
          - id: acme
            config:
              timeout: 10
              inner: {depth: 1}
              shells: [dash]
        defaults:
          model: from-distribution
          provider: house-provider
          limits: {turns: 5, tool_calls: 50}
        """,
    )
    user = acme.config("model: from-user\nlimits:\n  turns: 6\nacme:\n  timeout: 20\n  inner:\n    names: [u]\n")
    project = acme.cwd / ".skillkit" / "config.yaml"
    project.parent.mkdir()
    project.write_text("limits:\n  turns: 7\nacme:\n  timeout: 30\n")

    before = shown(acme, SKILLKIT_ACME__TIMEOUT="40")
    assert before["limits.turns"] == (6, f"{user}:3: limits.turns"), "the project's file does not count yet"
    assert acme.run("config", "trust").code == 0
    found = shown(acme, SKILLKIT_ACME__TIMEOUT="40")
    assert found["acme.timeout"] == (40.0, "SKILLKIT_ACME__TIMEOUT")
    assert found["limits.turns"] == (7, f"{project}:2: limits.turns")
    assert found["model"] == ("from-user", f"{user}:1: model")
    assert found["acme.inner.names"] == (["u"], f"{user}:7: acme.inner.names")
    assert found["acme.inner.depth"] == (1, f"{file}:7: plugins.0.config.inner.depth")
    assert found["acme.shells"] == (["dash"], f"{file}:8: plugins.0.config.shells")
    assert found["provider"] == ("house-provider", f"{file}:11: defaults.provider")
    assert found["limits.tool_calls"] == (50, f"{file}:12: defaults.limits.tool_calls")
    assert found["thinking"] == (None, "default")
    below = acme.cwd / "deep" / "er"
    (below / ".skillkit").mkdir(parents=True)
    (below / ".skillkit" / "config.yaml").write_text("model: from-below\n")
    assert acme.run("config", "trust", cwd=below).code == 0
    assert shown(acme, cwd=below)["model"][0] == "from-below"
    assert acme.run("config", "trust", "--revoke").code == 0
    assert shown(acme)["limits.turns"][0] == 6


def test_an_explicit_null_is_a_value_with_an_origin(acme: Any) -> None:
    acme.distribution("house", "defaults: {model: m}\n")
    user = acme.config("model: null\n")
    assert shown(acme)["model"] == (None, f"{user}:1: model")


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("SKILLKIT_MODEL", "m", "model", "m"),
        ("SKILLKIT_THINKING", "high", "thinking", "high"),
        ("SKILLKIT_LIMITS__COST", "1.5", "limits.cost", 1.5),
        ("SKILLKIT_RETRY__BASE_DELAY", "0.25", "retry.base_delay", 0.25),
        ("SKILLKIT_TOOLS__ALLOW", "bash, web ,", "tools.allow", ["bash", "web"]),
        ("SKILLKIT_ACME__SHELLS", "zsh", "acme.shells", ["zsh"]),
        ("SKILLKIT_ACME__TAGS", "x,y", "acme.tags", ["x", "y"]),
        ("SKILLKIT_ACME__MAYBE", "x,y", "acme.maybe", ["x", "y"]),
        ("SKILLKIT_ACME__INNER__DEPTH", "9", "acme.inner.depth", 9),
        ("SKILLKIT_ACME__INNER__NAMES", "a,b", "acme.inner.names", ["a", "b"]),
        ("SKILLKIT_TWO_WORDS__TIMEOUT", "2", "two-words.timeout", 2.0),
    ],
)
def test_variables_set_values_lists_and_nested_values(
    acme: Any, variable: str, text: str, key: str, value: Any
) -> None:
    assert shown(acme, **{variable: text})[key] == (value, variable)


def test_empty_variables_and_those_of_other_programs_are_left_alone(acme: Any) -> None:
    found = shown(acme, SKILLKIT_MODEL="", SKILLKIT_ACME__TIMEOUT="", SKILLKIT_SOMETHING="x", SKILLKITTEN__X="y")
    assert {origin for _, origin in found.values()} == {"default"}


def test_secrets_are_masked(acme: Any) -> None:
    acme.config("acme: {key: sk-very-secret}\n")
    assert shown(acme)["acme.key"][0] == "***"
    assert "sk-very-secret" not in acme.run("config", "show").out


NETWORK = """
from pydantic import BaseModel, ConfigDict

class Server(BaseModel):
    base_url: str
    headers: dict[str, str] = {}
    query: dict[str, str] = {}

class Network(BaseModel):
    model_config = ConfigDict(extra="forbid")
    proxy: str | None = None
    proxies: list[str] = []
    headers: dict[str, str] = {}
    servers: dict[str, Server] = {}
    limit: int = 1
"""
NETWORK_FILE = """
base_url: https://ada:s3cret-core@models.example/v1?token=s3cret-query#s3cret-end
network:
  proxy: ada:s3cret-proxy@proxy.example:8080
  proxies: ["http://ada:s3cret-list@proxy.example:8080", "http://plain.example:80"]
  headers: {X-Team: s3cret-header}
  servers:
    house:
      base_url: http://s3cret-user@house.example/v1?key=s3cret-key
      headers: {Authorization: Bearer s3cret-bearer}
      query: {sig: s3cret-sig}
"""


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["table", "json"])
def test_proxy_passwords_users_headers_and_query_tokens_are_masked(site: Any, flags: tuple[str, ...]) -> None:
    (site.path / "network_settings.py").write_text(NETWORK)
    source = "@hookimpl\ndef register_config(register): register(ConfigSection('network', 'network_settings:Network'))"
    site.plugin("network", source)
    site.config(NETWORK_FILE)

    done = site.run("config", "show", *flags)

    assert done.code == 0, done.err
    assert "s3cret" not in done.out
    for kept in ("https://***@models.example/v1?***", "***@proxy.example:8080", "http://***@house.example/v1?***",
                 "http://plain.example:80", "X-Team", "Authorization", "sig"):  # fmt: skip
        assert kept in done.out

    site.config("network:\n  limit: http://ada:s3cret-limit@proxy.example\n")
    refused = site.run("config", "show", *flags)
    assert refused.code == 2
    assert "http://***@proxy.example" in refused.err + refused.out
    assert "s3cret" not in refused.err + refused.out


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle: x", "{file}:1: modle: unknown setting 'modle'; did you mean 'model'?"),
        ("a: 1\nlimits: {}", "{file}:1: a: unknown setting 'a'; "),
        ("limits:\n  turn: 3", "{file}:2: limits.turn: unknown setting 'turn'; did you mean 'turns'?"),
        ("acme:\n  inner:\n    dpeth: 3", "{file}:3: acme.inner.dpeth: unknown setting 'dpeth'; did you mean 'depth'?"),
        ("limits:\n  turns: many", "{file}:2: limits.turns: input should be a valid integer"),
        ("limits:\n  turns: 0", "{file}:2: limits.turns: input should be greater than or equal to 1, not 0"),
        ("retry:\n  attempts: 0", "{file}:2: retry.attempts: input should be greater than or equal to 1, not 0"),
        ("retry:\n  delay: 1", "{file}:2: retry.delay: unknown setting 'delay'; did you mean 'max_delay'?"),
        ("retry: {base_delay: -1}", "{file}:1: retry.base_delay: input should be greater than or equal to 0, not -1"),
        ("model:\n  - a\n  - 5", "{file}:3: model.1: input should be a valid string, not 5"),
        ("model: {a: 1}", "{file}:1: model: input should be a valid string, not "),
        ("thinking: hard", "{file}:1: thinking: input should be 'off', 'minimal'"),
        ("acme:\n  timeout: [1]", "{file}:2: acme.timeout: input should be a valid number, not a list"),
        ("acme:\n  shells: {KEY: key-12345}", "{file}:2: acme.shells: must be a list, not a mapping"),
        ("acme:\n  shells: bash, sh", "{file}:2: acme.shells: must be a list, not 'bash, sh'"),
        ("acme:\n  shells: [bash, 7]", "{file}:2: acme.shells.1: input should be a valid string, not 7"),
        ("acme:\n  shells:\n    - bash\n    - [x]", "{file}:4: acme.shells.1: input should be a valid string"),
        ("acme:\n  table:\n    x: 1\n    y: z", "{file}:4: acme.table.y: input should be a valid integer"),
        ("acme: 7", "{file}:1: acme: must be a mapping of settings, not 7"),
        ("limits: [1]", "{file}:1: limits: must be a mapping of settings, not a list"),
        ("model: a\nmodel: b", "{file}:2: model: key 'model' was given before, in line 1"),
        ("acme:\n  timeout: 1\n  shells: []\n  timeout: 2", "{file}:4: acme.timeout: key 'timeout' was given before"),
        ("model: [", "{file}:2: is not valid YAML: "),
        ("model: a\n\tb: c", "{file}:2: is not valid YAML: "),
        ("acme:\n\ttimeout: 1", "{file}:2: is not valid YAML: found character that cannot start any token; indent by spaces"),
        ("model: a: b", "{file}:1: is not valid YAML: mapping values are not allowed in this context; quote a text"),
        ("model: a\n---\nmodel: b", "{file}:2: is not valid YAML: found another document; leave the line --- out"),
        ("- a\n- b", "{file}:1: must be a mapping of settings, not list"),
        ("just text", "{file}:1: must be a mapping of settings, not str"),
        ("model: 2024-02-30", "{file}: holds an impossible date or number"),
        ("model: !!python/object:os.system {}", "{file}:1: is not valid YAML: could not determine a constructor"),
        ("model: \x07", "{file}"),
        ("a: &a [x]\n" + "b: &b [" + "*a," * 99 + "]\nc: &c [" + "*b," * 99 + "]\nd: [" + "*c," * 99 + "]", "{file}"),
        ("[" * 2000, "{file}"),
        ("{" * 60 + "}" * 60, "{file}"),
        ("? [a]\n: b", "{file}:1"),
        ("1: x", "{file}:1: 1: unknown setting 1"),
    ],
)  # fmt: skip
def test_wrong_files_are_told_in_one_line_with_file_line_and_path(acme: Any, text: str, message: str) -> None:
    file = acme.config("")
    file.write_text(text + "\n")
    assert refused(acme).startswith(message.format(file=file))


def test_a_file_that_is_not_utf8_or_cannot_be_read_is_named(acme: Any) -> None:
    file = acme.config("")
    file.write_bytes(b"model: \xff\n")
    assert refused(acme) == f"{file}: is not UTF-8 (byte 7); save it as UTF-8"
    file.unlink()
    file.mkdir()
    assert refused(acme) == f"{file}: cannot be read: Is a directory"
    file.rmdir()
    os.mkfifo(file)
    assert refused(acme) == f"{file}: cannot be read: it is no regular file"
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("")
    assert refused(acme) == f"{file}: cannot be read: Not a directory"


def test_wrong_variables_are_told_by_name(acme: Any) -> None:
    assert refused(acme, SKILLKIT_LIMITS__TURNS="x").startswith(
        "SKILLKIT_LIMITS__TURNS: input should be a valid integer"
    )
    assert refused(acme, SKILLKIT_ACMEE__TIMEOUT="1") == (
        "SKILLKIT_ACMEE__TIMEOUT: unknown setting 'acmee'; did you mean 'acme'?"
    )
    assert refused(acme, SKILLKIT_ACME__INNER__DEPTHS="1").startswith(
        "SKILLKIT_ACME__INNER__DEPTHS: unknown setting 'depths'; did you mean 'depth'"
    )


def test_the_higher_layer_is_blamed_for_the_value_that_counts(acme: Any) -> None:
    acme.config("limits: {turns: 3}\n")
    assert refused(acme, SKILLKIT_LIMITS__TURNS="-1").startswith("SKILLKIT_LIMITS__TURNS: ")
    file = acme.config("limits: {turns: -3}\n")
    assert refused(acme).startswith(f"{file}:1: limits.turns: ")
    assert shown(acme, SKILLKIT_LIMITS__TURNS="4")["limits.turns"] == (4, "SKILLKIT_LIMITS__TURNS")


def test_a_section_of_a_plugin_that_is_not_installed_warns_and_stops_nothing(acme: Any) -> None:
    file = acme.config("keyring:\n  service: x\nmodel: m\n")
    done = acme.run("config", "show", "model", "--json", SKILLKIT_OTHER__THING="1")
    assert (done.code, done.json["model"]["value"]) == (0, "m")
    assert done.err.splitlines() == [
        f"Warning: plugin 'keyring', config: {file}:1: keyring: the section does not count, because the plugin is not "
        "installed; install the package that brings it, or remove the section",
        "Warning: plugin 'other', config: SKILLKIT_OTHER__THING: the section does not count, because the plugin is not "
        "installed; install the package that brings it, or remove the section",
    ]
    problems = acme.run("doctor", "--json").json["problems"]
    assert [(p["plugin"], p["severity"]) for p in problems] == [("keyring", "warning")]
    acme.config("limit: {turns: 3}\n")
    assert "unknown setting 'limit'; did you mean 'limits'?" in refused(acme)


def test_required_plugins_add_up_over_all_layers(acme: Any) -> None:
    acme.distribution("house", "defaults: {plugins: {required: [acme]}}\n")
    acme.config("plugins: {required: [two-words]}\n")
    project = acme.cwd / ".skillkit" / "config.yaml"
    project.parent.mkdir()
    for text, more in (
        ("plugins: {required: []}", []),
        ("plugins:", []),
        ("plugins: {required: [acme, more]}", ["more"]),
    ):
        project.write_text(text + "\n")
        acme.run("config", "trust")
        value, _ = shown(acme, SKILLKIT_PLUGINS__REQUIRED="acme,last")["plugins.required"]
        assert value == ["acme", "two-words", *more, "last"]
    project.write_text("plugins: {required: no}\n")
    acme.run("config", "trust")
    assert refused(acme).startswith(f"{project}:1: plugins.required: must be a list")


def test_a_required_plugin_is_blamed_on_the_file_that_requires_it(acme: Any, make_host: Any) -> None:
    from skillkit_core.errors import ConfigError
    from skillkit_core.host.plugins import check_required

    file = acme.config("plugins: {required: [guardian], disabled: []}\n")
    host = make_host(environ={"SKILLKIT_PLUGINS__REQUIRED": "acme"})
    with pytest.raises(ConfigError) as refusal:
        check_required(host)
    assert str(refusal.value).startswith(f"{file}:1: plugins.required: required plugin 'guardian' does not run")


PLACES = """
from pathlib import Path
from pydantic import BaseModel

class Inner(BaseModel):
    logs: tuple[Path, ...] = ()

class Settings(BaseModel):
    folder: Path | None = None
    inner: Inner = Inner()
"""


def test_a_relative_path_starts_at_the_file_that_says_it(site: Any) -> None:
    (site.path / "acme_places.py").write_text(PLACES)
    site.plugin("places", SECTION.format(name="places").replace("acme_settings", "acme_places"))
    file = site.config("places: {folder: mine, inner: {logs: [a, ../b, /c, ~/d]}}\n")
    found = shown(site)
    assert found["places.folder"][0] == str(file.parent / "mine")
    assert found["places.inner.logs"][0] == [f"{file.parent}/a", f"{file.parent}/../b", "/c", f"{site.home}/d"]
    assert shown(site, SKILLKIT_PLACES__FOLDER="here")["places.folder"][0] == str(site.cwd / "here")


def test_a_distribution_that_the_user_names_by_its_path_is_not_one_of_the_current_directory(site: Any) -> None:
    site.config("distribution: house.yaml\n")
    for folder, model in ((site.home / "config", "mine"), (site.cwd, "of-a-stranger")):
        (folder / "house.yaml").write_text(f"schema_version: 1\nname: house\ndefaults: {{model: {model}}}\n")
    assert shown(site)["model"][0] == "mine"


def test_directories_of_the_user_that_are_relative_do_not_count(site: Any) -> None:
    for place in ("state/config", ".config/skillkit", "skillkit"):
        folder = site.cwd / place
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text("base_url: http://stranger.example/v1\n")
    for variable, text in (("SKILLKIT_HOME", "state"), ("XDG_CONFIG_HOME", "."), ("XDG_CONFIG_HOME", ".config")):
        home = {} if variable == "SKILLKIT_HOME" else {"SKILLKIT_HOME": ""}
        done = site.run("config", "show", "base_url", "--json", **{variable: text, **home})
        assert done.json["base_url"]["value"] is None
        assert done.err == f"Warning: {variable} is ignored: {text!r} is no absolute path\n"


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("MODLE", "MODEL"),
        ("PROVIDERS", "PROVIDER"),
        ("LIMITS_TURNS", "LIMITS__TURNS"),
        ("ACME_TIMEOUT", "ACME__TIMEOUT"),
    ],
)
def test_a_misspelt_variable_is_warned_about_once(acme: Any, variable: str, meant: str) -> None:
    for command in (["config", "show", "model"], ["--help"]):
        done = acme.run(
            *command, **{f"SKILLKIT_{variable}": "1", "SKILLKIT_OTHER_TOOL": "1", "SKILLKIT_ACME_URL": "/x"}
        )
        assert (done.code, done.err) == (
            0,
            f"Warning: SKILLKIT_{variable} sets nothing; did you mean SKILLKIT_{meant}?\n",
        )


def test_sections_of_plugins_that_do_not_run_are_no_mistake(acme: Any) -> None:
    acme.plugin("zebra")
    acme.config("acme:\nplugins: {disabled: [acme]}\n")
    assert "acme.timeout" not in shown(acme)
    file = acme.config("zebra: {x: 1}\n")
    assert refused(acme) == f"{file}:1: zebra: unknown setting 'zebra'; 'skillkit plugins info zebra' names its section"


def test_a_section_of_a_disabled_plugin_warns_and_stops_nothing(acme: Any) -> None:
    file = acme.config("model: m\nacme: {timeout: 5}\nplugins: {disabled: [acme]}\n")
    warned = (
        f"Warning: plugin 'acme', config: {file}:2: acme: the section does not count, because the plugin is disabled by "
        f"{file}:3: plugins.disabled; enable the plugin, or remove the section"
    )
    done = acme.run("config", "show", "--json")
    assert (done.code, done.json["model"]["value"], done.err) == (0, "m", f"{warned}\n")
    assert "acme.timeout" not in done.json
    told = acme.run("doctor")
    assert told.err.count(warned) == 1
    problems = acme.run("doctor", "--json").json["problems"]
    assert [(p["plugin"], p["severity"]) for p in problems] == [("acme", "warning")]


def test_a_section_of_a_plugin_that_the_distribution_leaves_out_warns_but_not_one_of_the_distribution(
    acme: Any,
) -> None:
    acme.distribution("house", "plugins: [{id: acme, config: {timeout: 10}}]\npolicy: {only_listed: true}\n")
    assert "acme.timeout" not in shown(acme, "-P", "no:acme"), "only the distribution set it"
    done = acme.run("config", "show", SKILLKIT_TWO_WORDS__TIMEOUT="2")
    assert (done.code, done.err) == (
        0,
        "Warning: plugin 'two-words', config: SKILLKIT_TWO_WORDS__TIMEOUT: the section does not count, because the plugin is "
        "not listed by distribution 'house'; enable the plugin, or remove the section\n",
    )


def test_sections_that_their_plugin_got_wrong_do_not_stop_the_others(acme: Any) -> None:
    acme.plugin("gone", "@hookimpl\ndef register_config(register): register(ConfigSection('gone', 'gone_away:Model'))")
    acme.plugin("odd", "@hookimpl\ndef register_config(register): register(ConfigSection('odd', 'os:path'))")
    acme.plugin("proud", "@hookimpl\ndef register_config(register): register(ConfigSection('model', 'os:path'))")
    acme.plugin("second", SECTION.format(name="acme"))
    acme.config("gone: {x: 1}\nacme: {timeout: 4}\n")
    assert shown(acme)["acme.timeout"][0] == 4.0
    report = acme.run("plugins", "doctor", "--json")
    problems = {p["plugin"]: p for p in report.json["problems"]}
    assert set(problems) == {"gone", "odd", "proud", "second"}
    assert "No module named 'gone_away'" in problems["gone"]["message"]
    assert "is neither a pydantic model" in problems["odd"]["message"]
    assert "section 'model' is the core's" in problems["proud"]["message"]
    assert problems["second"]["severity"] == "warning"
    assert "section 'acme' is that of plugin 'acme'" in problems["second"]["message"]
