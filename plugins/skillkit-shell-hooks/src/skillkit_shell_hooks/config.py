"""The section ``hooks`` of the configuration: hooks in the shape of Claude Code's settings, and how all hooks run."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from .events import EVENTS

__all__ = ["HooksConfig"]


class _Settings(BaseModel):
    """Hooks by event, and how hooks run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env: list[str] = Field(
        default=[], description="further variables that hooks see; only your own configuration says so"
    )
    sandbox: str | None = Field(
        default=None,
        description="sandbox policy that commands of hooks run in; default: that of sandbox.commands, if any",
    )
    on_failure: Literal["closed", "open"] = Field(
        default="closed", description="closed: what guards and fails denies; only your own configuration opens it"
    )


_EVENTS: dict[str, Any] = {
    name: (list[Any] | None, Field(default=None, description=f"hooks of {name}")) for name in EVENTS
}
HooksConfig: Any = create_model("HooksConfig", __base__=_Settings, __doc__=_Settings.__doc__, **_EVENTS)
