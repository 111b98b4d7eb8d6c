"""What a plugin says about itself before it is imported: ``plugin.yaml`` in its package, and the core that its metadata want."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os.path import join
from typing import Any, NamedTuple

from .. import API_VERSION, __version__
from ..errors import ConfigError, PluginError
from ..settings.documents import read_document
from .discovery import EntryPoint, canonical, find_beside

NEEDS = ("hooks", "secrets", "network", "subprocess")
ENFORCED = ("hooks", "secrets")  # in one process nobody can hold the others
_REQUIRED = re.compile(r"Requires-Dist:\s*([\w.-]+)\s*(?:\[.*?\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$", re.I)


class Manifest(NamedTuple):
    """What a plugin declares in its ``plugin.yaml``.

    Attributes:
        path: path of the file.
        api: the plugin API that it is written for; empty: it does not say.
        needs: what it needs, by kind (:data:`NEEDS`): hooks and kinds of hooks, names of secrets, hosts, programs. A kind that is
            absent is not limited; an empty one means that it needs none.
    """

    path: str
    api: str = ""
    needs: Mapping[str, tuple[str, ...]] = {}

    def check(self, kind: str, name: str, what: str, also: tuple[str, ...] = ()) -> None:
        """Raise :class:`PluginError` if ``name`` is beyond what is declared of this kind, and so are the names of ``also``."""
        if kind in self.needs and not {name, *also} & {*self.needs[kind]}:
            raise PluginError(f"{what} is beyond what it declares", where=self.path, hint=f"needs.{kind} lacks {name}")

    def check_hook(self, hook: str) -> None:
        """Raise :class:`PluginError` if ``hook`` and its kind are beyond what is declared."""
        from ..hookspecs import host, lifecycle, registration, resolution

        spaces = (space for space in (host, lifecycle, registration, resolution) if hasattr(space, hook))
        self.check("hooks", hook, f"hook {hook!r}", tuple(space.__name__.rpartition(".")[2] for space in spaces))

    def to_dict(self) -> dict[str, Any]:
        """Return what is declared as ``plugins info --json`` shows it."""
        needs = {kind: {"names": [*names], "enforced": kind in ENFORCED} for kind, names in self.needs.items()}
        return {"path": self.path, "api": self.api, "needs": needs}

    def lines(self) -> list[tuple[str, str]]:
        """Return what is declared as ``plugins info`` shows it."""
        said = {kind: "" if kind in ENFORCED else " (declared, not enforced)" for kind in NEEDS}
        return [(f"needs {kind}", (", ".join(names) or "none") + said[kind]) for kind, names in self.needs.items()]


def read_manifest(entry: EntryPoint, cache: str | None = None) -> Manifest | None:
    """Return what the plugin of an entry point declares, ``None`` if nothing, without importing the plugin.

    Raises:
        ConfigError: the file is wrong.
    """
    path = find_beside(entry, "plugin.yaml")
    if path is None or (document := read_document(path, cache)) is None:
        return None
    data, needs = document.data, document.data.get("needs") or {}
    unknown = [*data.keys() - {"skillkit_api", "needs"}]
    if unknown or not isinstance(needs, dict) or (unknown := [f"needs.{key}" for key in needs if key not in NEEDS]):
        key, known = (unknown or ["needs"])[0], f"known: skillkit_api, needs with {', '.join(NEEDS)}"
        raise ConfigError("is not what a plugin declares", where=document.where(str(key)), hint=known)
    for key, names in needs.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ConfigError("must be a list of names", where=document.where(f"needs.{key}"))
    return Manifest(path, str(data.get("skillkit_api", "")), {key: tuple(names) for key, names in needs.items()})


def check_made_for(entry: EntryPoint, manifest: Manifest | None, here: Mapping[str, tuple[str, str]]) -> None:
    """Check that a plugin is made for what is installed, by the API that it declares and by what its package requires.

    Args:
        here: version and metadata of the installed packages, by name. What is not there the import of the plugin tells.

    Raises:
        PluginError: it is not.
    """
    check_number((manifest and manifest.api) or API_VERSION, entry.distribution)
    for name, wanted in _required(entry):
        core = name == "skillkit-core"
        found = __version__ if core else here.get(name, ("", ""))[0]
        if found and (newer := _beyond(found, wanted)) is not None:
            what = f"{name} {wanted}, this is {found}"
            if core:
                raise _other_core(newer, what, entry.distribution)
            raise PluginError(f"it is made for {what}", hint=f"upgrade {name if newer else entry.distribution}")


def _beyond(version: str, wanted: str) -> bool | None:
    """Return whether a newer version is wanted, or an older one; ``None`` if ``version`` fits, or only an installer can tell."""
    from .distribution import in_range

    plain = re.sub(r"(~=|==)([\d.]*?)(\d+)(\.\d+|\.\*)(?=,|$)", _family, wanted)
    lower = ",".join(bound for bound in plain.split(",") if bound[:1] not in "<!")
    try:
        return None if in_range(version, plain) else not in_range(version, lower)
    except ValueError:
        return None


def _family(match: re.Match[str]) -> str:
    """Return the bounds that ``~=1.2.3`` and ``==1.2.*`` stand for."""
    sign, head, number, last = match.groups()
    exact = sign == "==" and last != ".*"
    return match[0] if exact else f">={head}{number}{last.removesuffix('.*')},<{head}{int(number) + 1}"


def _required(entry: EntryPoint) -> list[tuple[str, str]]:
    """Return name and range of what the package of a plugin requires without its extras."""
    folder = f"{entry.distribution.replace('-', '_')}-{entry.version}.dist-info"
    try:
        with open(join(entry.location, folder, "METADATA"), encoding="utf-8", errors="replace") as file:
            head = file.read().partition("\n\n")[0]
    except OSError:
        return []
    found = filter(None, map(_REQUIRED.match, head.splitlines()))
    return [(canonical(match[1]), re.sub(r"\s", "", match[2])) for match in found if "extra" not in (match[3] or "")]


def check_number(wanted: Any, owner: str) -> None:
    """Check the plugin API that a plugin is written for: this one and the one before are served.

    Raises:
        PluginError: the plugin is written for another API.
    """
    if not str(wanted).isdecimal():
        raise PluginError(f"skillkit_api must be a number, not {wanted!r}", hint=f"upgrade {owner}")
    if not API_VERSION - 1 <= int(wanted) <= API_VERSION:
        raise _other_core(int(wanted) > API_VERSION, f"plugin API {wanted}, this is {API_VERSION}", owner)


def _other_core(newer: bool, what: str, owner: str) -> PluginError:
    age, package = ("a newer", "skillkit-core") if newer else ("an older", owner)
    return PluginError(f"it is made for {age} core ({what})", hint=f"upgrade {package}")
