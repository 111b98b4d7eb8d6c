"""What is kept: an index of names without secrets, and the secrets, in the keyring or in a private file."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from skillkit_oauth import PrivateFolder

from skillkit_core.errors import SkillKitError

from .backend import KeyringFailed, NoKeyring, Vault, open_vault

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Kept", "Row", "Store", "store_of"]

INDEX, SECRETS = "index.json", "secrets.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the index says of a secret.

    Attributes:
        provider: what a person logged in to.
        kind: a key, or the token of a login.
        place: where the secret is.
        backend: class of the keyring's backend; empty in a file.
        service: service of the keyring.
        stored_at: Unix time.
        expires_at: Unix time at which a token ends, where that is known.
        renewable: a token comes with a refresh token.
    """

    provider: str
    kind: Literal["key", "oauth"]
    place: Literal["keyring", "file"] = "file"
    backend: str = ""
    service: str = ""
    stored_at: float = 0.0
    expires_at: float | None = None
    renewable: bool = False

    def over(self) -> bool:
        """Whether the token has ended."""
        return self.expires_at is not None and self.expires_at <= time.time()

    def due(self) -> bool:
        """Whether the token has ended or is about to: in a minute, or in the last quarter of a shorter life."""
        if self.expires_at is None:
            return False
        return self.expires_at - min(60.0, (self.expires_at - self.stored_at) / 4) <= time.time()


class Kept(NamedTuple):
    """A secret with what the index says of it. ``token`` has the whole answer of a login."""

    row: Row
    secret: str
    token: dict[str, Any]


