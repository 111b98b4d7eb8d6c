"""Where the hooks of a host run: its settings, the sandbox that one names, and who judges ``if``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UsageError

from .naming import names_of
from .sources import setting
from .surroundings import Judge, Surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillkit_core import AgentRunner, Host

__all__ = ["judge_of", "mode_of", "surroundings"]

_MODES = {"ask": "default", "accept-edits": "acceptEdits", "read-only": "plan", "bypass": "bypassPermissions"}


def surroundings(host: Host, cwd: Path, **more: Any) -> Surroundings:
    """Return where hooks run for a folder; ``more``: further attributes."""
    return Surroundings(
        cwd,
        cwd,
        host.environ,
        names=tuple(setting(host, "env", ())),
        box=_box(host, cwd),
        closed=setting(host, "on_failure", "closed") != "open",
        names_of=names_of,
        **more,
    )


def _box(host: Host, cwd: Path) -> Callable[[], Any] | None:
    """Return what opens the sandbox of commands: that of ``hooks.sandbox``, else that of ``sandbox.commands``."""
    named = setting(host, "sandbox", None)
    if named is None and (host.config.raw("sandbox.commands") is None or "sandboxes" not in host.kinds):
        return None
    return partial(_opened, host, cwd, named)


def _opened(host: Host, cwd: Path, named: str | None) -> Any:
    if "sandboxes" not in host.kinds:
        raise UsageError(
            f"hooks.sandbox names {named!r}, and nothing brings sandboxes", hint="pip install skillkit-sandbox"
        )
    kept: dict[Any, Any] = host.state("shell-hooks")
    key = (named, str(cwd), host.config)
    if kept.get("box", (None,))[0] != key:
        maker = host.registry("sandboxes").get("sandbox")
        kept["box"] = key, maker.open(named or maker.commands(cwd), cwd)
    return kept["box"][1]


def judge_of(host: Host, tool: str, args: Mapping[str, Any], annotations: Mapping[str, Any], cwd: Path) -> Judge | None:
    """Return what judges ``if`` for a call; ``None``: no plugin knows rules of permissions."""
    if "rule_checks" not in host.kinds:
        return None
    check = host.registry("rule_checks").get("permissions")
    return lambda rule, payload: bool(check(rule, tool, args, annotations, cwd))


def mode_of(host: Host, agent: AgentRunner | None = None) -> str:
    """Return the mode of permissions that is in force, in the words of other hosts; without the plugin it is ``default``.

    Args:
        agent: whose mode; ``None``: the configured one.
    """
    if "permission_modes" not in host.kinds:
        return "default"
    return _MODES[host.registry("permission_modes").get("permissions")(agent)]
