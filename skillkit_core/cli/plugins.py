"""``skillkit plugins``: the installed plugins, their items, and their problems."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ..errors import SkillKitError, UnknownName, close_matches
from ..host.discovery import LISTINGS, SKILLS
from ..host.manifest import read_manifest
from ..host.plan import unknown_plugin
from ..program import as_typed
from .output import echo, fields, json_option, print_json, short_path, style, table, warning

if TYPE_CHECKING:
    from ..host.manager import Host
    from ..host.plan import Decision


@click.group()
def plugins() -> None:
    """List, inspect and check plugins."""


def _row(host: Host, decision: Decision) -> dict[str, Any]:
    entry = decision.entry
    return {
        "name": decision.name, "distribution": entry.distribution, "version": entry.version, "enabled": decision.enabled,
        "reason": decision.reason, "duplicate": decision.duplicate_of is not None,
        "isolated": decision.name in host.config.isolated,
    }  # fmt: skip


@plugins.command("list")
@json_option
@click.pass_obj
def list_(state: Any, as_json: bool) -> None:
    """List installed plugins in the order they run.

    None is loaded for it: 'skillkit plugins doctor' tells whether they load. What one lists beside itself follows.
    """
    host: Host = state.host
    rows, packages = [_row(host, d) for d in host.decisions], host.plan.entries_of(SKILLS)
    if as_json:
        name = host.distribution.name if host.distribution else None
        problems = [p.to_dict() for p in host.plan.malformed]
        found = {**_listed(host), "plugins": rows, "skills": [e._asdict() for e in packages], "problems": problems}
        print_json({"distribution": name, "checked": False, **found})
        return
    if not rows:
        echo("No plugins are installed.")
    states = {(True, False): "enabled", (True, True): "isolated"}
    table(
        ["plugin", "version", "state", "distribution", "why"],
        [
            [r["name"], r["version"], states.get((r["enabled"], r["isolated"]), "disabled"), r["distribution"], r["reason"]]
            for r in rows
        ],
        styles=lambda i, cell: {"bold": True} if i == 0 else {"fg": "green" if cell[0] != "d" else "yellow"} if i == 2 else {},
    )  # fmt: skip
    if packages:
        echo()
        table(["package of skills", "version", "distribution"], [[e.name, e.version, e.distribution] for e in packages])
    for listed in filter(None, _listed(host).values()):
        echo()
        table(list(listed[0]), [list(row.values()) for row in listed])
    for problem in host.plan.malformed:
        warning(str(problem))


def _listed(host: Host) -> dict[str, list[dict[str, str]]]:
    """Return what plugins that run list beside themselves, by plugin; see the group ``skillkit.listings``."""
    from ..descriptors import load_object

    on = {(d.name, d.entry.distribution) for d in host.decisions if d.enabled}
    return {
        e.name: load_object(e.value)(host) for e in host.plan.entries_of(LISTINGS) if (e.name, e.distribution) in on
    }


@plugins.command()
@click.argument("name")
@json_option
@click.pass_obj
def info(state: Any, name: str, as_json: bool) -> None:
    """Show what one plugin, or one package of skills, is and brings.

    NAME is the plugin's name, as 'skillkit plugins list' shows it.
    """
    host: Host = state.host
    decisions = [d for d in host.decisions if d.name == name]
    if not decisions:
        packages = host.plan.entries_of(SKILLS)
        entry = next((e for e in packages if name in (e.name, e.distribution)), None)
        if entry is None:
            raise UnknownName("plugin", name, [*(d.name for d in host.decisions), *(e.name for e in packages)])
        skills = [skill.name for skill in host.skills.items() if skill.source == entry.name]
        package = ("distribution", f"{entry.distribution} {entry.version}")
        shown = [("package of skills", entry.name), package, ("module", entry.value), ("skills", ", ".join(skills))]
        print_json(entry._asdict() | {"skills": skills}) if as_json else fields(shown)
        return
    host.collect_all()
    decision, manifest = decisions[0], None
    loaded = host.plugins.get(name)
    problems = [p for p in host.problems if p.plugin == name]
    items = {
        kind: [known.name_of(e) for e in known.entries() if e.source == name]
        for kind, known in ((kind, host.registry(kind)) for kind in host.kinds)
    }
    with suppress(SkillKitError):  # it is among the problems
        manifest = read_manifest(decision.entry, host.plan.paths.cache)
    data = _row(host, decision) | {
        "entry_point": decision.entry.value, "location": decision.entry.location,
        "manifest": manifest.to_dict() if manifest is not None else None, "loaded": loaded is not None,
        "hooks": list(loaded.hooks) if loaded is not None else [],
        "items": {kind: names for kind, names in items.items() if names}, "problems": [p.to_dict() for p in problems],
        "shadowed": [_row(host, d) for d in decisions[1:]],
    }  # fmt: skip
    if as_json:
        print_json(data)
        return
    status = "loaded" if loaded is not None else "failed" if decision.enabled else "disabled"
    fields(
        [
            ("plugin", style(name, bold=True)),
            ("state", f"{status} ({decision.reason})"),
            ("distribution", f"{data['distribution']} {data['version']}"),
            ("module", data["entry_point"]),
            ("location", short_path(data["location"])),
            ("process", f"its own ({where})" if (where := host.config.isolated.get(name)) else ""),
            *(manifest.lines() if manifest is not None else ()),
            ("hooks", ", ".join(data["hooks"])),
            *((kind.replace("_", " "), ", ".join(names)) for kind, names in data["items"].items()),
            ("problems", [str(p) for p in problems]),
        ]
    )


@plugins.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Load every plugin and what it names, and report what is wrong.

    Disabled plugins are left alone. The exit code is 1 if anything is wrong. With 'skillkit --debug' tracebacks follow.
    """
    host: Host = ctx.obj.host
    host.collect_all()
    for unknown in unknown_plugins(host):
        host.note(unknown.name, str(unknown), stage="config")
    _note_unknown_tools(host)
    note_unresolved(host, host.kinds)
    _note_deprecated(host)
    errors = [p for p in host.problems if p.severity == "error"]
    if as_json:
        disabled = [d.name for d in host.decisions if not d.enabled]
        problems = [p.to_dict() for p in host.problems]
        apart = [name for name in host.plugins if name in host.config.isolated]
        loaded = {"loaded": list(host.plugins), "isolated": apart, "disabled": disabled}
        print_json({"ok": not errors, **loaded, "problems": problems})
    else:
        report(host, tracebacks=ctx.obj.debug)
    ctx.exit(1 if errors else 0)


