"""What stands in a lock, read from what is installed.

``python -I locking.py DISTRIBUTION FILE`` writes the lock of a whole environment: it needs nothing but the core in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from typing import Any

from skillkit_core import Host
from skillkit_core.errors import SkillKitError
from skillkit_core.host.discovery import canonical
from skillkit_core.host.lock import PLATFORM, Installed, digest, installed
from skillkit_core.host.manifest import read_manifest

__all__ = ["declared", "make_lock", "metadata_of", "write_lock"]


def metadata_of(package: Installed) -> Distribution:
    """Return the metadata of an installed package."""
    return PathDistribution(Path(package.info))


def is_unpinned(package: Installed) -> bool:
    """Return whether nobody can say which files belong to a package: a working copy changes, or no RECORD has them."""
    told = metadata_of(package).read_text("direct_url.json")
    return not package.files or bool(told and json.loads(told).get("dir_info", {}).get("editable"))


def builds_on_skillkit(name: str, package: Installed) -> bool:
    """Return whether a package is the core, has entry points of SkillKit or requires the core. Such a package is Python alone."""
    data = metadata_of(package)
    if name == "skillkit-core" or any(point.group.startswith("skillkit.") for point in data.entry_points):
        return True
    return any(canonical(line).startswith("skillkit-core") for line in data.requires or ())


def declared(host: Host) -> dict[str, dict[str, Any]]:
    """Return the plugins that run, each with its package, its hooks and what it declares to need.

    Raises:
        SkillKitError: one of them does not load, or the configuration is wrong.
    """
    host.plan.pass_lock()
    host.collect_all()
    host.check_config()
    broken = [problem for problem in host.problems if problem.severity == "error"]
    if broken:
        raise SkillKitError(f"nothing is locked, because not every plugin loads: {broken[0]}")
    found: dict[str, dict[str, Any]] = {}
    for decision in host.decisions:
        if decision.enabled:
            manifest = read_manifest(decision.entry)
            found[decision.name] = {
                "package": decision.entry.distribution,
                "hooks": list(host.plugins[decision.name].hooks),
                "needs": manifest.to_dict()["needs"] if manifest is not None else None,
            }
    return found


def make_lock(host: Host, packages: Iterable[str]) -> dict[str, Any]:
    """Return the lock of the host's distribution.

    Args:
        packages: names of the packages that it pins.

    Raises:
        SkillKitError: no distribution runs, or a plugin does not load.
    """
    if host.distribution is None:
        raise SkillKitError("no distribution runs, and only a distribution has a lock", hint="name one: --distribution")
    plugins, here = declared(host), installed()
    pinned: dict[str, Any] = {}
    for name in sorted(packages):
        package = here[name]
        pinned[name] = {
            "version": package.version,
            "digest": digest(package.files),
            "own": builds_on_skillkit(name, package),
            **({"unpinned": True} if is_unpinned(package) else {}),
        }
    return {
        "lock_version": 1,
        "distribution": host.distribution.name,
        "platform": PLATFORM,
        "plugins": plugins,
        "packages": pinned,
    }


def write_lock(path: Path, lock: Mapping[str, Any]) -> None:
    """Write a lock. The same content is the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")


def main(name: str, file: str) -> int:
    """Write the lock of the distribution ``name`` and of everything that is installed."""
    try:
        here = Path(file).resolve().parent
        host = Host(name, environ={"SKILLKIT_HOME": str(here / "home")}, cwd=here)
        write_lock(Path(file), make_lock(host, installed()))
    except SkillKitError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
