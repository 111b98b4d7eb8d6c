"""The settings of the section ``executor``."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["ExecutorConfig"]


@dataclass(frozen=True, slots=True)
class ExecutorConfig:
    """How the process that runs tools is started."""

    env: list[str] = setting(list, "Further environment variables that the process gets. A project's file adds none.")
    sandbox: str | None = setting(
        None, "Name of the sandbox policy that holds the process. A project's file does not change it."
    )
    escalate: str | None = setting(
        None,
        "Name of the sandbox policy that a person may grant to one call. A project's file does not change it.",
    )
    plugins: list[str] = setting(list, "Further plugins that the process loads.")
    start_timeout: float = setting(20.0, "Seconds until the process must be ready.", gt=0)
    restarts: int = setting(5, "How often the process is started again within a minute.", ge=0)
