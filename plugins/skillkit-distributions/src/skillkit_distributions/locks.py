"""``skillkit plugins lock``, ``verify`` and ``export``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skillkit_core.cli.output import echo, json_option, print_json, short_path, style, table, warning
from skillkit_core.errors import ConfigError, SkillKitError, UsageError
from skillkit_core.host.lock import LOCK, Difference, differences, installed, place_of_lock, read_lock

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["export", "lock", "verify"]

F = TypeVar("F", bound=Callable[..., Any])


def _which(function: F) -> F:
    return click.argument("distribution", required=False)(function)


def _host(ctx: click.Context, wanted: str | None) -> Host:
    """Return a host of the distribution that was named, else that of the command line."""
    if wanted is None and ctx.obj is not None:
        host: Host = ctx.obj.host
    else:
        host = _new_host(ctx, wanted)
        if (found := host.distribution) is not None and host.environ != (own := _own_environment(host)):
            host = _new_host(ctx, found.name, own)
    if host.distribution is None:
        raise UsageError("no distribution runs, and only a distribution has a lock", hint="name one")
    return host


def _new_host(ctx: click.Context, wanted: str | None, environ: Mapping[str, str] | None = None) -> Host:
    from skillkit_core import Host

    host = Host(wanted, environ=environ)
    host.tell = warning
    ctx.call_on_close(host.close)
    return host


def _own_environment(host: Host) -> Mapping[str, str]:
    """Return the variables by which the distribution's own command finds its folders, where such a command is installed."""
    from importlib.metadata import entry_points

    from skillkit_core.program import program

    found = host.distribution
    assert found is not None
    own = f"skillkit_core.cli.bound:{found.name.replace('-', '_')}"
    bound = program().distribution == found.name  # its command has done so for the whole process
    if (
        bound
        or not _is_installed(host, found.path)
        or all(e.value != own for e in entry_points(group="console_scripts"))
    ):
        return host.environ
    return found.own_environment(host.environ)


def _path(host: Host) -> Path:
    assert host.distribution is not None
    return Path(place_of_lock(host.distribution, str(host.config_dir)))


@click.command()
@_which
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file.")
@json_option
@click.pass_context
def lock(ctx: click.Context, distribution: str | None, output: Path | None, as_json: bool) -> None:
    """Write what is installed into the lock of a distribution.

    The lock has the versions of all packages that the distribution needs, digests of their files, and of each plugin its hooks
    and what it declares to need. DISTRIBUTION is a name or a file, else the one that runs. The lock goes beside a file, else
    into the configuration folder. A distribution that brings its lock keeps it: 'skillkit dist build' writes that one.
    """
    from .closure import packages_of
    from .locking import make_lock, write_lock

    host = _host(ctx, distribution)
    found = host.distribution
    assert found is not None
    beside = Path(found.path).with_name(LOCK)
    by_file = (distribution or "").endswith((".yaml", ".yml")) or not _is_installed(host, found.path)
    if output is None and beside.exists() and not by_file:
        raise UsageError(
            f"distribution {found.name!r} brings its lock", where=str(beside), hint="write another one with -o FILE"
        )
    path = output or (beside if by_file else host.config_dir / LOCK)
    host.plan.pass_lock()
    made = make_lock(host, packages_of(host))
    write_lock(path, made)
    loose = sorted(name for name, one in made["packages"].items() if one.get("unpinned"))
    if as_json:
        print_json({"lock": str(path), "unpinned": loose, **made})
        return
    count = f"{len(made['plugins'])} plugins of {len(made['packages'])} packages"
    echo(f"{style('✓', fg='green')} {count} in {short_path(str(path))}")
    if loose:
        shown = ", ".join(loose[:3]) + (f" and {len(loose) - 3} more" if len(loose) > 3 else "")
        warning(f"installed editable or without a RECORD, so that their files are not pinned: {shown}")


def _is_installed(host: Host, path: str) -> bool:
    from skillkit_core.host.discovery import DISTRIBUTIONS, find_beside

    entries = (e for e in host.entries if e.group == DISTRIBUTIONS)
    return any(find_beside(entry, "distribution.yaml") == path for entry in entries)