class Store:
    """The credentials of one host.

    Args:
        host: host whose data folder keeps them, and which is told what to redact.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.folder = PrivateFolder(host.data_dir, "keyring")
        self._seen: object = None
        self._rows: dict[str, Row] = {}
        self._opened: dict[str, tuple[float, str]] = {}

    @property
    def _settings(self) -> Any:
        return self._host.config.section("keyring")

    def rows(self) -> dict[str, Row]:
        """Return the index by name of the secret; raise :class:`SkillKitError` where it cannot be read."""
        seen = self.folder.signature(INDEX)
        if seen != self._seen:
            try:
                self._rows = {name: Row(**row) for name, row in self.folder.read(INDEX).items()}
            except TypeError:
                where = str(self.folder.path / INDEX)
                raise SkillKitError(
                    "is no index of credentials", where=where, hint="remove it and log in again"
                ) from None
            self._seen = seen
        return self._rows

    def opened(self, name: str, row: Row) -> Kept | None:
        """Return a secret that can be had without opening the keyring, or ``None``."""
        if row.place == "file":
            return self.read(name)
        at, text = self._opened.get(name, (None, ""))
        return self._kept(row, text) if at == row.stored_at else None

    def read(self, name: str) -> Kept | None:
        """Return a secret, or ``None`` where none is kept.

        Raises:
            KeyringFailed: the keyring does not give it.
            SkillKitError: the file cannot be read, or the secret is gone.
        """
        row = self.rows().get(name)
        if row is None:
            return None
        hint = f"run skillkit auth login {row.provider}"
        if row.place == "file":
            text = self.folder.read(SECRETS).get(name)
        else:
            try:
                vault = open_vault(row.service)
                text = vault.get(name)
            except (NoKeyring, KeyringFailed) as error:
                kept = f"{name} is kept in the keyring {row.backend}: {error.message}"
                raise KeyringFailed(kept, hint=f"unlock it, or {hint}") from None
            if text is None and vault.name != row.backend:
                raise KeyringFailed(
                    f"{name} is kept in the keyring {row.backend}, and {vault.name} is in use", hint=hint
                )
        if not isinstance(text, str):
            raise SkillKitError(f"{name} is not in the {row.place} any more", hint=hint)
        self._opened[name] = (row.stored_at, text)
        return self._kept(row, text)

    def _kept(self, row: Row, text: str) -> Kept:
        if row.kind == "key":
            self._host.remember_secret(text)
            return Kept(row, text, {})
        try:
            token = dict(json.loads(text))
            secret = str(token["access_token"])
        except (ValueError, TypeError, KeyError):
            hint = f"run skillkit auth login {row.provider}"
            raise SkillKitError(f"what is kept of the login of {row.provider} is damaged", hint=hint) from None
        self.redact(token)
        return Kept(row, secret, token)

    def redact(self, token: dict[str, Any]) -> None:
        """Let the host redact what is secret in a token."""
        for part in ("access_token", "refresh_token", "id_token", "device_code"):
            if isinstance(token.get(part), str):
                self._host.remember_secret(token[part])

    def keep(self, name: str, row: Row, secret: str | dict[str, Any]) -> tuple[Row, str]:
        """Keep a secret, a key or a token, in the keyring if there is one, else in the file.

        Return the index's row, and why the file was taken although a keyring was wanted, if that is news.

        Raises:
            NoKeyring: only the keyring may be used (``keyring.store``), and there is none.
            KeyringFailed: only the keyring may be used, and it refuses.
            SkillKitError: the file cannot be written.
        """
        if isinstance(secret, str):
            text = secret
            self._host.remember_secret(text)
        else:
            text = json.dumps(secret)
            self.redact(secret)
        with self.folder.lock("store"):
            rows = dict(self.rows())
            old = rows.get(name)
            vault, why = self._vault()
            if any(row.place == "file" for row in rows.values()):
                why = ""  # the user has been told that there is no keyring
            if vault is not None:
                try:
                    vault.set(name, text)
                except KeyringFailed as error:
                    if self._settings.store == "keyring":
                        raise
                    vault, why = None, str(error)
            row = replace(row, stored_at=time.time(), place="file")
            if vault is not None:
                row = replace(row, place="keyring", backend=vault.name, service=vault.service)
            secrets = self.folder.read(SECRETS)
            if vault is None or secrets.pop(name, None) is not None:
                self.folder.write(SECRETS, secrets if vault is not None else {**secrets, name: text})
            self.folder.write(INDEX, {key: asdict(r) for key, r in {**rows, name: row}.items()})
            if old is not None and old.place == "keyring" and vault is None:
                self._forget_in_keyring(name, old)
        self._opened[name] = (row.stored_at, text)
        return row, why

    def _vault(self) -> tuple[Vault | None, str]:
        wanted = self._settings.store
        if wanted == "file":
            return None, ""
        try:
            return open_vault(self._settings.service), ""
        except NoKeyring as error:
            if wanted == "keyring":
                raise NoKeyring(error.message, hint="set keyring.store to auto or file") from None
            return None, str(error)

    def forget(self, name: str) -> str:
        """Remove a secret. Return what could not be removed from the keyring, else an empty text."""
        with self.folder.lock("store"):
            rows = dict(self.rows())
            row = rows.pop(name, None)
            if row is None:
                return ""
            self.folder.write(INDEX, {key: asdict(r) for key, r in rows.items()})
            secrets = self.folder.read(SECRETS)
            if secrets.pop(name, None) is not None:
                self.folder.write(SECRETS, secrets)
            self._opened.pop(name, None)
            return self._forget_in_keyring(name, row) if row.place == "keyring" else ""

    def _forget_in_keyring(self, name: str, row: Row) -> str:
        try:
            vault = open_vault(row.service)
            if vault.name != row.backend:
                return f"{name} stays in the keyring {row.backend}, which is not in use"
            vault.delete(name)
        except (NoKeyring, KeyringFailed) as error:
            return f"{name} stays in the keyring {row.backend}: {error.message}"
        return ""


def store_of(host: Host) -> Store:
    """Return the store of a host."""
    state = host.state("keyring")
    if "store" not in state:
        state["store"] = Store(host)
    store: Store = state["store"]
    return store
