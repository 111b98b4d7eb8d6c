"""The section ``tui`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["TuiConfig"]


class TuiConfig(BaseModel):
    """How the terminal UI looks, and whether it takes the mouse."""

    model_config = ConfigDict(extra="forbid")

    theme: str = Field(
        "terminal",
        min_length=1,
        description="'terminal' for the terminal's own colours, 'dark', 'light', or the name of a Textual theme.",
    )
    leader_timeout: float = Field(1.0, gt=0, description="Seconds that the leader key waits for the key that follows.")
    mouse: bool = Field(True, description="Whether wheel and clicks are for the UI; off leaves them to the terminal.")
