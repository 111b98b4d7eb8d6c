"""The settings of the section ``executor``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ExecutorConfig"]


class ExecutorConfig(BaseModel):
    """How the process that runs tools is started."""

    model_config = ConfigDict(extra="forbid")

    env: list[str] = Field(
        [], description="Further environment variables that the process gets. A project's file adds none."
    )
    sandbox: str | None = Field(
        None, description="Name of the sandbox policy that holds the process. A project's file does not change it."
    )
    escalate: str | None = Field(
        None,
        description="Name of the sandbox policy that a person may grant to one call. A project's file does not change it.",
    )
    plugins: list[str] = Field([], description="Further plugins that the process loads.")
    start_timeout: float = Field(20.0, gt=0, description="Seconds until the process must be ready.")
    restarts: int = Field(5, ge=0, description="How often the process is started again within a minute.")
