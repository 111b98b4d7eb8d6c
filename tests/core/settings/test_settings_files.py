"""Files of configuration: creating one, trusting folders, the cache of parsed documents."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillkit_core.descriptors import ConfigSection
from skillkit_core.errors import ConfigError, PluginError
from skillkit_core.settings import documents
from skillkit_core.settings.config import Config, Layer
from skillkit_core.settings.documents import read_document
from skillkit_core.settings.paths import platform_paths
from skillkit_core.settings.trust import Trust

MODEL = """
from enum import Enum
from pathlib import Path
from pydantic import BaseModel, ConfigDict, Field

class Colour(Enum):
    red = "red"

class Inner(BaseModel):
    depth: int = Field(default=3, description="how deep: 'very' # or not")

class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    timeout: float = Field(default=60.0, description="seconds\\nper command")
    shells: list[str] = ["bash", "s: #h"]
    tags: frozenset[str] = frozenset({"b", "a"})
    colour: Colour = Colour.red
    place: Path = Path("/tmp/x")
    nothing: str | None = None
    table: dict[str, list[int]] = {"on": [1]}
    inner: Inner = Inner()
"""


@pytest.fixture
def acme(site: Any) -> Any:
    (site.path / "acme_settings.py").write_text(MODEL)
    source = "@hookimpl\ndef register_config(register): register(ConfigSection('acme', 'acme_settings:Settings'))"
    site.plugin("acme", source)
    return site


def test_config_init_writes_a_file_whose_every_line_is_true(acme: Any, make_host: Any) -> None:
    done = acme.run("config", "init")
    file = acme.home / "config" / "config.yaml"
    assert (done.code, done.out) == (0, f"Created {file}\n")
    text = file.read_text()
    assert yaml.safe_load(text) is None, "everything is commented out"
    defaults = {k: r["value"] for k, r in acme.run("config", "show", "--json").json.items()}

    lines = [re.sub(r"^# ", "", line) for line in text.splitlines()[2:]]
    file.write_text("\n".join(lines) + "\n")
    found = acme.run("config", "show", "--json")
    assert found.code == 0, found.err
    assert {k: r["value"] for k, r in found.json.items()} == defaults
    assert {r["origin"].partition(": ")[2] for r in found.json.values()} == set(defaults)

    tried = 0
    for i, line in enumerate(lines):  # each line with the groups that it stands in
        if not line:
            continue
        depth = len(line) - len(line.lstrip())
        chosen = [line]
        for above in reversed(lines[:i]):
            indent = len(above) - len(above.lstrip())
            if above and indent < depth:
                chosen.insert(0, above)
                depth = indent
        file.write_text("\n".join(chosen) + "\n")
        make_host().check_config()
        tried += 1
    assert tried > len(defaults)


def test_config_init_keeps_what_is_there_unless_it_is_told_otherwise(acme: Any) -> None:
    file = acme.config("model: mine\n")
    done = acme.run("config", "init")
    assert (done.code, done.err) == (2, f"Error: {file}: exists already; edit it, or replace it with --force\n")
    assert file.read_text() == "model: mine\n"
    assert acme.run("config", "init", "--force").code == 0
    assert "model: mine" not in file.read_text()


def test_config_init_for_a_project_says_that_trust_is_missing(acme: Any) -> None:
    done = acme.run("config", "init", "--project")
    assert done.code == 0
    assert "skillkit config trust" in done.out
    assert (acme.cwd / ".skillkit" / "config.yaml").is_file()
    acme.run("config", "trust")
    assert "trust" not in acme.run("config", "init", "--project", "--force").out


def test_a_directory_that_cannot_be_written_is_named(acme: Any) -> None:
    (acme.cwd / ".skillkit").write_text("in the way")
    done = acme.run("config", "init", "--project")
    assert done.code == 2
    assert done.err.startswith(f"Error: {acme.cwd}/.skillkit/config.yaml: cannot be written: ")
    (acme.home / "data").write_text("in the way")
    done = acme.run("config", "trust")
    assert done.code == 2
    assert done.err.startswith(f"Error: {acme.home}/data/trusted.json: cannot be ")
    assert done.err.count("\n") == 1


def test_trust_is_listed_added_and_revoked(acme: Any) -> None:
    assert acme.run("config", "trust", "--list").out == "No folder is trusted.\n"
    link = acme.home / "link"
    link.symlink_to(acme.cwd)
    assert acme.run("config", "trust", str(link), "--json").json == {"folder": str(acme.cwd), "trusted": True}
    assert acme.run("config", "trust", "--list", "--json").json == [str(acme.cwd)]
    assert acme.run("config", "path", "--json").json["project_trusted"] is True
    assert acme.run("config", "trust", "--revoke", "--json").json == {"folder": str(acme.cwd), "trusted": False}
    assert acme.run("config", "trust", "--revoke").out == f"{acme.cwd} is not trusted\n"


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', "\udcff", "[" * 100_000])
def test_a_damaged_list_of_trusted_folders_trusts_nothing_and_is_named(tmp_path: Path, text: str) -> None:
    trust = Trust(tmp_path)
    Path(trust.path).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=re.escape(trust.path)):
        trust.is_trusted(tmp_path)


def test_a_folder_beside_a_trusted_one_is_not_trusted(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "data")
    for name in ("work", "work-evil", "work/inner"):
        (tmp_path / name).mkdir(parents=True)
    trust.add(tmp_path / "work")
    assert trust.is_trusted(tmp_path / "work" / "inner")
    assert not trust.is_trusted(tmp_path / "work-evil")
    assert not trust.is_trusted(tmp_path)
    (tmp_path / "work" / "out").symlink_to(tmp_path / "work-evil")
    assert not trust.is_trusted(tmp_path / "work" / "out"), "a link out of a trusted folder leads out of it"


# --- the cache of documents -----------------------------------------------------------------------------------


@pytest.fixture
def settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A document old enough to be cached."""
    monkeypatch.setattr(documents, "_SETTLED", -1.0)
    file = tmp_path / "a.yaml"
    file.write_text("x: 1\ny:\n  z: [a, b]\n")
    return file


