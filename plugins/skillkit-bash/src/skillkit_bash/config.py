"""The configuration section ``bash``."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["BashConfig"]


@dataclass(frozen=True, slots=True)
class BashConfig:
    """How commands run."""

    shell: str | None = setting(
        None, "program that reads command strings, called as -c COMMAND; default: bash, else sh"
    )
    timeout: float = setting(120.0, "seconds that the tool gives a command which asks for no timeout of its own", gt=0)
    max_timeout: float = setting(3600.0, "most seconds that a call of the tool may ask for", gt=0)
    max_output: int = setting(30_000, "characters of stdout and of stderr that the tool shows the model", ge=100)
    max_kept_output: int = setting(
        4 << 30,
        "bytes of all files together that hold whole outputs; those written to longest ago go first",
        ge=1 << 20,
    )
    secrets: tuple[str, ...] = setting(
        (), "names of secrets that a model may have put into the environment of one command; a project cannot set it"
    )
    env_allow: tuple[str, ...] = setting((), "variables of the host that commands see besides the built-in list")
    path: str | None = setting(None, "PATH of commands; default: the host's")
