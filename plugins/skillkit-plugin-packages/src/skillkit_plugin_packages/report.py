"""What an installation brought, for people."""

from __future__ import annotations

from typing import Any

from skillkit_core.cli.output import echo, fields, style, warning
from skillkit_core.program import as_typed


def show_brought(found: dict[str, Any]) -> None:
    """Print what the packages bring, plugin by plugin."""
    for package in found["packages"]:
        echo(f"{style('✓', fg='green')} {style(package['name'], bold=True)} {package['version']} is installed")
    if found["with"]:
        echo(f"  with {', '.join(found['with'])}")
    for plugin in found["plugins"]:
        echo()
        _show(plugin)
        for problem in plugin["problems"]:
            remedy = f" ({problem['remedy']})" if problem.get("remedy") else ""
            warning(f"{plugin['name']}: {problem['message']}{remedy}")
    for module in found["skills"]:
        echo(as_typed(f"Skills of {module}: 'skillkit skills list' shows them"))
    for name in found["distributions"]:
        echo(as_typed(f"A distribution: skillkit --distribution {name}"))


def _show(plugin: dict[str, Any]) -> None:
    state = "runs" if plugin["loaded"] else "does not load" if plugin["enabled"] else "does not run"
    cost, hooks = plugin["cost"], plugin["hooks"].items()
    needs = (plugin["manifest"] or {}).get("needs", {})
    fields(
        [
            ("plugin", style(plugin["name"], bold=True)),
            ("state", f"{state} ({plugin['reason']})"),
            *(
                (f"{kind} hooks".replace("of plugins hooks", "hooks of plugins"), ", ".join(names))
                for kind, names in hooks
            ),
            *(
                (kind.replace("_", " "), ", ".join(names))
                for kind, names in plugin["items"].items()
                if kind != "config"
            ),
            ("settings", ", ".join(plugin["settings"])),
            ("requires", ", ".join(plugin["requires"])),
            *((f"needs {kind}", _needed(about)) for kind, about in needs.items()),
            ("start-up", f"{cost['milliseconds']} ms and {cost['modules']} modules in every command" if cost else ""),
        ]
    )


def _needed(about: dict[str, Any]) -> str:
    return (", ".join(about["names"]) or "none") + ("" if about["enforced"] else " (declared, not enforced)")