def unknown_plugins(host: Host) -> Iterator[UnknownName]:
    """Yield an error for each plugin that the settings name and nobody installed; a section's name is not its plugin's."""
    known = {*host.plugins, *(decision.name for decision in host.decisions)}
    sections = {entry.name: entry.source for entry in host.registry("config").entries()}
    keys = ("plugins.enabled", "plugins.disabled", "plugins.required")
    named = [(str(host.config.origin(key, name)), name) for key in keys for name in host.config.get(key) or ()]
    found = host.distribution  # of what it lists others are told where it is read
    named += [(found.path, name) for name in found.plugins if name in sections] if found is not None else []
    for origin, name in named:
        if name not in known:
            owner = sections.get(name)
            hint = f"{name!r} is a section of the plugin {owner!r}: write {owner}" if owner else None
            yield unknown_plugin(name, known, origin, hint)


def note_unresolved(host: Host, kinds: Iterable[str]) -> None:
    """Report the import strings of items of these kinds that lead nowhere, for what uses them would fail."""
    from ..descriptors import load_object
    from ..host.loading import Failure, isolated  # like pluggy, which a list of plugins does without
    from ..host.manager import IMPORT_SECONDS

    limit = max(host.plan.seconds("plugins.import_timeout", IMPORT_SECONDS), IMPORT_SECONDS)  # SDKs are slow at first
    named = [(e, k, t) for k in kinds for e in host.registry(k).entries() for t in _import_strings(e.item)]
    for (name, _, source), kind, target in named:
        try:
            with isolated(source or "", f"register_{kind}", **host.load().owner(source or ""), seconds=limit):
                load_object(target)
        except Failure as failure:
            words = f"{name!r} names {target!r}: {failure.diagnostic.message}"
            host.report(failure.diagnostic._replace(message=words))


