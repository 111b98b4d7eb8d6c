"""What plugins bring, found by a process that has just started: ``python -m skillkit_plugin_packages.brings FILE [PACKAGE ...]``.

After an installation this process knows the old packages only. The new one writes JSON into FILE, because a plugin may print what
it likes: the versions of all packages with entry points of SkillKit, and what those that are named bring.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError

if TYPE_CHECKING:
    from skillkit_core import Host

KINDS = ("host", "registration", "resolution", "lifecycle")


def ask(packages: Sequence[str], distribution: str | None = None, cwd: Path | None = None) -> dict[str, Any]:
    """Return what a fresh process of this Python finds.

    Args:
        packages: normalised names.
        distribution: the distribution that runs; none: what configuration says.
        cwd: the workspace.

    Raises:
        SkillKitError: SkillKit does not start any more.
    """
    found: dict[str, Any] = _child("brings", [*packages], distribution, cwd)
    loaded = [
        word for plugin in found["plugins"] if plugin["loaded"] for word in (plugin["name"], plugin["entry_point"])
    ]
    costs: dict[str, Any] = {}
    if loaded:
        with suppress(SkillKitError):
            costs = _child("measure", loaded)
    for plugin in found["plugins"]:
        plugin["cost"] = costs.get(plugin["name"])
    return found


def _child(module: str, words: list[str], distribution: str | None = None, cwd: Path | None = None) -> Any:
    env = dict(os.environ)
    if distribution is not None:
        env["SKILLKIT_DISTRIBUTION"] = distribution
    with tempfile.TemporaryDirectory(prefix="skillkit-") as folder:
        file = Path(folder, "found.json")
        argv = [sys.executable, "-P", "-m", f"{__package__}.{module}", str(file), *words]
        done = subprocess.run(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        if not file.is_file():
            said = (done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1]
            raise SkillKitError(f"SkillKit does not start in this environment: {said}")
        return json.loads(file.read_text())


def look(packages: Sequence[str]) -> dict[str, Any]:
    """Return the versions of all packages, and what ``packages`` bring."""
    from skillkit_core import Host
    from skillkit_core.host.discovery import scan

    entries = scan()
    found: dict[str, Any] = {
        "versions": {entry.distribution: entry.version for entry in entries},
        "plugins": [],
        "skills": [e.value for e in entries if e.group == "skillkit.skills" and e.distribution in packages],
        "distributions": [
            e.name for e in entries if e.group == "skillkit.distributions" and e.distribution in packages
        ],
    }
    if any(entry.group == "skillkit.plugins" and entry.distribution in packages for entry in entries):
        host = Host()
        try:
            host.collect_all()
            found["plugins"] = [_plugin(host, d) for d in host.decisions if d.entry.distribution in packages]
        finally:
            host.close()
    return found


def _plugin(host: Host, decision: Any) -> dict[str, Any]:
    name, entry, loaded = decision.name, decision.entry, host.plugins.get(decision.name)
    registries = ((kind, host.registry(kind)) for kind in host.kinds)
    items = {kind: [known.name_of(e) for e in known.entries() if e.source == name] for kind, known in registries}
    manifest = host.load().manifests.get(name)
    return {
        "name": name,
        "package": entry.distribution,
        "version": entry.version,
        "entry_point": entry.value,
        "enabled": decision.enabled,
        "reason": decision.reason,
        "loaded": loaded is not None,
        "hooks": _by_kind(loaded.hooks) if loaded is not None else {},
        "items": {kind: names for kind, names in items.items() if names},
        "settings": [key for e in host.registry("config").entries() if e.source == name for key in _settings(e.item)],
        "requires": _requirements(entry.distribution),
        "manifest": manifest.to_dict() if manifest is not None else None,
        "problems": [problem.to_dict() for problem in host.problems if problem.plugin == name],
    }


def _by_kind(hooks: Sequence[str]) -> dict[str, list[str]]:
    """Return hooks by the module of the core that specifies them; those of other plugins as ``of plugins``."""
    from importlib import import_module

    specs = {kind: import_module(f"skillkit_core.hookspecs.{kind}") for kind in KINDS}
    found: dict[str, list[str]] = {}
    for hook in hooks:
        kind = next((kind for kind, module in specs.items() if hasattr(module, hook)), "of plugins")
        found.setdefault(kind, []).append(hook)
    return found


def _settings(section: Any) -> list[str]:
    """Return the keys of a section; the section alone where its model cannot be imported, of which ``problems`` tell."""
    from skillkit_core.descriptors import load_object

    try:
        kind = load_object(section.model)
        fields = getattr(kind, "__dataclass_fields__", None) or kind.model_fields
    except (ImportError, AttributeError, SkillKitError):
        return [section.name]
    return [f"{section.name}.{key}" for key in fields]


def _requirements(package: str) -> list[str]:
    try:
        return [line for line in requires(package) or () if "extra ==" not in line]
    except PackageNotFoundError:
        return []


def main() -> None:
    """Write what is found."""
    file, *packages = sys.argv[1:]
    found = json.dumps(look(packages))  # the file is there when all of it is
    Path(file).write_text(found)


if __name__ == "__main__":
    main()
