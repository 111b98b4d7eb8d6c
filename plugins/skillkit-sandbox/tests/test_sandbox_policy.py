"""Policies: data, their intersection, and what of the configuration counts."""

from __future__ import annotations

import json

import pytest
import skillkit_bash.plugin
import skillkit_sandbox.plugin
from skillkit_sandbox import Limits, Sandboxes, SandboxPolicy, load_policy
from skillkit_sandbox.config import settings_of
from skillkit_sandbox.plugin import resolve_runtime
from skillkit_sandbox.relay import allowed

from skillkit_core import Host
from skillkit_core.errors import ConfigError, SkillKitError, UnknownName


def test_the_intersection_of_two_policies_allows_what_both_allow(tmp_path):
    wide = SandboxPolicy(
        write=("a", "b"), write_files=("c/plan.md",), read=("/",), network="on", env=("HOME", "LC_*", "CI"),
        limits=Limits(processes=50), protect=("x",),
    )  # fmt: skip
    tight = SandboxPolicy(
        write=("a/sub", "c"), read=("/usr", str(tmp_path)), hide=("keys",), network="proxy", domains=("example.org",),
        env=("HOME", "LC_ALL"), limits=Limits(processes=90, memory_mb=100), protect=(),
    )  # fmt: skip
    both = wide.narrow(tight, tmp_path)
    assert both == SandboxPolicy(
        write=(f"{tmp_path}/a/sub",), write_files=(f"{tmp_path}/c/plan.md",), read=("/usr", str(tmp_path)),
        protect=(f"{tmp_path}/a/x", f"{tmp_path}/b/x"), hide=(f"{tmp_path}/a/sub/keys", f"{tmp_path}/c/keys"), network="proxy",
        domains=("example.org",), env=("HOME", "LC_ALL"), limits=Limits(processes=50, memory_mb=100),
    )  # fmt: skip
    assert set(tight.narrow(wide, tmp_path).write) == set(both.write)
    assert both.narrow(both, tmp_path) == both