def _import_strings(item: Any) -> Iterator[str]:
    """Yield the texts of a descriptor's fields whose type says that they may name code."""
    for name, kind in getattr(type(item), "__annotations__", {}).items():
        if name == "target" or any(word in str(kind) for word in ("Callable", "type[", "ToolFunction")):
            value = getattr(item, name, None)
            yield from (t for t in (value.values() if isinstance(value, Mapping) else [value]) if isinstance(t, str))


def _note_unknown_tools(host: Host) -> None:
    """Note handlers of tools that no plugin registers. Those of servers, of actions (``A__B``) and of sets come with an agent."""
    from ..hookspecs.markers import EXTRAS
    from ..tools import ToolSet

    known = {entry.name for entry in host.tools.entries()}
    with_sets = {entry.source for entry in host.tools.entries() if isinstance(entry.item, ToolSet)}
    for hook in sorted({hook for plugin in host.plugins.values() for hook in plugin.hooks}):
        for impl in host.impls(hook):
            tools = (getattr(impl.function, EXTRAS, None) or {}).get("tools") or ()
            for name in (tools,) if isinstance(tools, str) else tools:
                close = close_matches(name, known, 1, 0.6)
                own = not close and impl.plugin_name in with_sets
                if name not in known and "__" not in name and not own:
                    hint = f"did you mean {close[0]!r}?" if close else "ignore this if the tool comes with an agent"
                    host.note(impl.plugin_name, f"no plugin registers the tool {name!r}", stage=hook, remedy=hint)


def _note_deprecated(host: Host) -> None:
    """Note the deprecated functions and classes that the modules of plugins hold, as far as they are imported."""
    from ..hookspecs.markers import DEPRECATED

    for plugin in host.plugins.values():
        root = str(getattr(plugin.plugin, "__name__", type(plugin.plugin).__module__)).partition(".")[0]
        told: dict[str, str] = {}
        modules = sorted(name for name in sys.modules if name.partition(".")[0] == root)
        for name, value in [(m, held) for m in modules for held in [*vars(sys.modules[m]).values()]]:
            if str(getattr(value, "__module__", root)).partition(".")[0] != root:
                marks = getattr(value, "__dict__", {}).get(DEPRECATED, ())
                told = {words: f"{name} uses {words}" for argument, words in marks if not argument} | told
        for words in told.values():
            host.note(plugin.name, words, stage="import")


def report(host: Host, tracebacks: bool) -> None:
    """Print the problems of a host, or that there are none."""
    for problem in host.problems:
        mark = style("✗", fg="red") if problem.severity == "error" else style("!", fg="yellow")
        owner = f" ({problem.distribution} {problem.version})" if problem.distribution else ""
        echo(f"{mark} {style(problem.plugin, bold=True)}{owner}, {problem.stage}: {problem.message}")
        if problem.remedy:
            echo(f"  {style(as_typed(problem.remedy), dim=True)}")
        if tracebacks and problem.traceback:
            echo(style(problem.traceback, dim=True))
    count = len(host.plugins)
    broken = len({p.plugin for p in host.problems if p.severity == "error"})
    apart = sum(name in host.plugins for name in host.config.isolated)
    text = f"{count} plugin{'s' if count != 1 else ''} loaded{f' ({apart} isolated)' if apart else ''}"
    echo(f"{text}, {broken} with errors" if broken else f"{style('✓', fg='green')} {text}, no errors")
