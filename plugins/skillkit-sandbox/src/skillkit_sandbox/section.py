"""The section ``sandbox`` as it is registered: its settings, and what ``skillkit doctor`` says where they do not work here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from .policy import SandboxPolicy

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SandboxConfig"]


class SandboxConfig(BaseModel):
    """Which policies there are, and what runs inside them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commands: str | None = Field(
        default=None, description="policy that every command of a runtime runs in: bash, skill actions"
    )
    policies: dict[str, SandboxPolicy] = Field(
        default={}, description="policies by name; project and read-only are always there"
    )
    bash: Literal["auto", "off"] = Field(
        default="auto",
        description="auto: the tool bash runs in a sandbox of what rules deny, where one holds them; off: it does not",
    )
    backend: str = Field(default="auto", description="backend that is used; auto: the first that holds the policy")
    accept_degraded: bool = Field(
        default=False,
        description="use a backend that does not hold all of a policy; only your own configuration can say so",
    )

    @field_validator("bash", mode="before")
    @classmethod
    def _yaml_word(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML reads off as false

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
