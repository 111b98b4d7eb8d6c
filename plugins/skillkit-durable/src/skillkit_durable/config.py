"""The section ``durable`` of the configuration, and the settings that follow from it.

What a project says in this section counts nowhere: a folder must not send jobs, or take them, elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from skillkit_core.errors import ConfigError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["DEFAULT", "DurableConfig", "QueueConfig", "Settings", "settings_of"]

VARIABLE = "SKILLKIT_DURABLE_URL"
DEFAULT = "default"
"""The queue of jobs for which nobody names one."""


class QueueConfig(BaseModel):
    """Limits of a queue; ``None``: no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    everywhere: int | None = Field(
        None, ge=1, alias="global", description="Most jobs that run at once, on all workers."
    )
    worker: int | None = Field(
        None, ge=1, description="Most jobs that one worker runs at once; default: worker_concurrency."
    )
    partition: int | None = Field(
        None, ge=1, description="Most jobs that run at once of one partition, such as a folder."
    )
    rate: int | None = Field(None, ge=1, description="Most jobs that start within 'period'.")
    period: float = Field(60.0, gt=0, description="Seconds that 'rate' is about.")

    @model_validator(mode="after")
    def _fits(self) -> QueueConfig:
        for name in ("worker", "partition"):
            value = getattr(self, name)
            if value is not None and self.everywhere is not None and value > self.everywhere:
                raise ValueError(f"{name} ({value}) is more than global ({self.everywhere})")
        return self


class DurableConfig(BaseModel):
    """Where jobs are kept, and how workers take them. A project's settings of this section do not count."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr | None = Field(
        None,
        description="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE; SKILLKIT_DURABLE_URL, also in the keyring, "
        "comes first; default: durable.sqlite in the data folder.",
    )
    lease: float = Field(30.0, ge=1, description="Seconds after which a worker that does not beat counts as dead.")
    worker_concurrency: int = Field(4, ge=1, description="Most jobs that one worker runs at once.")
    queues: dict[str, QueueConfig] = Field({}, description="Queues beside 'default', and limits of either.")
    retention: float = Field(
        30.0, gt=0, description="Days after which a job that ended is forgotten; its session stays."
    )
    max_recoveries: int = Field(5, ge=0, description="Workers that may die with a job before it fails as poison.")


@dataclass(frozen=True, slots=True)
class Settings:
    """How jobs are kept and taken.

    Attributes:
        url: the database.
        durable: the section, without what a project says.
    """

    url: str
    durable: DurableConfig

    @property
    def queues(self) -> dict[str, QueueConfig]:
        """All queues by name, ``default`` first."""
        return {DEFAULT: QueueConfig.model_validate({}), **self.durable.queues}


def settings_of(host: Host) -> Settings:
    """Return the settings, and let the host keep the URL and the password in it out of every text.

    Raises:
        ConfigError: a setting is wrong.
    """
    host.config.section("durable")  # says what is wrong, and where
    given: dict[str, Any] = {}
    for layer in host.config.layers:
        section = layer.data.get("durable")
        if isinstance(section, Mapping) and layer.name != "project":
            given.update(section)
    section = DurableConfig.model_validate(given)
    url = (host.secret(VARIABLE) or "").strip() or (section.url.get_secret_value().strip() if section.url else "")
    return Settings(_checked(host, url) if url else f"sqlite:///{host.data_dir / 'durable.sqlite'}", section)


def _checked(host: Host, url: str) -> str:
    """Return the URL as it is used.

    Raises:
        ConfigError: it is that of no database which is known here.
    """
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        parts, password = urlsplit(""), None
    if parts.scheme.partition("+")[0] in ("postgresql", "postgres"):
        if password:
            host.remember_secret(unquote(password))
            host.remember_secret(password)
        return url.replace(parts.scheme, "postgresql", 1)
    if parts.scheme == "sqlite" and parts.path.lstrip("/"):
        return url
    hint = "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    raise ConfigError(
        f"is the URL of no database that jobs can be kept in ({parts.scheme or 'no scheme'})",
        where="durable.url",
        hint=hint,
    )
