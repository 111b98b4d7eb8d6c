"""Whether a skill can run here, and every reason why not (ELIG-1)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from skillkit_core.skills import EngineType, Requirements, Skill

from .skill_md.reader import OS_ALIASES

if TYPE_CHECKING:
    from skillkit_core import Host

    from .settings import SkillEntry

__all__ = ["Surroundings", "answers", "check", "reasons", "surroundings_of"]

_ENGINES = frozenset(str(e) for e in EngineType)
_VERSION = r"\s*(==|!=|>=|<=|>|<|~=)\s*([0-9][0-9.]*)\s*\Z"
_NEED = r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)\Z"


def _nothing(name: str) -> Any:
    return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a skill may find. The functions answer for one name; ``version_of`` ones give ``None`` for what is missing.

    Attributes:
        platform: as ``sys.platform``.
        has_bin: whether a program is on PATH.
        env: value of a variable.
        config: value at a dotted path of the configuration.
        python: version of an installed Python distribution.
        skill: version of a skill that is there ("0" without one).
        has_tool, has_mcp: whether a tool or MCP server is there; ``None``: nobody knows, so nothing is missing.
        host: version of SkillKit.
        engines: ids of engines.
        engine_packages: packages that bring engines which are not there, by the id of the engine.
        allow_bundled: the only bundled skills to use; empty or ``None``: all.
    """

    platform: str
    has_bin: Callable[[str], bool]
    env: Callable[[str], str | None]
    config: Callable[[str], Any]
    python: Callable[[str], str | None] = _nothing
    skill: Callable[[str], str | None] = _nothing
    has_tool: Callable[[str], bool] | None = None
    has_mcp: Callable[[str], bool] | None = None
    host: str = "0.1.0"
    engines: frozenset[str] = _ENGINES
    engine_packages: Mapping[str, str] = field(default_factory=dict)
    allow_bundled: frozenset[str] | None = None
    disabled: frozenset[str] = field(default_factory=frozenset)


def reasons(
    skill: Skill, here: Surroundings, entry: SkillEntry | None = None, *, kind: str = "extra"
) -> tuple[str, ...]:
    """Every reason why ``skill`` cannot run here, in the order of ELIG-1; empty: it can.

    Args:
        skill: the skill.
        here: what there is.
        entry: what is set for this skill.
        kind: the kind of its source.
    """
    found: list[str] = []
    if (entry is not None and not entry.enabled) or skill.name in here.disabled:
        found.append("disabled")
    if kind == "bundled" and here.allow_bundled and skill.name not in here.allow_bundled:
        found.append("bundled-not-allowed")
    found += check(skill.requires, here, entry, primary_env=skill.primary_env, always=skill.always)
    if package := here.engine_packages.get(skill.engine):
        found.append(f"missing_engine:{skill.engine} (pip install {package})")
    elif skill.engine not in here.engines:
        found.append(f"unknown-engine:{skill.engine}")
    return tuple(found)


def check(
    needs: Requirements,
    here: Surroundings,
    entry: SkillEntry | None = None,
    *,
    primary_env: str | None = None,
    always: bool = False,
) -> list[str]:
    """Which of ``needs`` are not met; ``always`` skips everything but the operating system."""
    found = []
    systems = [OS_ALIASES.get(s.lower(), s.lower()) for s in needs.os]
    if systems and here.platform not in systems:
        found.append(f"os:{'|'.join(systems)}")
    if always:
        return found
    for name in needs.bins:
        if bad := _bad_bin(name):
            found.append(bad)
        elif not here.has_bin(name):
            found.append(f"missing-bin:{name}")
    if needs.any_bins and not any(not _bad_bin(n) and here.has_bin(n) for n in needs.any_bins):
        found.append(f"missing-any-bin:{'|'.join(needs.any_bins)}")
    for name in needs.env:
        own = entry is not None and (_set(entry.env.get(name)) or (name == primary_env and _set(entry.api_key)))
        if not own and not _set(here.env(name)):
            found.append(f"missing-env:{name}")
    found += (f"missing-config:{path}" for path in needs.config if not _set(here.config(path)))
    found += _versioned("python", needs.python, here.python)
    found += _versioned("skill", needs.skills, here.skill)
    if here.has_tool is not None:
        found += (f"missing-tool:{name}" for name in needs.tools if not here.has_tool(name))
    if here.has_mcp is not None:
        found += (f"missing-mcp:{name}" for name in needs.mcp if not here.has_mcp(name))
    if needs.host and not satisfies(here.host, needs.host):
        found.append(f"host:{needs.host}")
    return found


