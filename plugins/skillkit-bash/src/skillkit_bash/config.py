"""The configuration section ``bash``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["BashConfig"]


class BashConfig(BaseModel):
    """How commands run.

    Attributes:
        shell: program that reads command strings, called as ``shell -c COMMAND``; default: ``bash``, else ``sh``.
        timeout: seconds that the tool gives a command which asks for no timeout of its own.
        max_timeout: most seconds that a call of the tool may ask for.
        max_output: characters of stdout and of stderr that the tool shows the model.
        max_kept_output: bytes of all files together that hold whole outputs; those written to longest ago are removed first.
        secrets: names of secrets that a model may have put into the environment of one command, without a question. A
            project cannot set it.
        env_allow: names of variables of the host that commands see besides the built-in list.
        path: ``PATH`` of commands; default: the host's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    shell: str | None = None
    timeout: float = Field(default=120.0, gt=0)
    max_timeout: float = Field(default=3600.0, gt=0)
    max_output: int = Field(default=30_000, ge=100)
    max_kept_output: int = Field(default=4 << 30, ge=1 << 20)
    secrets: tuple[str, ...] = ()
    env_allow: tuple[str, ...] = ()
    path: str | None = None
