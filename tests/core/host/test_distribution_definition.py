"""``distribution.yaml``: what it may say, and what a wrong one is told."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import AmbiguousName, Provider, hookimpl
from skillkit_core.errors import ConfigError
from skillkit_core.host.discovery import EntryPoint, find_beside
from skillkit_core.host.distribution import in_range, read_distribution

HEAD = "schema_version: 1\nname: mine\n"


def write(folder: Path, text: str, name: str = "distribution.yaml") -> Path:
    file = folder / name
    file.write_text(textwrap.dedent(text))
    return file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x", "{file}: schema_version: must be 1, not None"),
        ("schema_version: 2\nname: x", "{file}:1: schema_version: must be 1, not 2"),
        ("schema_version: true\nname: x", "{file}:1: schema_version: must be 1, not True"),
        ("schema_version: 1", "{file}: name: must be a name, not missing"),
        ("schema_version: 1\nname: 3", "{file}:2: name: must be a name, not 3"),
        (HEAD + "plugin: [a]", "{file}:3: plugin: unknown key 'plugin'; did you mean 'plugins'?"),
        (HEAD + "plugins: a", "{file}:3: plugins: must be a list, not 'a'"),
        (HEAD + "plugins:\n  - 3", "{file}:4: plugins.0: must be a plugin's name or a mapping with 'id', not 3"),
        (HEAD + "plugins:\n  - config: {}", "{file}:4: plugins.0.id: must be a plugin's name, not missing"),
        (HEAD + "plugins:\n  - id: a\n    cfg: {}", "{file}:5: plugins.0.cfg: unknown key 'cfg'; did you mean 'config'?"),
        (HEAD + "plugins:\n  - id: a\n    config: [1]", "{file}:5: plugins.0.config: must be a mapping, not [1]"),
        (HEAD + "plugins: [a, b, a]", "{file}:3: plugins.2: plugin 'a' is listed twice"),
        (HEAD + "core: 0.1", "{file}:3: core: must be a version range in quotes, not 0.1"),
        (HEAD + "core: '>=99'", "{file}:3: core: wants skillkit-core >=99, this is"),
        (HEAD + "core: '~=0.1'", "{file}:3: core: '~=0.1' is not a version bound; write something like"),
        (HEAD + "policy: {only: true}", "{file}:3: policy.only: unknown key 'only'; did you mean 'only_listed'?"),
        (HEAD + "policy:\n  only_listed: 1", "{file}:4: policy.only_listed: must be true or false, not 1"),
        (HEAD + "defaults: {modle: x}", "{file}:3: defaults.modle: unknown key 'modle'; did you mean 'model'?"),
        (HEAD + "defaults: {distribution: x}", "{file}:3: defaults.distribution: unknown key"),
        (HEAD + "plugins: [a]\noverrides: {adapter: {x: a}}", "{file}:4: overrides.adapter: unknown key 'adapter'; did you"),
        (HEAD + "plugins: [a]\noverrides: {tools: [x]}", "{file}:4: overrides.tools: must be a mapping of names to plugins"),
        (HEAD + "plugins: [acme]\noverrides:\n  tools:\n    x: acne", "{file}:6: overrides.tools.x: 'acne' is not a plugin"),
        (HEAD + "extends: nobody", "{file}:3: extends: unknown distribution 'nobody'; there is no distribution"),
        (HEAD + "extends: mine", "{file}:3: extends: extends itself"),
        (HEAD + "extends: [a]", "{file}:3: extends: must be a distribution's name, not ['a']"),
        (HEAD + "extends: distribution.yaml", "{file}:3: extends: extends itself"),
        ("[]", "{file}:1: must be a mapping of settings, not list"),
        ("a: [", "{file}:2: is not valid YAML"),
    ],
)  # fmt: skip
def test_wrong_definitions_name_file_line_and_yaml_path(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text + "\n")
    with pytest.raises(ConfigError) as caught:
        read_distribution(file)
    assert str(caught.value).startswith(message.format(file=file))
    assert caught.value.exit_code == 2


def test_extending_adds_plugins_at_the_end_and_merges_settings_key_by_key(site: Any, make_host: Any) -> None:
    base = site.distribution(
        "base",
        """\
        plugins:
          - a
          - id: acme
            config: {timeout: 1, depth: 1}
        defaults: {model: base-model, limits: {turns: 1, cost: 1}}
        overrides: {tools: {x: a, y: a}}
        policy: {only_listed: true}
        """,
    )
    child = site.distribution(
        "child",
        """\
        extends: base
        plugins:
          - b
          - id: acme
            config: {timeout: 2}
        defaults: {limits: {turns: 2}}
        overrides: {tools: {x: b}}
        """,
    )
    host = make_host("child")
    found = host.distribution
    assert found.plugins == ("a", "acme", "b")
    assert found.overrides == {"tools": {"x": "b", "y": "a"}}
    assert found.policy.only_listed is True
    data = host.config.data
    assert data["acme"] == {"timeout": 2, "depth": 1}
    assert data["limits"] == {"turns": 2, "cost": 1}
    assert host.config.origin("acme.timeout") == f"{child}:7: plugins.1.config.timeout"
    assert host.config.origin("acme.depth") == f"{base}:6: plugins.1.config.depth"
    assert host.config.origin("limits.cost") == f"{base}:7: defaults.limits.cost"


def test_a_circle_of_distributions_is_found(site: Any, make_host: Any) -> None:
    site.distribution("one", "extends: two\n")
    site.distribution("two", "extends: three\n")
    site.distribution("three", "extends: one\n")
    with pytest.raises(ConfigError, match="extends: extends itself"):
        make_host("one").load()


def test_a_file_extends_another_beside_it(tmp_path: Path) -> None:
    write(tmp_path, HEAD.replace("mine", "base") + "plugins: [a]\n", "base.yaml")
    file = write(tmp_path, HEAD + "extends: base.yaml\nplugins: [b]\n")
    assert read_distribution(file).plugins == ("a", "b")


def test_a_distribution_without_its_file_says_what_to_do(site: Any, make_host: Any) -> None:
    site.metadata("house-empty", "1.5", "[skillkit.distributions]\nempty = nothing_there\n")
    with pytest.raises(
        ConfigError, match=r"'empty' \(house-empty 1.5\): has no distribution.yaml; pip install --force-r"
    ):
        make_host("empty").load()


def test_finding_a_distribution_imports_nothing_of_its_package(site: Any, make_host: Any) -> None:
    inner = site.path / "outer" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").write_text(f"open({str(site.cwd / 'imported')!r}, 'w')")
    write(inner, HEAD)
    make_host()  # puts the site on the path
    entry = EntryPoint("skillkit.distributions", "mine", "outer.inner", "house", "1", "")
    assert find_beside(entry, "distribution.yaml") == str(inner / "distribution.yaml")
    assert find_beside(entry._replace(value="outer"), "distribution.yaml") is None
    assert find_beside(entry._replace(value="outer.absent.deep"), "distribution.yaml") is None
    assert not (site.cwd / "imported").exists()


class Offers:
    def __init__(self, name: str) -> None:
        self.name = name

    @hookimpl
    def register_adapters(self, register: Any) -> None:
        register(Provider("shared", {"x": "os:path"}, description=self.name))


def test_overrides_decide_which_plugin_a_shared_name_means(site: Any, make_host: Any) -> None:
    site.distribution("house", "plugins: [one, two]\noverrides: {adapters: {shared: two}}\n")
    host = make_host(plugins=[Offers("one"), Offers("two")])
    assert host.adapters.entry("shared").source == "two"
    undecided = make_host(discover=False, plugins=[Offers("one"), Offers("two")])
    with pytest.raises(AmbiguousName):
        undecided.adapters.entry("shared")


def test_overrides_do_not_ask_plugins_before_they_are_configured(site: Any, make_host: Any) -> None:
    site.distribution("house", "plugins: [one]\noverrides: {adapters: {shared: one}}\n")
    asked: list[str] = []

    class Watch(Offers):
        @hookimpl
        def register_adapters(self, register: Any) -> None:
            asked.append("adapters")

        @hookimpl
        def host_started(self, host: Any) -> None:
            asked.append("started")

    host = make_host(plugins=[Watch("one")])
    host.load()
    assert asked == ["started"]
    _ = host.adapters
    assert asked == ["started", "adapters"]


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("0.1.0", "", True), ("0.1.0", ">=0.1,<0.2", True), ("0.2.0", ">=0.1,<0.2", False), ("0.1.9", "<0.1.10", True),
        ("1.0", "==1", True), ("1.0.1", "==1", False), ("1.0", "!=1.0.0", False), ("2.0", "> 1.9.9 , <=2", True),
    ],
)  # fmt: skip
def test_version_ranges(version: str, wanted: str, fits: bool) -> None:
    assert in_range(version, wanted) is fits