def _set(value: Any) -> bool:
    """Whether a value counts: a blank text, an empty list and false do not."""
    return bool(value.strip() if isinstance(value, str) else value)


def _bad_bin(name: str) -> str | None:
    return (
        f"invalid-bin-name:{name}" if not name or name.startswith("-") or re.search(r"[/\\\s\0]|\.\.", name) else None
    )


def _versioned(what: str, needs: tuple[str, ...], version_of: Callable[[str], str | None]) -> list[str]:
    found = []
    for need in needs:
        match = re.match(_NEED, need)
        version = version_of(match[1]) if match else None
        if match is None or version is None or not satisfies(version, match[2]):
            found.append(f"missing-{what}:{need}")
    return found


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version fits comma-separated comparisons (``>=1.2,<2``); only the numbers of a release count."""
    have = _numbers(version)
    for part in wanted.split(",") if wanted.strip() else ():
        match = re.match(_VERSION, part)
        if match is None:
            return False
        want = _numbers(match[2])
        size = max(len(have), len(want))
        a, b = have + (0,) * (size - len(have)), want + (0,) * (size - len(want))
        ok = {
            "==": a == b,
            "!=": a != b,
            ">=": a >= b,
            "<=": a <= b,
            ">": a > b,
            "<": a < b,
            "~=": a >= b and have[: len(want) - 1] == want[:-1],
        }[match[1]]
        if not ok:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"v?(\d+(?:\.\d+)*)", version.strip())
    return tuple(int(n) for n in match[1].split(".")) if match else (0,)


def look_up(config: Any, path: str) -> Any:
    """The value at a dotted path of nested mappings and lists, ``None`` where the path ends early."""
    for part in path.split("."):
        if isinstance(config, Mapping):
            config = config.get(part)
        elif isinstance(config, list) and part.isdigit() and int(part) < len(config):
            config = config[int(part)]
        else:
            return None
    return config


def _distribution_version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _engine_packages(host: Host) -> Mapping[str, str]:
    """The packages that plugins name for engines; of two for one engine the first counts."""
    found: dict[str, str] = {}
    for named in answers(host, "engine_packages"):
        for engine, package in named.items():
            found.setdefault(engine, package)
    return found


def answers(host: Host, hook: str) -> list[Any]:
    """What plugins answer to a hook that is asked with the host alone; one that fails is reported and says nothing."""
    found = []
    for impl in host.impls(hook):
        try:
            if (answer := impl.function(*(host for _ in impl.argnames))) is not None:
                found.append(answer)
        except Exception as error:  # noqa: BLE001 - code of plugins
            host.note(impl.plugin_name, f"{type(error).__name__}: {error}", stage=hook)
    return found


def surroundings_of(host: Host) -> Surroundings:
    """What this machine, this host and its configuration offer; a program is looked for once."""
    import sys

    from skillkit_core import __version__

    from .settings import settings_of

    settings = settings_of(host)
    path = host.environ.get("PATH", os.defpath)
    added = host.registry("engines").list() if "engines" in host.kinds else ()

    @cache
    def has_bin(name: str) -> bool:
        # shutil.which says the same, and imports eight modules that no listing needs
        folders = [""] if "/" in name else path.split(os.pathsep)
        files = (os.path.join(folder, name) for folder in folders)  # noqa: PTH118
        return any(os.access(file, os.X_OK) and os.path.isfile(file) for file in files)  # noqa: PTH113

    def skill(name: str) -> str | None:
        return host.skills.get(name).version or "0" if host.skills.has(name) else None

    return Surroundings(
        platform=sys.platform,
        has_bin=has_bin,
        env=host.secret,
        config=lambda dotted: look_up(host.config.data, dotted),
        python=_distribution_version,
        skill=skill,
        has_tool=None,
        host=__version__,
        engines=_ENGINES.union(added),
        engine_packages={name: package for name, package in _engine_packages(host).items() if name not in added},
        allow_bundled=frozenset(settings.allow_bundled),
        disabled=frozenset(settings.disabled),
    )
