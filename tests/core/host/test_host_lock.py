"""The lock of a distribution at start: nothing runs unless what is installed is what was locked."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
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
    said = refused(locked)
    assert said.startswith("there is no lock; '") and said.endswith(" -m skillkit_distributions lock acme' writes it\n")
    assert "/python" in said, "a command that needs no plugin, in this Python"
    locked.write()
    assert locked.run("plugins", "doctor").code == 0, "in the configuration folder it is found, too"


def test_of_another_platform_only_what_is_the_same_everywhere_is_compared(locked: Any) -> None:
    packages = {**locked.packages, "wheels-for-it": {"version": "2", "digest": "", "own": False}}
    locked.write(packages=packages)
    assert refused(locked).startswith("wheels-for-it 2 is not installed; ")
    locked.write(packages=packages, platform="amiga")
    assert locked.run("plugins", "doctor").code == 0


def elsewhere(site: Any, folder: str) -> Any:
    """Make a folder that comes before the site on the path."""
    place = site.path.parent / folder
    place.mkdir()
    return place, {"PYTHONPATH": f"{place}:{site.env()['PYTHONPATH']}"}


@pytest.mark.parametrize("form", ["module", "package", "portion"])
def test_a_module_that_comes_before_a_locked_one_is_refused(locked: Any, form: str) -> None:
    place, env = elsewhere(locked, "first")
    name = "dist_acme" if form == "portion" else "acme_a_a"
    added = place / (f"{name}.py" if form == "module" else name)
    (added.mkdir() if form != "module" else added.write_text(SAYS))
    if form == "package":
        added = added / "__init__.py"
        added.write_text(SAYS)

    done = locked.run("plugins", "doctor", **env)

    assert done.code == 2 and "imported" not in done.err
    shown = added.parent if form == "package" else added
    assert (
        f"{locked.lock}: {shown} comes before {locked.path}/{'dist_acme' if form == 'portion' else 'acme_a_a.py'}"
        in done.err
    )


def test_a_package_that_shadows_a_module_beside_it_is_refused(locked: Any) -> None:
    (locked.path / "acme_a_a").mkdir()
    (locked.path / "acme_a_a" / "__init__.py").write_text(SAYS)
    assert refused(locked).startswith(
        f"{locked.path}/acme_a_a comes before {locked.path}/acme_a_a.py, which is locked; "
    )


def test_a_package_of_the_same_name_earlier_on_the_path_is_refused(locked: Any) -> None:
    place, env = elsewhere(locked, "first")
    locked.plugin("a", SAYS, module="acme_a_other", at=place)
    done = locked.run("plugins", "doctor", **env)
    assert done.code == 2 and "imported" not in done.err and "acme-a" in done.err


@pytest.mark.parametrize("name", ["acme_a-0.egg-info", "Acme_A-1.0.egg-info", "acme_a-0-py3.12.egg"])
def test_older_metadata_beside_the_locked_ones_do_not_count(locked: Any, name: str) -> None:
    folder = locked.path / name / ("EGG-INFO" if name.endswith(".egg") else "")
    folder.mkdir(parents=True)
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: acme-a\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[skillkit.plugins]\na = acme_evil\n")
    (locked.path / "acme_evil.py").write_text("raise SystemExit(7)\n")
    done = locked.run("plugins", "doctor")
    assert (done.code, done.err) == (0, "imported\nimported\n")


def test_an_egg_earlier_on_the_path_that_offers_a_locked_plugin_is_refused(locked: Any) -> None:
    place, env = elsewhere(locked, "first")
    folder = place / "acme_a-1.0.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: acme-a\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[skillkit.plugins]\na = acme_evil\n")
    done = locked.run("plugins", "doctor", **env)
    assert done.code == 2 and f"plugin 'a' is in {place}, where nothing is locked" in done.err


def test_a_stray_pth_and_a_sitecustomize_are_refused_and_that_of_an_installed_package_is_not(locked: Any) -> None:
    stray = locked.path / "stray.pth"
    stray.write_text("import this\n")
    assert refused(locked).startswith(f"{stray} was added; ")
    info = locked.metadata("acme-tools", "1", "")
    (info / "RECORD").write_text("stray.pth,sha256=x,1\n")
    assert locked.run("plugins", "doctor").code == 0
    (locked.path / "_virtualenv.pth").write_text("import _virtualenv\n")
    assert locked.run("plugins", "doctor").code == 0, "every environment of uv has it"
    place, _ = elsewhere(locked, "first")
    (place / "sitecustomize.py").write_text("")
    code = "import sitecustomize; from skillkit_core.cli import entry; entry()"
    path = f"{place}:{locked.env()['PYTHONPATH']}"
    done = subprocess.run([sys.executable, "-S", "-c", code, "plugins", "doctor"], cwd=locked.cwd, text=True,
                          env=locked.env(PYTHONPATH=path), capture_output=True)  # fmt: skip
    assert done.returncode == 2 and f"{place}/sitecustomize.py runs at the start of Python" in done.stderr


def test_who_writes_the_cache_of_documents_does_not_write_the_policy(locked: Any) -> None:
    file = locked.path / "dist_acme" / "distribution.yaml"
    file.write_text(file.read_text().replace("require_lock: true", "may_leave: false, only_listed: true"))
    os.utime(file, (1, 1))
    locked.run("plugins", "list")
    kept = list((locked.home / "cache" / "documents").glob("*.json"))
    assert any("may_leave" in one.read_text() for one in kept), "without a lock it is kept"
    for one in kept:
        one.unlink()
    file.write_text(file.read_text().replace("only_listed", "require_lock: true, only_listed"))
    os.utime(file, (1, 1))
    locked.run("plugins", "list")
    assert not any("may_leave" in one.read_text() for one in (locked.home / "cache" / "documents").glob("*.json"))


def test_doctor_tells_an_error_that_stops_everything_once(locked: Any) -> None:
    (locked.path / "acme_a_a.py").write_text("x = 1\n")
    broken = locked.run("doctor", "--json").json["checks"]
    assert str(broken).count("was changed") == 1
    assert [row["message"] for row in broken if row["check"] == "skills"] == [
        "cannot be checked before 'lock' is in order"
    ]


def test_an_application_is_refused_as_well(locked: Any, make_host: Any) -> None:
    (locked.path / "acme_a_a.py").write_text("x = 1\n")
    with pytest.raises(ConfigError, match="was changed"):
        make_host().load()
    assert "acme_a_a" not in sys.modules
