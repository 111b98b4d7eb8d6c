"""What is kept about bundles: the lock file of each place, and the person's own state, such as what was consented to."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from skillkit_skill_packages import safe_name

from skillkit_core.errors import ConfigError
from skillkit_core.settings.documents import open_regular, write_whole

from .formats.manifest import NAME
from .model import Dialect

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = [
    "LOCK",
    "Known",
    "Lock",
    "LockedBundle",
    "Origin",
    "State",
    "changing",
    "read_lock",
    "read_state",
    "write_lock",
]

LOCK = "skillkit-bundles.lock"
_MOST_BYTES = 8 * 2**20


def _safe(name: str) -> str:
    if not NAME.match(name) or not safe_name(name):
        raise ValueError("is no name of a bundle's folder")
    return name


_Name = Annotated[str, AfterValidator(_safe)]


class Origin(BaseModel):
    """Where a bundle or a marketplace came from.

    Attributes:
        place: address, path, or name of a package; without passwords.
        ref: branch, tag, commit, or version.
        digest: what an archive of an address must have, ``sha256-`` and 64 hexadecimal digits.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["folder", "git", "archive", "url", "npm"]
    place: str
    ref: str | None = None
    subfolder: str = ""
    digest: str | None = None


class LockedBundle(BaseModel):
    """An installed bundle.

    Attributes:
        digest: of all of its files.
        resolved: the commit of a repository, the version of a package.
        entry: its entry in the marketplace that it came from.
        enabled: whether it counts where nobody switched it.
    """

    model_config = ConfigDict(extra="forbid")

    digest: str = Field(pattern=r"^sha256-[0-9a-f]{64}$")
    source: Origin
    dialect: Dialect
    resolved: str = ""
    marketplace: str | None = None
    entry: dict[str, Any] | None = None
    enabled: bool = True


class Lock(BaseModel):
    """The lock file of a place."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    bundles: dict[_Name, LockedBundle] = Field(default_factory=dict)


class Known(BaseModel):
    """A marketplace that was added.

    Attributes:
        file: the path of its file, from the root.
    """

    model_config = ConfigDict(extra="forbid")

    source: Origin
    dialect: Dialect = "claude"
    file: str
    resolved: str = ""


class State(BaseModel):
    """What a person decided: nothing of it lies in a project.

    Attributes:
        consents: digests of hooks that may run, each with what it was.
        enabled: bundles that were switched on or off everywhere.
        projects: the same for one folder.
        options: answers to the questions of bundles.
    """

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    consents: dict[str, str] = Field(default_factory=dict)
    enabled: dict[str, bool] = Field(default_factory=dict)
    projects: dict[str, dict[str, bool]] = Field(default_factory=dict)
    options: dict[str, dict[str, str | bool | float | list[str]]] = Field(default_factory=dict)
    marketplaces: dict[_Name, Known] = Field(default_factory=dict)


_Model = TypeVar("_Model", bound=BaseModel)


def _read(path: Path, model: type[_Model], hint: str) -> _Model:
    try:
        with open_regular(path) as file:
            return model.model_validate_json(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return model()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        text = f"cannot be used: {f'{place}: ' if place else ''}{first['msg']}"
        raise ConfigError(text, where=str(path), hint=hint) from None


def read_lock(path: Path) -> Lock:
    """Read a lock file; none is an empty one.

    Raises:
        ConfigError: it cannot be read, or is damaged.
    """
    return _read(path, Lock, "repair it, or remove it and add the bundles again")


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock file at once, its entries sorted and one value a line, so that versions can be compared."""
    lock.bundles = dict(sorted(lock.bundles.items()))
    write_whole(str(path), json.dumps(lock.model_dump(), indent=2, ensure_ascii=False) + "\n")


def _path(host: Host) -> Path:
    return host.data_dir / "bundles" / "state.json"


def read_state(host: Host) -> State:
    """Return what the person decided.

    Raises:
        ConfigError: the file cannot be read, or is damaged.
    """
    return _read(_path(host), State, "repair it, or remove it: hooks are then asked about again")


@contextmanager
def changing(host: Host) -> Iterator[State]:
    """Give the state to be changed, and write it at the end; other processes wait meanwhile."""
    path = _path(host)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_suffix(".busy"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        state = read_state(host)
        yield state
        before = os.umask(0o077)
        try:
            write_whole(str(path), json.dumps(state.model_dump(), indent=2, ensure_ascii=False) + "\n")
        finally:
            os.umask(before)
    finally:
        os.close(handle)
