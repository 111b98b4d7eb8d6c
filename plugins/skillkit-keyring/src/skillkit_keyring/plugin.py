"""The plugin ``keyring``: a source of secrets, logins of providers, ``skillkit auth`` and ``/login``.

Nothing of it is imported for a secret before a secret was kept: :class:`Credentials` looks for the index first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_oauth import OAuthProvider

    from skillkit_core import Host


class Hooks:
    """The hooks of the family of logins that other plugins know."""

    @hookspec
    def register_oauth_providers(self, register: Callable[[OAuthProvider], None], host: Host, config: Any) -> None:
        """Offer logins of a provider: ``register(OAuthProvider(name, client_id, token_endpoint, ...))``.

        When: before the first login, and for ``skillkit auth status``. A setting ``keyring.oauth.NAME`` replaces an offer.
        """

    @hookspec
    def register_login_stores(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer the logins that a plugin keeps itself: ``register(Factory(name, "module:Class"))``, made with the host.

        ``rows()`` returns a mapping for each login (``provider``: ``NAME:WHOSE``, ``where``, ``expires_at``, ``renewable``), and
        ``forget(provider)`` forgets one and returns whether there was any. When: for ``skillkit auth``.
        """


class Credentials:
    """The secrets that this plugin keeps, by the name of the variable that would hold them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._index = host.data_dir / "keyring" / "index.json"

    def get(self, name: str) -> str | Awaitable[str | None] | None:
        """Return a secret, or ``None``. A keyring that has to be opened and a login that has to be renewed are awaited."""
        if not self._index.exists():
            return None
        from .source import find

        return find(self._host, name)


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_oauth_providers`` and ``register_login_stores`` with their registries."""
    add(Hooks, kinds={"oauth_providers": "skillkit_oauth:OAuthProvider", "login_stores": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """The section ``keyring``."""
    register(ConfigSection("keyring", "skillkit_keyring.config:KeyringConfig"))


@hookimpl
def register_credentials(register: Callable[[Factory], None]) -> None:
    """The secrets that are kept."""
    register(Factory("keyring", Credentials))


@hookimpl
async def refresh_secret(name: str, stale: str, host: Host) -> str | None:
    """Return the renewed token of a login, or the key that has been kept since."""
    if not (host.data_dir / "keyring" / "index.json").exists():
        return None
    from .source import renew

    return await renew(host, name, stale)


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit auth``."""
    register(Command("auth", "skillkit_keyring.cli:auth", "Log in to providers, and show where keys come from."))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """``/login`` and ``/logout``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    of, who = "skillkit_keyring.slash:", "skillkit_keyring.slash:complete_provider"
    register(SlashCommand("login", "Log in to a provider.", f"{of}slash_login", "PROVIDER", who))
    register(SlashCommand("logout", "Log out of a provider.", f"{of}slash_logout", "PROVIDER", who))
