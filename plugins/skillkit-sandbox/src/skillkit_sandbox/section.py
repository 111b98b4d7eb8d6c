"""The section ``sandbox`` as it is registered: its settings, and what ``skillkit doctor`` says where they do not work here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core.config import setting

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SandboxConfig"]


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """Which policies there are, and what runs inside them."""

    commands: str | None = setting(None, "policy that every command of a runtime runs in: bash, skill actions")
    policies: dict[str, Any] = setting(
        dict,
        "policies by name; project and read-only are always there",
        of="skillkit_sandbox.policy:Policies",
    )
    bash: Literal["auto", "off"] = setting(
        "auto",
        "auto: the tool bash runs in a sandbox of what rules deny, where one holds them; off: it does not",
        of="skillkit_sandbox.policy:AutoOrOff",
    )
    backend: str = setting("auto", "backend that is used; auto: the first that holds the policy")
    accept_degraded: bool = setting(
        False, "use a backend that does not hold all of a policy; only your own configuration can say so"
    )

    @staticmethod
    def doctor(host: Host) -> None:
        """Open the sandbox of commands.

        Raises:
            SandboxError: it does not hold here.
        """
        if host.config.raw("sandbox") is None:
            return
        from .box import Sandboxes

        maker = Sandboxes(host)
        if (commands := maker.commands(host.cwd)) is not None:
            maker.open(commands)
