"""Discovery: entry points of installed distributions, in an order that no file system decides."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from skillkit_core.host import discovery
from skillkit_core.host.discovery import EntryPoint, canonical, parse, scan
from skillkit_core.host.plan import Selection, decide


def names(entries: list[EntryPoint]) -> list[tuple[str, str]]:
    return [(e.distribution, e.name) for e in entries]


def test_dist_info_and_egg_info_are_read_and_other_groups_are_left_out(site: Any) -> None:
    site.metadata("acme-b", "1.2", "[console_scripts]\nb = b:main\n[skillkit.plugins]\nb = acme.b\n")
    site.metadata("other", "1.0", "[pytest11]\nx = y\n")
    egg = site.path / "Acme_A.egg-info"
    egg.mkdir()
    (egg / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: Acme_A\nVersion: 3.4\n\nVersion: 9\n")
    (egg / "entry_points.txt").write_text("[ skillkit.plugins ]\n# a comment\n; another\na=acme.a:plugin [fast]\n")
    found = scan([str(site.path)])
    assert names(found) == [("acme-a", "a"), ("acme-b", "b")]
    assert [(e.value, e.version) for e in found] == [("acme.a:plugin", "3.4"), ("acme.b", "1.2")]
    assert all(e.location == str(site.path) for e in found)


def test_the_first_distribution_of_a_name_on_the_path_counts(site: Any, tmp_path: Path) -> None:
    later = tmp_path / "later"
    site.metadata("acme-x", "1.0", "[skillkit.plugins]\nx = first\n")
    site.metadata("acme-x", "2.0", "[skillkit.plugins]\nx = second\n", at=later)
    site.metadata("Acme.X", "3.0", "[skillkit.plugins]\nx = third\n", at=tmp_path / "last")
    assert [e.value for e in scan([str(site.path), str(later), str(tmp_path / "last")])] == ["first"]
    assert [e.value for e in scan([str(later), str(site.path)])] == ["second"]


def test_a_distribution_without_entry_points_hides_its_later_copy(site: Any, tmp_path: Path) -> None:
    folder = site.metadata("acme-x", "1.0", "")
    (folder / "entry_points.txt").unlink()
    site.metadata("acme-x", "2.0", "[skillkit.plugins]\nx = second\n", at=tmp_path / "later")
    assert scan([str(site.path), str(tmp_path / "later")]) == []


def test_wheels_on_the_path_are_read(tmp_path: Path) -> None:
    wheel = tmp_path / "acme_z-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("acme_z-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme-z\nVersion: 1.0\n")
        file.writestr("acme_z-1.0.dist-info/entry_points.txt", "[skillkit.plugins]\nz = acme.z\n")
    assert [(e.name, e.version) for e in scan([str(wheel)])] == [("z", "1.0")]


def test_what_cannot_be_read_is_passed_over(site: Any, tmp_path: Path) -> None:
    site.metadata("acme-good", "1.0", "[skillkit.plugins]\ngood = acme.good\n")
    (site.path / "empty-1.0.dist-info").mkdir()
    (site.path / "file.dist-info").write_text("")
    (site.path / "odd-1.0.dist-info").mkdir()
    (site.path / "odd-1.0.dist-info" / "entry_points.txt").mkdir()
    (site.path / "bytes-1.0.dist-info").mkdir()
    (site.path / "bytes-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[skillkit.plugins\n= = =\n\x00")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK no zip at all")
    nowhere = [str(tmp_path / "nowhere"), str(broken), "", str(site.path)]
    assert names(scan(nowhere)) == [("acme-good", "good")]


def test_the_current_directory_is_no_place_for_plugins(site: Any) -> None:
    site.plugin("evil", "open('imported', 'w')", at=site.cwd)
    done = site.run("plugins", "list", "--json")
    assert done.json["plugins"] == []
    site.run("plugins", "doctor")
    assert not (site.cwd / "imported").exists()


@given(st.text(max_size=200))
def test_parsing_never_raises_and_gives_only_our_groups(text: str) -> None:
    for group, name, _ in parse(text):
        assert group.startswith("skillkit.")
        assert name == name.strip()


@given(st.text(alphabet="aA._-", min_size=1, max_size=12))
def test_canonical_names_are_stable(name: str) -> None:
    once = canonical(name)
    assert canonical(once) == once
    assert canonical(name.upper()) == once


PLUGIN = st.sampled_from(["alpha", "beta", "gamma", "delta"])
DISTRIBUTION = st.sampled_from([f"house-{c}" for c in "abcdef"] + ["skillkit-alpha", "skillkit-beta"])


class _Shuffled:
    """``os.scandir`` of a file system that returns its entries in another order."""

    def __init__(self, order: Any) -> None:
        self.order = order

    def __call__(self, path: str) -> Any:
        found = sorted(_scandir(path), key=lambda e: e.name)
        self.order.shuffle(found)
        return iter(found)


_scandir = os.scandir


@settings(max_examples=40, deadline=None)
@given(
    installed=st.lists(
        st.tuples(DISTRIBUTION, PLUGIN, st.integers(0, 2)), unique_by=lambda t: (t[0], t[1]), max_size=10
    ),
    listed=st.lists(PLUGIN, unique=True),
    order=st.randoms(use_true_random=False),
)
def test_the_order_of_plugins_never_comes_from_the_file_system(
    tmp_path_factory: pytest.TempPathFactory, installed: list[tuple[str, str, int]], listed: list[str], order: Any
) -> None:
    root = tmp_path_factory.mktemp("paths")
    homes: dict[str, int] = {}
    points: dict[str, list[str]] = {}
    for distribution, plugin, entry in installed:
        homes.setdefault(distribution, entry)
        points.setdefault(distribution, []).append(plugin)
    for distribution, plugins in points.items():
        order.shuffle(plugins)
        folder = root / str(homes[distribution]) / f"{distribution.replace('-', '_')}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "entry_points.txt").write_text("[skillkit.plugins]\n" + "".join(f"{p} = m.{p}\n" for p in plugins))
    path = [str(root / str(i)) for i in range(3)]
    order.shuffle(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discovery.os, "scandir", _Shuffled(order))
        found = scan(path)
    assert names(found) == sorted({(d, p) for d, p, _ in installed})
    shuffled = list(found)
    order.shuffle(shuffled)
    decisions = decide(shuffled, Selection(), tuple(listed), distribution="d")
    expected = sorted(
        ((d, p) for d, p, _ in installed),
        key=lambda t: (listed.index(t[1]) if t[1] in listed else len(listed), t),
    )
    assert [(d.entry.distribution, d.name) for d in decisions] == expected
    for plugin in {p for _, p, _ in installed}:
        offering = sorted(d for d, p, _ in installed if p == plugin)
        winner = f"skillkit-{plugin}" if f"skillkit-{plugin}" in offering else offering[0]
        assert [d.entry.distribution for d in decisions if d.name == plugin and d.duplicate_of is None] == [winner]
