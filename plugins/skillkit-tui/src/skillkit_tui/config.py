"""The section ``tui`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["TuiConfig"]


@dataclass(frozen=True, slots=True)
class TuiConfig:
    """How the terminal UI looks, and whether it takes the mouse."""

    theme: str = setting(
        "terminal", "terminal for the terminal's own colours, dark, light, or the name of a Textual theme", min_length=1
    )
    leader_timeout: float = setting(1.0, "seconds that the leader key waits for the key that follows", gt=0)
    mouse: bool = setting(True, "wheel and clicks are for the UI; off leaves them to the terminal")