@click.command()
@_which
@click.option(
    "--deep", is_flag=True, help="Compare the files of all packages, bytecode, hooks and what plugins declare."
)
@click.option("--lock", "file", type=click.Path(exists=True, dir_okay=False), help="Compare with this lock.")
@json_option
@click.pass_context
def verify(ctx: click.Context, distribution: str | None, deep: bool, file: str | None, as_json: bool) -> None:
    """Compare what is installed with the lock of a distribution.

    Versions, added and missing plugins, and the files of the packages that build on SkillKit are compared, as at the start of a
    distribution that requires its lock. DISTRIBUTION is a name or a file, else the one that runs. Exit code 1: something differs.
    """
    host = _host(ctx, distribution)
    assert host.distribution is not None
    path = file or str(_path(host))
    known = read_lock(path, host.distribution.name)
    plugins = [d.entry for d in host.decisions if d.enabled]
    found = list(differences(known, plugins, deep=deep))
    if deep:
        found += _bytecode(known)
        found += _declared(host, known) if not any(one.kind in ("file", "package") for one in found) else []
    if as_json:
        print_json({
            "distribution": host.distribution.name, "lock": path, "deep": deep, "ok": not found,
            "differences": [one._asdict() for one in found],
        })  # fmt: skip
    else:
        table(["what", "package", "difference"], found, styles=lambda i, cell: {"bold": True} if i == 1 else {})
        count = f"{len(found)} difference{'s' if len(found) != 1 else ''} from"
        mark = style("✗", fg="red") if found else style("✓", fg="green")
        what = f"{count}" if found else f"{len(known['packages'])} packages and {len(plugins)} plugins are as in"
        echo(f"{mark} {what} {short_path(path)}")
    ctx.exit(1 if found else 0)


def _bytecode(lock: Mapping[str, Any]) -> Iterator[Difference]:
    from .bytecode import foreign_bytecode

    here = installed()
    for name in lock["packages"]:
        if (package := here.get(name)) is not None:
            root = Path(package.info).parent
            sources = (root / path for path in package.files if path.endswith(".py"))
            for cached in foreign_bytecode(sources):
                yield Difference("file", name, f"{cached} is not the bytecode of its source")


def _declared(host: Host, lock: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the plugins that have other hooks than were locked, or declare other needs."""
    from .locking import declared

    try:
        now = declared(host)
    except SkillKitError as error:
        yield Difference("plugin", "", str(error))
        return
    for name, plugin in now.items():
        before = lock["plugins"].get(name, {})
        for what, word in (("hooks", "hooks"), ("needs", "declared needs")):
            if plugin[what] != before.get(what):
                yield Difference("plugin", plugin["package"], f"plugin {name!r} has other {word} than were locked")


@click.command()
@_which
@click.option(
    "--format", "form", type=click.Choice(["requirements", "constraints"]), default="requirements", show_default=True,
    help="requirements: to install exactly this; constraints: to keep to it whatever is installed.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file.")
@json_option
@click.pass_context
def export(ctx: click.Context, distribution: str | None, form: str, output: Path | None, as_json: bool) -> None:
    """Write the locked versions as pip and uv read them; without a lock those that are installed.

    DISTRIBUTION is a name or a file, else the one that runs.
    """
    host = _host(ctx, distribution)
    assert host.distribution is not None
    try:
        packages = {
            name: one["version"]
            for name, one in read_lock(str(_path(host)), host.distribution.name)["packages"].items()
        }
    except ConfigError:
        from .closure import packages_of

        if _path(host).exists():  # a lock that cannot be read is not to be passed over
            raise
        here = installed()
        packages = {name: here[name].version for name in packages_of(host)}
    rows = [{"name": name, "version": version, "url": _address(name, version)} for name, version in packages.items()]
    if as_json:
        print_json({"distribution": host.distribution.name, "format": form, "packages": rows})
        return
    lines = [f"# distribution {host.distribution.name}"]
    for row in rows:
        direct = form == "requirements" and row["url"]
        lines.append(f"{row['name']} @ {row['url']}" if direct else f"{row['name']}=={row['version']}")
    if output is not None:
        output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    echo(f"Wrote {short_path(str(output))}" if output is not None else "\n".join(lines))


def _address(name: str, version: str | None) -> str | None:
    """Return the address that a package was installed from, where no index has it; ``None`` for a working copy."""
    from .locking import metadata_of

    package = installed().get(name)
    told = (
        metadata_of(package).read_text("direct_url.json")
        if package is not None and package.version == version
        else None
    )
    data = json.loads(told) if told else {}
    if "vcs_info" in data:
        return f"{data['vcs_info']['vcs']}+{data['url']}@{data['vcs_info']['commit_id']}"
    return data.get("url") if "archive_info" in data else None
