"""``skillkit config``: every value with its origin, a first file, and trusted folders."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError, PluginError, UnknownName
from ..program import as_typed
from ..settings.config import masked
from ..settings.trust import Trust
from .output import echo, fields, json_option, print_json, short_path, style, table

if TYPE_CHECKING:
    from ..host.manager import Host


@click.group()
def config() -> None:
    """Show, create and trust configuration."""


def _shown(value: Any) -> str:
    if value in (None, "", {}):
        return "-"
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@config.command()
@click.argument("prefix", required=False)
@json_option
@click.pass_obj
def show(state: Any, prefix: str | None, as_json: bool) -> None:
    """Show every setting, its value and its origin.

    PREFIX narrows it to a section or a setting, for example 'bash' or 'limits.turns'.
    """
    host: Host = state.host
    host.check_config()
    every = list(host.config.values())
    wanted = [r for r in every if prefix is None or r[0] == prefix or r[0].startswith(f"{prefix}.")]
    rows = [(key, masked(_plain(value), key), origin) for key, value, origin in wanted]
    if not rows and prefix is not None:
        raise UnknownName("setting", prefix, {one for key, *_ in every for one in (key, key.rpartition(".")[0]) if one})
    if as_json:
        print_json({key: {"value": value, "origin": origin} for key, value, origin in rows})
        return
    table(
        ["setting", "value", "from"],
        [[key, _shown(value), short_path(origin.removesuffix(f": {key}"))] for key, value, origin in rows],
        styles=lambda i, cell: {"bold": True} if i == 0 else {"dim": True} if i == 2 and cell == "default" else {},
    )


def _plain(value: Any) -> Any:
    """Return a setting as JSON data, with secrets masked."""
    from pydantic_core import to_jsonable_python

    if hasattr(value, "get_secret_value"):
        return "***"
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    return to_jsonable_python(value, fallback=str)


@config.command()
@json_option
@click.pass_obj
def path(state: Any, as_json: bool) -> None:
    """Show which files and directories are used."""
    host: Host = state.host
    found = {
        "user": str(host.config_dir / "config.yaml"), "project": str(host.cwd / ".skillkit" / "config.yaml"),
        "project_trusted": host.trusts(), "data": str(host.data_dir), "cache": str(host.cache_dir),
    }  # fmt: skip
    if as_json:
        print_json(found)
        return
    trusted = "yes" if found.pop("project_trusted") else as_typed("no; skillkit config trust")
    fields([*((name, short_path(str(value))) for name, value in found.items()), ("project trusted", trusted)])


@config.command()
@click.option("--project", is_flag=True, help="Create the project's file instead of the user's.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.pass_obj
def init(state: Any, project: bool, force: bool) -> None:
    """Create a file that explains every setting."""
    host: Host = state.host
    target = (host.cwd / ".skillkit" if project else host.config_dir) / "config.yaml"
    if target.exists() and not force:
        raise ConfigError("exists already", where=str(target), hint="edit it, or replace it with --force")
    from ..settings.documents import write_whole

    text = _template(host)
    try:
        write_whole(str(target), text)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(target)) from None
    echo(f"Created {target}")
    if project and host.trusts():
        trusted = Trust(host.data_dir)
        # The user changed the file just now.
        if (parts := trusted.parts(host.cwd)) is not None:
            trusted.add(host.cwd, trusted.look(host.cwd, parts))
    elif project:
        echo(as_typed("It counts once the folder is trusted: skillkit config trust"))


def _template(host: Host) -> str:
    from ..settings.schema import CoreSettings
    from ..settings.sections import model_of

    lines = ["# SkillKit configuration. Remove the '# ' in front of what you want to change.", ""]
    lines += _section_lines(model_of(CoreSettings), 0)
    for name, model in section_models(host):
        if own := _section_lines(model, 1):
            lines += ["", f"# {name}:", *own]
    return "\n".join(lines) + "\n"


def _section_lines(model: Any, depth: int) -> list[str]:
    """Return the settings of a model with their defaults, commented out. Without the marks the lines are YAML."""
    import json

    out: list[str] = []
    pad = "# " + "  " * depth
    for name, info in model.model_fields.items():
        if hasattr(info.annotation, "model_fields"):
            out += [f"{pad}{name}:", *_section_lines(info.annotation, depth + 1)]
            continue
        about = " ".join((info.description or "").split())
        if info.is_required():
            text, about = "", f"required; {about}" if about else "required"
        else:
            default = _plain(info.get_default(call_default_factory=True))
            text = " " + json.dumps(default, default=str, ensure_ascii=False)
        out.append(f"{pad}{name}:{text}" + (f"  # {about}" if about else ""))
    return out


@config.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option("--revoke", is_flag=True, help="Stop trusting the folder.")
@click.option("--list", "show_all", is_flag=True, help="List the trusted folders.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask at a terminal.")
@json_option
@click.pass_obj
def trust(state: Any, folder: Path, revoke: bool, show_all: bool, yes: bool, as_json: bool) -> None:
    """Show what a folder brings, and trust it while that stays as it is.

    Nothing from a project folder (configuration, skills, hooks, plugins) counts before the folder, or one above it, is
    trusted. FOLDER is the current directory unless given.
    """
    trusted = Trust(state.host.data_dir)
    if show_all:
        folders = trusted.folders()
        if as_json:
            print_json(folders)
        else:
            echo("\n".join(folders) or "No folder is trusted.")
        return
    if revoke:
        removed = trusted.remove(folder)
        if as_json:
            print_json({"folder": str(folder.resolve()), "trusted": trusted.is_trusted(folder)})
        else:
            echo(f"{folder.resolve()} is {'no longer' if removed else 'not'} trusted")
        return
    if not folder.is_dir():
        raise ConfigError("is no folder", where=str(folder))
    state.host.tell = lambda line: None  # that the folder is not trusted is what this command is for
    from .trusting import Review

    review = Review(state.host, folder.resolve())
    asks = not yes and not as_json and sys.stdin.isatty()
    refused = review.ask(click.confirm if asks else None, None if as_json else echo)
    real = review.keep(refused)
    if as_json:
        print_json({"folder": real, "trusted": True, **review.data()})
    else:
        echo(f"{style('✓', fg='green')} {real} is trusted" + (f", but for {', '.join(refused)}" if refused else ""))


def section_models(host: Host, kind: Callable[[Any], Any] | None = None) -> list[tuple[str, Any]]:
    """Return name and pydantic model, or ``kind``, of the sections that plugins declared, without those that cannot be loaded."""
    from ..settings.config import section_model

    sections: dict[str, Any] = {}
    for entry in host.registry("config").entries():
        sections.setdefault(entry.name, entry.item)
    found: list[tuple[str, Any]] = []
    for name, section in sections.items():
        with suppress(PluginError):
            found.append((name, (kind or section_model)(section)))
    return found