def cached(cache: Path) -> list[Path]:
    return sorted((cache / "documents").glob("*.json")) if (cache / "documents").exists() else []


def test_a_cached_document_equals_the_parsed_one(
    settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_document(settled, tmp_path / "cache")
    assert len(cached(tmp_path / "cache")) == 1
    monkeypatch.setattr(documents, "_parse", None)  # whoever parses now fails
    second = read_document(settled, tmp_path / "cache")
    assert second == first
    assert second is not None
    assert second.where("y.z.1") == f"{settled}:3: y.z.1"
    assert second.where("y.absent") == f"{settled}:2: y.absent"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"stamp": 1}', b"\xff\xff", b"[" * 100_000])
def test_a_corrupt_cache_is_ignored_and_replaced(settled: Path, tmp_path: Path, damage: bytes) -> None:
    first = read_document(settled, tmp_path)
    (entry,) = cached(tmp_path)
    entry.write_bytes(damage)
    assert read_document(settled, tmp_path) == first
    assert json.loads(entry.read_text())["data"][0] == {"x": 1, "y": {"z": ["a", "b"]}}


def test_a_cache_with_a_right_stamp_and_wrong_content_is_ignored(settled: Path, tmp_path: Path) -> None:
    first = read_document(settled, tmp_path)
    (entry,) = cached(tmp_path)
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"data": [1]}))
    assert read_document(settled, tmp_path) == first


def test_a_changed_file_is_read_again_even_with_its_old_size_and_time(settled: Path, tmp_path: Path) -> None:
    read_document(settled, tmp_path)
    before = settled.stat()
    settled.write_text("x: 2\ny:\n  z: [a, b]\n")
    os.utime(settled, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = read_document(settled, tmp_path)
    assert found is not None
    assert found.data["x"] == 2


def test_a_file_that_was_just_written_is_not_cached(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    for i in range(50):  # faster than the clock of many file systems
        file.write_text(f"x: {i % 10}\n")
        found = read_document(file, tmp_path)
        assert found is not None
        assert found.data == {"x": i % 10}
    assert cached(tmp_path) == []


@pytest.mark.parametrize("text", ["1: a\n", "d: 2024-02-03\n", "b: !!binary aGk=\n", "s: !!set {a}\n", "n: .nan\n"])
def test_what_json_would_change_is_not_cached(settled: Path, tmp_path: Path, text: str) -> None:
    settled.write_text(text)
    read_document(settled, tmp_path)
    assert cached(tmp_path) == []


def test_an_unwritable_cache_is_only_slower(settled: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert read_document(settled, tmp_path / "cache") is not None


def test_platform_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert platform_paths({"HOME": "/h"}) == ("/h/.config/skillkit", "/h/.local/share/skillkit", "/h/.cache/skillkit")
    xdg = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/e"}
    assert platform_paths(xdg) == ("/c/skillkit", "/d/skillkit", "/e/skillkit")
    assert platform_paths({**xdg, "SKILLKIT_HOME": "/s"}) == ("/s/config", "/s/data", "/s/cache")
    monkeypatch.setattr("sys.platform", "darwin")
    assert platform_paths({"HOME": "/h"}).config == "/h/Library/Application Support/skillkit"
    monkeypatch.setattr("sys.platform", "win32")
    assert platform_paths({"HOME": "/h", "APPDATA": "/r"}).config == "/r/skillkit"


def test_a_section_that_nobody_set_is_its_default_and_its_model_is_not_imported() -> None:
    sections = {"acme": ConfigSection("acme", "acme_that_is_not_there:Settings")}
    default = object()

    assert Config([Layer("low", {"acme": None})], lambda: sections).section("acme", default) is default
    assert Config([Layer("low", {"acme": {}})]).section("acme", default) is default, "its plugin could not declare it"
    with pytest.raises(PluginError, match="its model cannot be loaded"):
        Config([Layer("low", {"acme": {}})], lambda: sections).section("acme", default)


def test_a_higher_layer_wins_key_by_key() -> None:
    config = Config([Layer("low", {"a": {"x": 1, "y": 2}, "b": 1}), Layer("high", {"a": {"y": 3}, "b": {"c": 4}})])
    assert config.data == {"a": {"x": 1, "y": 3}, "b": {"c": 4}}
    config.put_below([Layer("lowest", {"a": {"x": 9, "z": 9}, "d": 9})])
    assert config.data == {"a": {"x": 1, "y": 3, "z": 9}, "b": {"c": 4}, "d": 9}
    assert config.raw("a.y") == 3
    assert config.raw("a.nothing") is None
