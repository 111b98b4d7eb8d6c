"""``skillkit doctor``: the checks of the installation, and what to do about each problem."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..descriptors import KINDS
from ..errors import SkillKitError
from ..host.plugins import project_content
from ..host.registry import named
from ..program import as_typed, program
from ..settings.config import odd_variables, section_kind
from .config import section_models
from .output import echo, escaped, json_option, print_json, short_path, style, wrap
from .plugins import note_unresolved, unknown_plugins

if TYPE_CHECKING:
    from ..host.manager import Host


def _checks(host: Host) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    told: dict[str, str] = {}  # what is wrong, and the check that said so

    def check(name: str, work: Callable[[], str]) -> None:
        try:
            ok, message = True, work()
        except SkillKitError as error:
            first = told.setdefault(error.where or error.message, name)
            ok, message = False, str(error) if first == name else f"cannot be checked before {first!r} is in order"
        rows.append({"check": name, "ok": ok, "message": as_typed(message)})

    def configuration() -> str:
        host.check_config()
        for key, registry in (
            ("provider", host.adapters), ("runtime", host.runtimes), ("compactor", host.compactors),
            ("session.store", host.session_stores), ("tools.executor", host.executors),
        ):  # fmt: skip
            named(host.config, key, registry)  # also what only a later run would use
        for unknown in unknown_plugins(host):
            raise unknown
        for _, model in section_models(host, section_kind):
            getattr(model, "doctor", lambda host: None)(host)
        return f"settings that differ from the defaults: {sum(o != 'default' for *_, o in host.config.values())}"

    def loading() -> str:
        host.collect_all()
        # what a run may use without being told; 'plugins doctor' imports the rest, too
        note_unresolved(host, [k for k in KINDS if k not in ("adapters", "commands", "executors", "config")])
        errors = [p for p in host.problems if p.severity == "error"]
        lost = [str(p) for p in host.plan.malformed if p in host.problems]  # 'plugins list' has no row for them
        if errors:
            text = f"{len(errors)} problem{'s' if len(errors) > 1 else ''}"
            raise SkillKitError("; ".join([text, *lost]), hint="see 'skillkit plugins doctor'")
        apart = [f"isolated: {name}" for name in host.config.isolated if name in host.plugins]
        return "; ".join([f"{len(host.plugins)} loaded", *apart, *lost])

    def provider() -> str:
        if any(host.config.get(key) for key in ("provider", "model", "api", "base_url")):
            from ..agent.runner import AgentRunner  # most installations need no agent for this

            return f"a bare run asks {asyncio.run(AgentRunner(host=host).find_target()).provider!r}"
        if (name := host.adapters.default()) is None:
            raise SkillKitError("no provider can be asked", hint=host.adapters.way_out())
        return "; ".join(filter(None, (f"a bare run asks {name!r}", host.adapters.get(name).remark())))

    def skills() -> str:
        found = len(host.skills)
        problems = [p for _, p in host.skill_problems if p.severity == "error"]
        if problems:
            raise SkillKitError(f"{len(problems)} do not load, first: {problems[0].message}", where=problems[0].path)
        return f"{found} skills"

    def folders() -> str:
        try:
            host.data_dir.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=host.data_dir) as probe:
                probe.write(bytes(4096))  # an empty file fits on a full disk
        except OSError as error:
            raise SkillKitError(f"cannot be written: {error.strerror}", where=str(host.data_dir)) from None
        parts = (p for p in project_content(host, str(host.cwd)) if not host.trusts(p) and (host.cwd / p).exists())
        told = [f"{escaped(part)} of this folder does not count, see 'skillkit config trust'" for part in parts]
        return "; ".join([f"data in {short_path(str(host.data_dir))}", *told, *_uncompiled()])

    def environment() -> str:
        if wrong := "; ".join(odd_variables(host.environ, (decision.name for decision in host.decisions))):
            raise SkillKitError(wrong)
        return "no variable is misspelt"

    def distribution() -> str:
        found = host.distribution
        return f"{found.name}, by {short_path(found.path)}" if found is not None else "none, so every plugin runs"

    def lock() -> str:
        from ..host.lock import check_lock

        return f"everything is as {check_lock(host.plan, every=True)} has it"

    own = [title] if (title := program().title) else []
    parts = [*own, f"skillkit-core {__version__}", f"Python {platform.python_version()} on {sys.platform}"]
    check("version", lambda: ", ".join(parts))
    check("distribution", distribution)
    if rows[-1]["ok"] and host.distribution is not None and host.distribution.policy.require_lock:
        check("lock", lock)
    check("environment", environment)
    check("configuration", configuration)
    check("plugins", loading)
    check("provider", provider)
    check("skills", skills)
    check("folders", folders)
    return rows


def _uncompiled() -> list[str]:
    """Return what to do where Python compiles modules anew at every start, because it cannot keep their byte code."""
    specs = [spec for module in [*sys.modules.values()] if (spec := getattr(module, "__spec__", None)) is not None]
    bare = [spec.origin for spec in specs if spec.cached and not Path(spec.cached).exists()]
    folders = sorted({short_path(str(file).partition("skillkit_")[0]) for file in bare if "skillkit_" in str(file)})
    unset = "unset PYTHONDONTWRITEBYTECODE and " if sys.dont_write_bytecode else ""
    way = f"{unset}run '{sys.executable} -m compileall -q {folders[0]}'" if folders else ""
    return [f"{len(bare)} modules have no byte code, so that a start takes twice the time: {way}"] if way else []


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check the installation and say what to do.

    The exit code is 1 if something is wrong.
    """
    host: Host = ctx.obj.host
    rows = _checks(host)
    ok = all(row["ok"] for row in rows)
    if as_json:
        print_json({"ok": ok, "checks": rows, "problems": [p.to_dict() for p in host.problems]})
    else:
        width = max(len(row["check"]) for row in rows)
        for row in rows:
            mark = style("✓", fg="green") if row["ok"] else style("✗", fg="red")
            for i, line in enumerate(wrap(row["message"], width + 4)):
                echo(f"{mark} {row['check'].ljust(width)}  {line}" if i == 0 else " " * (width + 4) + line)
    ctx.exit(0 if ok else 1)
