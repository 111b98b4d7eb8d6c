"""Where the credential of each provider comes from, without the credential."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError, UnknownName

from .login import foreign_logins, key_providers, logins
from .store import SECRETS, Row, Store, store_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["status_rows"]

_SHOWN, _LONG_ENOUGH = 4, 16
_NOTHING: dict[str, Any] = {
    "provider": "", "variable": None, "source": None, "where": None, "kind": None, "ends_with": None, "expires_at": None,
    "expired": False, "renewable": False, "login": False, "hidden": None, "problem": None,
}  # fmt: skip


def status_rows(host: Host, only: str | None = None) -> list[dict[str, Any]]:
    """Return one row for each provider and for each variable that is kept for no provider.

    Keys: ``provider``, ``variable``, ``source`` (``environment``, ``keyring``, ``file`` or ``None``), ``where``, ``kind``,
    ``ends_with``, ``expires_at`` (ISO 8601), ``expired``, ``renewable``, ``login`` (whether there is one), ``hidden`` (where a
    credential is kept that the environment hides), ``problem``. Logins that other plugins keep come last, without a variable.

    Raises:
        UnknownName: ``only`` is no provider and no variable that is kept.
        SkillKitError: the index cannot be read.
    """
    store, offers = store_of(host), logins(host)
    rows = store.rows()
    wanted = {name: list(item.api_key_env) for name, item in key_providers(host).items()}
    for name, offer in offers.items():
        wanted[name] = [*([offer.secret] if offer.secret else []), *wanted.get(name, [])]
    known = {variable for names in wanted.values() for variable in names}
    wanted |= {row.provider: [name] for name, row in rows.items() if name not in known}
    foreign = {name: row for name, (_, row) in foreign_logins(host).items()}
    if only is not None:
        if only not in wanted and only not in foreign:
            raise UnknownName("provider", only, (*wanted, *foreign))
        wanted = {name: names for name, names in wanted.items() if name == only}
        foreign = {name: row for name, row in foreign.items() if name == only}
    found = [_row(host, store, name, names, rows, name in offers) for name, names in wanted.items()]
    return [
        *found,
        *({**_NOTHING, "source": "file", "kind": "oauth", "login": True, **row} for row in foreign.values()),
    ]


def _row(
    host: Host, store: Store, provider: str, variables: Sequence[str], rows: dict[str, Row], login: bool
) -> dict[str, Any]:
    told = {**_NOTHING, "provider": provider, "variable": variables[0] if variables else None, "login": login}
    for variable in variables:
        row, value = rows.get(variable), host.environ.get(variable)
        if value:
            hidden = _where(store, row) if row is not None else None
            return {**told, "variable": variable, "source": "environment", "where": variable, "kind": "key",
                    "ends_with": _end(value), "hidden": hidden}  # fmt: skip
        if row is not None:
            return {**told, "variable": variable, **_kept(store, variable, row)}
    return told


def _kept(store: Store, variable: str, row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {
        "source": row.place, "where": _where(store, row), "kind": row.kind, "expired": row.over(), "renewable": row.renewable,
        "expires_at": datetime.fromtimestamp(row.expires_at, UTC).isoformat(timespec="seconds") if row.expires_at else None,
    }  # fmt: skip
    try:
        kept = store.read(variable)
    except SkillKitError as error:
        return {**found, "problem": str(error)}
    return {**found, "ends_with": _end(kept.secret) if kept is not None else None}


def _where(store: Store, row: Row) -> str:
    return row.backend if row.place == "keyring" else str(store.folder.path / SECRETS)


def _end(secret: str) -> str | None:
    return secret[-_SHOWN:] if len(secret) >= _LONG_ENOUGH else None
