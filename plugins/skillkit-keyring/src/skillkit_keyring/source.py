"""What a kept secret is now: as it was kept, or a token that is renewed first, by one process at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_core.errors import SkillKitError

from .store import Kept, store_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["find", "renew"]

_told: WeakKeyDictionary[Host, set[str]] = WeakKeyDictionary()


def find(host: Host, name: str) -> str | Awaitable[str | None] | None:
    """Return a kept secret, ``None`` where none is kept, or an awaitable where that needs the keyring or the network.

    Raises:
        SkillKitError: what is kept cannot be read. The user is told so as well.
    """
    store = store_of(host)
    try:
        row = store.rows().get(name)
        if row is None:
            return None
        kept = store.opened(name, row) if not row.due() else None
    except SkillKitError as error:
        raise _tell(host, error) from None
    return kept.secret if kept is not None else _find(host, name)


async def _find(host: Host, name: str) -> str | None:
    try:
        kept = await asyncio.to_thread(store_of(host).read, name)
        if kept is None or not kept.row.due():
            return kept.secret if kept is not None else None
        try:
            return await _renewed(host, name, kept)
        except SkillKitError:
            if kept.row.over():
                raise
            return kept.secret
    except SkillKitError as error:
        raise _tell(host, error) from None


async def renew(host: Host, name: str, stale: str) -> str | None:
    """Return another value for a kept secret whose value ``stale`` was refused, or ``None``.

    Raises:
        SkillKitError: the login cannot be renewed. The user is told so as well.
    """
    store = store_of(host)
    try:
        if host.environ.get(name) or name not in store.rows():
            return None
        kept = await asyncio.to_thread(store.read, name)
        if kept is None:
            return None
        if kept.secret != stale and not kept.row.due():
            return kept.secret
        if kept.row.kind == "key":
            hint = f"run skillkit auth login {kept.row.provider}"
            raise SkillKitError(f"{kept.row.provider} refused the key that is kept as {name}", hint=hint)
        return await _renewed(host, name, kept._replace(secret=stale))
    except SkillKitError as error:
        raise _tell(host, error) from None


async def _renewed(host: Host, name: str, kept: Kept) -> str:
    variable = kept.token.get("client", {}).get("secret_env")
    application = await host.find_secret(variable) if variable else None
    # a thread goes on when the waiting is cancelled, so that a token which the provider has replaced is not lost
    secret, why = await asyncio.to_thread(_renew, host, name, kept.secret, application)
    if why:
        _tell(host, SkillKitError(f"the renewed login of {kept.row.provider} is kept in a file: {why}"))
    return secret


def _renew(host: Host, name: str, stale: str, application: str | None) -> tuple[str, str]:
    """Renew a token unless another process has done that; return the token, and why it is kept in the file."""
    store = store_of(host)
    with store.folder.lock(f"renew-{sha256(name.encode()).hexdigest()[:12]}"):
        kept = store.read(name)
        if kept is None:
            raise SkillKitError(f"{name} is not kept any more")
        if kept.secret != stale and not kept.row.due():
            return kept.secret, ""
        token: dict[str, Any] = _refreshed(kept, application)
        row = replace(kept.row, expires_at=token.get("expires_at"), renewable="refresh_token" in token)
        _, why = store.keep(name, row, token)
        return str(token["access_token"]), why if kept.row.place == "keyring" else ""


def _refreshed(kept: Kept, application: str | None) -> dict[str, Any]:
    from skillkit_oauth import refreshed

    name, hint = kept.row.provider, f"run skillkit auth login {kept.row.provider}"
    if not kept.token.get("refresh_token"):
        raise SkillKitError(f"the login of {name} has ended", hint=hint)
    try:
        return refreshed(kept.token, application)
    except SkillKitError as error:
        raise SkillKitError(f"the login of {name} could not be renewed: {error.message}", hint=hint) from None


def _tell(host: Host, error: SkillKitError) -> SkillKitError:
    """Tell the user once what is wrong, and return the error."""
    told = _told.setdefault(host, set())
    if str(error) not in told:
        told.add(str(error))
        host.tell(host.redact(str(error)))
    return error
