"""Which plugins run, and in which order: flags, variables, configuration, distribution."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import UnknownName, UsageError
from skillkit_core.errors import ConfigError
from skillkit_core.host.plan import Selection


@pytest.fixture
def abc(site: Any) -> Any:
    for name in ("a", "b", "c"):
        site.plugin(name)
    return site


def running(site: Any, *flags: str, **env: str) -> list[str]:
    done = site.run(*flags, "plugins", "list", "--json", **env)
    assert done.code == 0, done.err
    return [r["name"] for r in done.json["plugins"] if r["enabled"]]


def reasons(site: Any, *flags: str, **env: str) -> dict[str, str]:
    return {r["name"]: r["reason"] for r in site.run(*flags, "plugins", "list", "--json", **env).json["plugins"]}


def test_everything_installed_runs_by_distribution_name(abc: Any) -> None:
    abc.plugin("z", distribution="aardvark-z")
    assert running(abc) == ["z", "a", "b", "c"]


@pytest.mark.parametrize(
    ("flags", "env", "expected"),
    [
        (["--plugins", "c,a"], {}, ["a", "c"]),
        (["--plugins", ""], {}, []),
        (["-P", "no:b"], {}, ["a", "c"]),
        (["-P", "no:b", "-P", "no:c"], {}, ["a"]),
        (["--plugins", "a", "-P", "b"], {}, ["a", "b"]),
        (["--plugins", "a,b", "-P", "no:b"], {}, ["a"]),
        (["-P", "no:a", "-P", "a"], {}, ["a", "b", "c"]),
        (["-P", "a", "-P", "no:a"], {}, ["b", "c"]),
        ([], {"SKILLKIT_PLUGINS": "b"}, ["b"]),
        ([], {"SKILLKIT_PLUGINS": ""}, ["a", "b", "c"]),
        ([], {"SKILLKIT_PLUGINS__DISABLED": "a,b"}, ["c"]),
        (["--plugins", "a"], {"SKILLKIT_PLUGINS": "b"}, ["a"]),
        (["-P", "c"], {"SKILLKIT_PLUGINS": "b"}, ["b", "c"]),
    ],
)
def test_flags_and_variables(abc: Any, flags: list[str], env: dict[str, str], expected: list[str]) -> None:
    assert running(abc, *flags, **env) == expected


def test_configuration_enables_and_disables_and_a_flag_is_stronger(abc: Any) -> None:
    file = abc.config("plugins:\n  disabled: [b, c]\n")
    assert running(abc) == ["a"]
    assert reasons(abc)["b"] == f"disabled by {file}:2: plugins.disabled"
    assert running(abc, "-P", "b") == ["a", "b"]
    assert reasons(abc, "-P", "b")["b"] == "enabled by -P b"


@pytest.mark.parametrize(
    ("flags", "env", "where"),
    [
        (["--plugins", "a,bb"], {}, "--plugins"),
        (["-P", "bb"], {}, "-P bb"),
        (["-P", "no:bb"], {}, "-P no:bb"),
        ([], {"SKILLKIT_PLUGINS": "bb"}, "SKILLKIT_PLUGINS"),
        ([], {"SKILLKIT_PLUGINS__ENABLED": "bb"}, "SKILLKIT_PLUGINS__ENABLED"),
    ],
)
def test_a_plugin_that_is_not_installed_is_named_with_its_origin(
    abc: Any, flags: list[str], env: dict[str, str], where: str
) -> None:
    done = abc.run(*flags, "plugins", "list", **env)
    assert done.code == 2
    assert done.err.startswith(f"Error: {where}: unknown plugin 'bb'; did you mean 'b'")
    assert done.err.count("\n") == 1


def test_disabling_what_is_not_installed_in_a_file_is_no_mistake(abc: Any) -> None:
    abc.config("plugins:\n  disabled: [telemetry]\n")
    assert running(abc) == ["a", "b", "c"]


@pytest.mark.parametrize(("text", "shown"), [("[off]", "False"), ("[3]", "3"), ("{a: 1}", "{'a': 1}"), ("7", "7")])
def test_a_list_of_plugins_that_yaml_reads_otherwise_stops_before_anything_runs(
    abc: Any, text: str, shown: str
) -> None:
    file = abc.config(f"plugins:\n  disabled: {text}\n")
    done = abc.run("plugins", "list")
    assert done.code == 2
    assert f"{file}:2: plugins.disabled: must be a list of plugin names, not {shown}" in done.err


def test_a_distribution_orders_its_plugins_first(abc: Any) -> None:
    abc.distribution("house", "plugins: [c, b]\n")
    assert running(abc) == ["c", "b", "a"]
    assert running(abc, "--only-default-plugins") == ["c", "b"]
    assert reasons(abc, "--only-default-plugins")["a"] == "not a default plugin (--only-default-plugins)"
    assert reasons(abc)["c"] == "listed by distribution 'house'"
    assert running(abc, "--only-default-plugins", "-P", "a") == ["c", "b", "a"]
    assert running(abc, "--plugins", "a,b") == ["b", "a"]


def test_only_default_plugins_without_a_distribution_is_refused(abc: Any) -> None:
    done = abc.run("--only-default-plugins", "plugins", "list")
    assert done.code == 2
    assert "needs a distribution" in done.err


def test_a_distribution_may_allow_nothing_but_its_plugins(abc: Any) -> None:
    abc.distribution("strict", "plugins: [b]\npolicy: {only_listed: true}\n")
    assert running(abc) == ["b"]
    assert reasons(abc)["a"] == "not listed by distribution 'strict'"
    assert running(abc, "-P", "a") == ["b", "a"], "who runs the command decides in the end"


def test_a_listed_plugin_that_is_missing_is_an_error_with_the_remedy_unless_it_is_off(abc: Any) -> None:
    abc.distribution("house", "plugins: [a, chat]\n")
    report = abc.run("plugins", "doctor", "--json")
    assert report.code == 1
    (problem,) = report.json["problems"]
    assert (problem["plugin"], problem["severity"]) == ("chat", "error")
    assert problem["remedy"] == "install the package that brings it"
    for off in (("-P", "no:chat"), ("--plugins", "a")):
        assert abc.run(*off, "plugins", "doctor").code == 0


@pytest.mark.parametrize(
    ("words", "policy", "why"),
    [
        (["-P", "no:a"], "", "disabled by -P no:a"),
        (["--plugins", "b"], "", "not named by --plugins"),
        ([], "deny: [a]", "denied by distribution 'house' ({file})"),
        ([], "only_listed: true", "not listed by distribution 'house' ({file}): skillkit plugins enable a"),
        ([], "only_listed: true, may_leave: false", "not listed by distribution 'house' ({file})"),
        (["config"], "", "disabled by {config}:2: plugins.disabled: skillkit plugins enable a"),
    ],
)
def test_what_is_missing_names_what_switched_its_plugin_off_and_the_way_back_that_works(
    abc: Any, words: list[str], policy: str, why: str
) -> None:
    (abc.path / "acme_table").mkdir()
    (abc.path / "acme_table" / "packages.json").write_text('{"acme-a": {"plugins": ["a"], "commands": ["fly"]}}')
    abc.metadata("acme-table", "1", "[skillkit.packages]\nt = acme_table\n")
    file = abc.distribution("house", f"plugins: [b]\npolicy: {{{policy}}}\n")
    config = abc.home / "config" / "config.yaml"
    if words == ["config"]:
        words = []
        abc.config("plugins:\n  disabled: [a]\n")
    said = abc.run(*words, "fly").err
    assert f"'fly' comes with the plugin 'a', which does not run: {why.format(file=file, config=config)}\n" in said


def test_a_misspelt_plugin_of_a_distribution_stops_everything(abc: Any) -> None:
    abc.plugin("guards", "")
    file = abc.distribution("house", "plugins: [a, gaurds]\n")
    done = abc.run("plugins", "list")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"Error: {file}: unknown plugin 'gaurds'; did you mean 'guards'?\n"


def test_of_several_distributions_one_must_be_named(abc: Any) -> None:
    abc.distribution("one", "plugins: [c]\n")
    abc.distribution("two", "plugins: [b]\nextends: one\n")
    done = abc.run("plugins", "list")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "Error: several distributions are installed, and none is chosen: one (house-one 1.0), two "
    )
    assert (
        f"say --distribution NAME, write 'distribution: NAME' into {abc.home}/config/config.yaml, or use the command"
        in done.err
    )
    assert running(abc, "--distribution", "one") == ["c", "a", "b"]
    assert running(abc, "--distribution", "two") == ["c", "b", "a"]
    assert running(abc, SKILLKIT_DISTRIBUTION="one") == ["c", "a", "b"]
    abc.config("distribution: two\n")
    assert running(abc) == ["c", "b", "a"]
    assert running(abc, SKILLKIT_DISTRIBUTION="one") == ["c", "a", "b"]
    assert running(abc, "--distribution", "two", SKILLKIT_DISTRIBUTION="one") == ["c", "b", "a"]
    done = abc.run("--distribution", "tow", "plugins", "list")
    assert done.code == 2
    assert "unknown distribution 'tow'; did you mean 'two'" in done.err


def test_a_file_can_be_a_distribution(abc: Any) -> None:
    file = abc.cwd / "mine.yaml"
    file.write_text("schema_version: 1\nname: mine\nplugins: [b]\n")
    assert running(abc, "--distribution", "mine.yaml")[0] == "b"
    done = abc.run("--distribution", "absent.yaml", "plugins", "list")
    assert (done.code, done.err) == (2, "Error: absent.yaml: there is no such file\n")


def test_skillkit_name_itself_has_the_better_right_to_a_plugin_name(site: Any) -> None:
    site.plugin("permissions", distribution="aaa-takeover")
    site.plugin("permissions", distribution="skillkit-permissions")
    rows = site.run("plugins", "list", "--json").json["plugins"]
    assert {r["distribution"]: r["enabled"] for r in rows} == {"aaa-takeover": False, "skillkit-permissions": True}


def test_a_host_that_cannot_decide_says_so_every_time(abc: Any, make_host: Any) -> None:
    host = make_host(selection=Selection(only=("nobody",)))
    for _ in range(2):
        with pytest.raises(UnknownName, match="unknown plugin 'nobody'"):
            host.load()
        with pytest.raises(UnknownName):
            _ = host.tools
    abc.config("plugins: {disabled: [on]}\n")
    with pytest.raises(ConfigError):
        make_host().load()
    with pytest.raises(UsageError):
        make_host(selection=Selection(only_default=True)).load()


def test_without_discovery_nothing_installed_counts(abc: Any, make_host: Any) -> None:
    assert list(make_host(discover=False).plugins) == []
    assert list(make_host().plugins) == ["a", "b", "c"]


def test_a_denied_plugin_never_runs_whoever_wants_it(abc: Any) -> None:
    abc.distribution("strict", "plugins: [a]\npolicy: {deny: [c]}\n")

    assert running(abc) == ["a", "b"]
    assert reasons(abc)["c"] == "denied by distribution 'strict'"
    for flags, env, where in (
        (["-P", "c"], {}, "-P c"),
        (["--plugins", "a,c"], {}, "--plugins"),
        ([], {"SKILLKIT_PLUGINS": "c"}, "SKILLKIT_PLUGINS"),
        ([], {"SKILLKIT_PLUGINS__ENABLED": "c"}, "SKILLKIT_PLUGINS__ENABLED"),
    ):
        done = abc.run(*flags, "plugins", "list", **env)
        assert (done.code, done.err) == (2, f"Error: {where}: distribution 'strict' denies the plugin 'c'\n")


def test_who_extends_a_distribution_can_only_narrow_its_policy(abc: Any) -> None:
    abc.distribution(
        "base", "plugins: [a, b]\npolicy: {only_listed: true, deny: [c], required: [a], may_leave: false}\n"
    )
    narrow = abc.cwd / "narrow.yaml"
    head = "schema_version: 1\nname: narrow\nextends: base\n"

    narrow.write_text(f"{head}policy: {{deny: [b], require_lock: false}}\n")
    assert running(abc, "--distribution", "narrow.yaml") == ["a"]
    assert abc.run("--distribution", "narrow.yaml", "config", "show", "plugins.required", "--json").json == {
        "plugins.required": {"value": ["a"], "origin": f"{abc.path}/dist_base/distribution.yaml:4: policy.required"}
    }

    for key, wrong in (
        ("policy.only_listed", "policy: {only_listed: false}"),
        ("policy.may_leave", "policy: {may_leave: true}"),
    ):
        narrow.write_text(f"{head}{wrong}\n")
        done = abc.run("--distribution", "narrow.yaml", "plugins", "list")
        stays = "true" if "only" in key else "false"
        text = f"must stay {stays}: the extended distribution says so, and policies only narrow"
        assert (done.code, done.err) == (2, f"Error: narrow.yaml:4: {key}: {text}\n")
    narrow.write_text(f"{head}plugins: [c]\n")
    done = abc.run("--distribution", "narrow.yaml", "plugins", "list")
    assert done.err == "Error: narrow.yaml:4: plugins.0: plugin 'c' is denied; policy.deny has it\n"
