"""The section ``executor`` as it is registered: its settings, and what ``skillkit doctor`` says where they do not work here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_core import UsageError

from .config import ExecutorConfig

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["ExecutorSection"]


class ExecutorSection(ExecutorConfig):
    """How the process that runs tools is started."""

    @staticmethod
    def doctor(host: Host) -> None:
        """Open the sandboxes that the section names.

        Raises:
            SkillKitError: a sandbox does not hold here, or there is no process that it could hold.
        """
        if host.config.raw("executor") is None:
            return
        from .sandboxed import Sandboxed, users

        transport = host.config.get("tools.executor")
        sandboxed = Sandboxed(host, transport or "local")
        for key in ("sandbox", "escalate"):
            if (name := users(host, key)) is None:
                continue
            if transport is None:
                raise UsageError(
                    f"it names the policy {name!r}, and no tool runs in a process of its own that it could hold",
                    where=sandboxed.where(key),
                    hint="set tools.executor: stdio",
                )
            if (maker := sandboxed.maker()) is None:
                raise sandboxed.missing(name, key)
            sandboxed.policy(maker, name, key)
        sandboxed.now()
