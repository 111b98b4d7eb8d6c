"""The system's keyring: which backend counts as one, and how its failures are said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from skillkit_core.errors import SkillKitError

__all__ = ["KeyringFailed", "NoKeyring", "Vault", "open_vault"]

T = TypeVar("T")


class NoKeyring(SkillKitError):
    """There is no keyring on this machine that keeps secrets safely."""


class KeyringFailed(SkillKitError):
    """The keyring is there, and does not do what it is asked for: it is locked, or its service does not answer."""


class Vault:
    """One backend of the ``keyring`` library.

    Attributes:
        name: its class with the module, as ``PYTHON_KEYRING_BACKEND`` names it.
        service: the service under which it keeps our secrets.
    """

    def __init__(self, backend: Any, service: str) -> None:
        self._backend = backend
        self.name = f"{type(backend).__module__}.{type(backend).__qualname__}"
        self.service = service

    def get(self, name: str) -> str | None:
        """Return a secret, or ``None``; raise :class:`KeyringFailed`."""
        found: str | None = self._asked("read", lambda: self._backend.get_password(self.service, name))
        return found

    def set(self, name: str, secret: str) -> None:
        """Keep a secret; raise :class:`KeyringFailed`."""
        self._asked("be written", lambda: self._backend.set_password(self.service, name, secret))
        if self.get(name) != secret:
            raise KeyringFailed(f"the keyring {self.name} does not keep what it is given")

    def delete(self, name: str) -> None:
        """Forget a secret; raise :class:`KeyringFailed`."""
        if self.get(name) is not None:
            self._asked("be written", lambda: self._backend.delete_password(self.service, name))

    def _asked(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - backends raise errors of DBus, Windows, macOS and their own
            what = "be read" if what == "read" else what
            # the error may repeat what it was given: only its type is said
            raise KeyringFailed(
                f"the keyring {self.name} cannot {what} ({type(error).__name__})", hint="unlock the keyring"
            ) from None


def open_vault(service: str) -> Vault:
    """Return the keyring of this machine.

    The backend that ``PYTHON_KEYRING_BACKEND`` or ``keyringrc.cfg`` names counts, else the best one that the library
    recommends. Backends that keep nothing, and those of ``keyrings.alt``, which keep secrets in plain files, never count.

    Raises:
        NoKeyring: there is none; the error says which one was refused.
    """
    from keyring import backend, core

    try:
        named = core.load_env() or core.load_config()
    except Exception as error:  # noqa: BLE001 - whatever the named module raises
        raise NoKeyring(f"the keyring that is set up does not load: {type(error).__name__}: {error}") from None
    if named is not None and not hasattr(named, "backends"):
        if not _keeps(named):
            raise NoKeyring(f"the keyring that is set up, {_name(named)}, keeps no secret safely")
        return Vault(named, service)
    # a chain of several, as the library makes one, would hand secrets to any of them
    found = [b for b in backend.get_all_keyring() if not hasattr(b, "backends") and core.recommended(b) and _keeps(b)]
    if not found:
        raise NoKeyring("this machine has no keyring that runs")
    return Vault(max(found, key=backend.by_priority), service)


def _name(backend: Any) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _keeps(backend: Any) -> bool:
    modules = {kind.__module__ for kind in type(backend).__mro__}
    refused = ("keyrings.alt", "keyring.backends.fail", "keyring.backends.null")
    return not any(m == r or m.startswith(f"{r}.") for m in modules for r in refused)
