"""The lock of a distribution at start: nothing runs unless what is installed is what was locked."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from skillkit_core.errors import ConfigError
from skillkit_core.host.lock import PLATFORM, Installed, digest

SAYS = "import sys\nsys.stderr.write('imported\\n')\n"


def record(site: Any, info: Path) -> Installed:
    """Write the RECORD of a package, as an installer does, and return the package."""
    module = next(
        line.split(" = ")[1] for line in (info / "entry_points.txt").read_text().splitlines() if " = " in line
    )
    place = site.path / module
    files = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place.with_suffix(".py")]
    rows = []
    for file in [*files, info / "METADATA", info / "entry_points.txt"]:
        if file.name != "skillkit.lock":
            found = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).decode().rstrip("=")
            rows.append(f"{file.relative_to(site.path)},sha256={found},{file.stat().st_size}")
    (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,", "../../bin/acme,sha256=x,3"]) + "\n")
    return Installed("1.0", str(info))


@pytest.fixture
def locked(site: Any) -> Any:
    """A distribution that requires a lock, which fits."""
    site.plugin("a", SAYS)
    site.plugin("b", SAYS)
    file = site.distribution("acme", "plugins: [a, b]\npolicy: {require_lock: true}\n")
    infos = {p.name.partition("-")[0].replace("_", "-"): p for p in site.path.glob("*.dist-info")}
    packages = {
        name: {"version": "1.0", "digest": digest(record(site, info).files), "own": True}
        for name, info in infos.items()
    }
    site.lock = file.parent / "skillkit.lock"
    plugins = {name: {"package": f"acme-{name}"} for name in ("a", "b")}
    head = {"lock_version": 1, "distribution": "acme", "platform": PLATFORM}
    site.write = lambda **more: site.lock.write_text(
        json.dumps({**head, "plugins": plugins, "packages": packages, **more})
    )
    site.write()
    site.packages = packages
    return site


def refused(site: Any) -> str:
    done = site.run("plugins", "doctor")
    assert done.code == 2
    assert "imported" not in done.err, "no plugin was imported"
    assert done.err.startswith(f"Error: {site.lock}: ") and done.err.count("\n") == 1
    return done.err.removeprefix(f"Error: {site.lock}: ")


def test_what_is_as_it_was_locked_runs(locked: Any) -> None:
    done = locked.run("plugins", "doctor")
    assert (done.code, done.err) == (0, "imported\nimported\n")


def test_a_changed_a_removed_and_an_added_file_are_refused_before_any_import(locked: Any) -> None:
    module = locked.path / "acme_a_a.py"
    text = module.read_text()
    module.write_text(f"{text}# edited\n")
    assert refused(locked) == (
        f"{module} was changed; nothing of the distribution runs; "
        "install what was locked; 'skillkit doctor' shows every difference\n"
    )
    added = locked.path / "dist_acme" / "more.py"
    added.write_text("")
    assert refused(locked).startswith(f"{module} was changed, and 1 more; ")
    doctor = locked.run("doctor", "--json")
    (row,) = [row for row in doctor.json["checks"] if row["check"] == "lock"]
    assert (doctor.code, row["ok"]) == (1, False)
    assert f"{module} was changed; {added} was added" in row["message"]
    added.unlink()
    module.unlink()
    assert refused(locked).startswith(f"{module} is gone; ")


def test_who_edits_a_file_and_its_record_is_found_by_the_lock(locked: Any) -> None:
    (locked.path / "acme_a_a.py").write_text("x = 1\n")
    record(locked, locked.path / "acme_a-1.0.dist-info")
    assert refused(locked).startswith("acme-a 1.0 has other files than were locked; ")


def test_an_upgraded_an_added_and_a_missing_plugin_are_refused(locked: Any) -> None:
    info = locked.path / "acme_a-1.0.dist-info"
    info.rename(locked.path / "acme_a-1.1.dist-info")
    assert refused(locked).startswith("acme-a is 1.1, and 1.0 is locked; ")
    (locked.path / "acme_a-1.1.dist-info").rename(info)
    locked.plugin("c", SAYS)
    assert refused(locked).startswith("plugin 'c' of acme-c was not there when the lock was written; ")
    assert locked.run("-P", "no:c", "plugins", "doctor").code == 0, "what does not run does not count"


def test_without_a_lock_that_can_be_read_nothing_runs(locked: Any) -> None:
    for text, message in (
        ("{", "is no lock that can be read: "),
        ("[]", "is no lock that can be read: "),
        ('{"plugins": {"a": 3}}', "is no lock that can be read: "),
    ):
        locked.lock.write_text(text)
        assert refused(locked).startswith(message)
    locked.write(distribution="other")
    assert refused(locked) == "is the lock of other, not of acme\n"
    locked.lock.unlink()
    locked.lock = locked.home / "config" / "skillkit.lock"
    assert refused(locked) == "there is no lock; 'skillkit plugins lock' writes it\n"
    locked.write()
    assert locked.run("plugins", "doctor").code == 0, "in the configuration folder it is found, too"


def test_of_another_platform_only_what_is_the_same_everywhere_is_compared(locked: Any) -> None:
    packages = {**locked.packages, "wheels-for-it": {"version": "2", "digest": "", "own": False}}
    locked.write(packages=packages)
    assert refused(locked).startswith("wheels-for-it 2 is not installed; ")
    locked.write(packages=packages, platform="amiga")
    assert locked.run("plugins", "doctor").code == 0


def test_an_application_is_refused_as_well(locked: Any, make_host: Any) -> None:
    (locked.path / "acme_a_a.py").write_text("x = 1\n")
    with pytest.raises(ConfigError, match="was changed"):
        make_host().load()
    assert "acme_a_a" not in sys.modules