def test_a_policy_that_cannot_be_read_is_an_error_that_names_the_key(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("write: [.]\nnetwork: off\nlimits: {processes: 5}\n")
    assert load_policy(file).network == "off"
    file.write_text("write: .\nenv: HOME\n")
    assert (load_policy(file).write, load_policy(file).env) == ((".",), ("HOME",)), "one value is a list of one"
    for text, said in (
        ("wirte: [.]", "wirte: unknown key"), ("network: maybe", "network"), ("domains: ['http://x/']", "is no domain"),
        ("limits: {processes: 0}", "limits.processes"), ("- a", "holds no policy"), ("a: [", "policy.yaml:1: cannot be read"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(ConfigError, match=said) as caught:
            load_policy(file)
        assert str(file) in str(caught.value)
    assert SandboxPolicy.model_validate(json.loads(json.dumps(SandboxPolicy().data()))) == SandboxPolicy()
    assert SandboxPolicy.model_json_schema()["additionalProperties"] is False


@pytest.mark.parametrize(
    ("host", "port", "domains", "may"),
    [
        ("example.org", 443, ["example.org"], True),
        ("EXAMPLE.org.", 80, ["example.org"], True),
        ("example.org", 22, ["example.org"], False),
        ("example.org", 8443, ["example.org:8443"], True),
        ("example.org", 443, ["example.org:8443"], False),
        ("a.example.org", 443, ["*.example.org"], True),
        ("example.org", 443, ["*.example.org"], False),
        ("badexample.org", 443, ["*.example.org", "example.org"], False),
        ("example.org.evil.net", 443, ["example.org"], False),
    ],
)
def test_a_domain_of_the_list_is_that_host_on_the_ports_of_the_web(host, port, domains, may):
    assert allowed(host, port, domains) is may


@pytest.fixture
def host_of(tmp_path, monkeypatch):
    def make(user="", project=""):
        for folder, text in ((tmp_path / "config", user), (tmp_path / "work" / ".skillkit", project)):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.yaml").write_text(text)
        host = Host(
            plugins=[("bash", skillkit_bash.plugin), ("sandbox", skillkit_sandbox.plugin)], discover=False, cwd=tmp_path / "work",
            environ={"SKILLKIT_HOME": str(tmp_path), "HOME": str(tmp_path)},
        )  # fmt: skip
        monkeypatch.setattr(type(host.plan), "withheld", [])
        return host

    return make


def test_a_project_only_narrows(host_of, tmp_path):
    user = (
        "sandbox: {policies: {mine: {write: [src], network: proxy, domains: [packages.example.org]}}, commands: mine}"
    )
    project = (
        "sandbox: {policies: {mine: {write: [.], network: on}, wide: {write: [/], network: on}}, commands: wide, "
        "accept_degraded: true, backend: landlock}"
    )
    host = host_of(user, project)
    settings = settings_of(host)
    maker = Sandboxes(host)
    mine, wide = maker.policy("mine"), maker.policy("wide")
    assert (mine.write, mine.network, mine.domains) == (
        (str(tmp_path / "work" / "src"),),
        "proxy",
        ("packages.example.org",),
    )
    assert (wide.write, wide.network) == ((str(tmp_path / "work"),), "off")
    assert (settings.backend, settings.accept_degraded, len(settings.ignored)) == ("auto", False, 2)
    assert settings.commands == ("mine", "wide")
    with pytest.raises(UnknownName, match="mine"):
        maker.policy("mien")


def test_a_policy_of_commands_that_is_not_there_is_an_error_that_names_the_line(host_of, tmp_path):
    host = host_of("model: scripted\nsandbox:\n  commands: nosuch\n")
    said = "config.yaml:3: sandbox.commands: unknown sandbox policy 'nosuch'; known: project, read-only"
    with pytest.raises(UnknownName, match=said):
        settings_of(host)
    host = host_of("sandbox:\n  policies:\n    mine:\n      wirte: [.]\n")
    with pytest.raises(ConfigError, match=r"config.yaml:4: sandbox.policies.mine.wirte: unknown setting 'wirte'"):
        settings_of(host)


@pytest.mark.parametrize(
    ("user", "project", "inside"),
    [
        ("sandbox: {commands: project}", "sandbox: {commands: null}", True),
        ("sandbox: {commands: project}", "sandbox: null", True),
        ("sandbox: {command: project}", "", True),  # nobody knows what was meant: nothing runs
        ("sandbox: project", "", True),
        ("sandbox: {commands: null}", "", False),
        ("sandbox: {backend: bubblewrap}", "", False),
    ],
)
def test_a_project_or_a_slip_takes_no_command_out_of_the_sandbox(host_of, user, project, inside):
    assert (resolve_runtime(None, host_of(user, project)) is not None) is inside


def test_a_backend_that_holds_less_is_refused_unless_the_user_accepts_it(host_of, monkeypatch):
    from skillkit_sandbox.box import BubblewrapBackend, LandlockBackend

    if LandlockBackend().problem():
        pytest.skip(LandlockBackend().problem())
    monkeypatch.setattr(
        BubblewrapBackend, "problem", lambda self: "bwrap is not installed: install the package bubblewrap"
    )
    maker = Sandboxes(host_of())
    with pytest.raises(
        SkillKitError, match=r"bubblewrap: bwrap is not installed.*landlock does not hold: modes, owners"
    ) as caught:
        maker.open("project")
    assert "accept_degraded" in str(caught.value)
    accepting = Sandboxes(host_of("sandbox: {accept_degraded: true}"))
    box = accepting.open("project")
    assert (box.backend.name, bool(box.notes)) == ("landlock", True)
    with pytest.raises(SkillKitError, match="network: proxy"):
        accepting.open({"network": "proxy", "domains": ["example.org"]})


def test_another_plugin_finds_sandboxes_through_the_host(host_of):
    host = host_of()
    assert {"sandbox_backends", "sandboxes"} <= set(host.kinds)
    assert [b.name for b in host.registry("sandboxes").get("sandbox").backends()] == ["bubblewrap", "landlock"]
