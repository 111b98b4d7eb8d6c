"""Logging in to a provider and out of it, for whatever front end asks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from skillkit_core.descriptors import Provider
from skillkit_core.errors import SkillKitError, UnknownName, UsageError

from .store import Row, store_of

if TYPE_CHECKING:
    from skillkit_oauth import OAuthProvider

    from skillkit_core import Host, UserInterface

__all__ = ["Done", "Method", "Target", "foreign_logins", "key_providers", "log_in", "log_out", "logins", "target_of"]

Method: TypeAlias = Literal["auto", "key", "browser", "device"]
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
LONGEST_KEY = 16_384


class Target(NamedTuple):
    """What a person logs in to: a provider or a variable, the variable that would hold the secret, and the login if any."""

    name: str
    secret: str
    login: OAuthProvider | None


class Done(NamedTuple):
    """What a login did: the variable whose secret is kept, the index's row, and why the secret is in a file, if that is news."""

    secret: str
    row: Row
    why: str


def key_providers(host: Host) -> dict[str, Provider]:
    """Return the providers that need a key, by name."""
    found = {host.adapters.name_of(e): e.item for e in host.adapters.entries()}
    return {name: item for name, item in found.items() if isinstance(item, Provider) and item.api_key_env}


def logins(host: Host) -> dict[str, OAuthProvider]:
    """Return the logins that plugins and settings offer, by name of the provider.

    Raises:
        UsageError: a setting cannot be used, or two plugins offer a login of one name.
    """
    settings = host.config.section("keyring").oauth
    offers = host.registry("oauth_providers")
    found = {e.name: offers.get(e.name) for e in offers.entries() if e.name not in settings}
    return {**found, **{name: given.provider(name) for name, given in settings.items()}}


def foreign_logins(host: Host) -> dict[str, tuple[Any, Mapping[str, Any]]]:
    """Return the logins that other plugins keep, by name: the store and what it tells of the login."""
    stores = host.registry("login_stores")
    found: dict[str, tuple[Any, Mapping[str, Any]]] = {}
    for name in stores.list():
        store = stores.get(name)
        try:
            rows = store.rows()
        except SkillKitError as error:
            rows = [{"provider": name, "where": "", "problem": str(error)}]
        found |= {row["provider"]: (store, row) for row in rows}
    return found


def target_of(host: Host, name: str) -> Target:
    """Return what ``name`` is: a provider, or a variable such as ``TAVILY_API_KEY``.

    Raises:
        UsageError: it is neither, or the provider needs no secret.
    """
    login, providers = logins(host).get(name), key_providers(host)
    if login is not None and login.secret:
        return Target(name, login.secret, login)
    if name in providers:
        return Target(name, providers[name].api_key_env[0], login)
    if login is not None:
        raise UsageError(
            f"the login {name!r} does not say which secret it gives", hint=f"set keyring.oauth.{name}.secret"
        )
    if name in host.adapters:
        raise UsageError(f"provider {name!r} needs no key")
    if _VARIABLE.fullmatch(name):
        return Target(name, name, None)
    raise UnknownName("provider", name, [*providers, *logins(host)])


async def log_in(
    host: Host,
    name: str,
    ui: UserInterface,
    *,
    method: Method = "auto",
    key: str | None = None,
    open_url: Callable[[str], Any] | None = None,
    seconds: float | None = None,
) -> Done:
    """Log in, and keep the secret.

    Args:
        name: a provider, or a variable.
        ui: asks for a key, shows addresses and codes.
        method: ``auto``: the provider's login if it has one, with the browser if ``open_url`` is given, else a key.
        key: the key, if it is known already.
        open_url: opens an address in a browser.
        seconds: how long the person may take; default: ``keyring.login_timeout``.

    Raises:
        SkillKitError: the login failed, and nothing has changed.
    """
    target = target_of(host, name)
    login = target.login
    if key is not None or method == "key" or (method == "auto" and login is None):
        secret: str | dict[str, Any] = _checked(key if key is not None else await _asked(target, ui))
        row = Row(provider=name, kind="key")
    elif login is None:
        raise UsageError(f"{name} has no login, only a key", hint=f"skillkit auth login {name}")
    else:
        import skillkit_oauth as oauth

        code = login.device_authorization_endpoint is not None
        browser = login.authorization_endpoint is not None
        if (method == "device" and not code) or (method == "browser" and not browser):
            raise UsageError(f"{name} has no login with a {'code' if method == 'device' else 'browser'}")
        device = method == "device" or (method == "auto" and code and (open_url is None or not browser))
        application = await host.find_secret(login.client_secret_env) if login.client_secret_env else None
        run = oauth.device_login if device else oauth.browser_login
        limit = host.config.section("keyring").login_timeout if seconds is None else seconds
        secret = await run(login, application, ui, open_url=open_url, seconds=limit)
        row = Row(provider=name, kind="oauth", expires_at=secret.get("expires_at"), renewable="refresh_token" in secret)
    row, why = await asyncio.to_thread(store_of(host).keep, target.secret, row, secret)
    return Done(target.secret, row, why)


async def _asked(target: Target, ui: UserInterface) -> str:
    from skillkit_core.contracts.user_interface import Survey, SurveyQuestion

    what = target.name if target.name == target.secret else f"API key of {target.name} ({target.secret})"
    question = SurveyQuestion("key", what, "secret")
    answers = await ui.ask(Survey("Log in", f"The key is kept as {target.secret}.", (question,)))
    if answers is None:
        raise SkillKitError("no key was given, and nothing has changed")
    return str(answers["key"])


def _checked(key: str) -> str:
    key = key.strip()
    if not key:
        raise UsageError("the key is empty", hint="pipe it to stdin, or type it")
    if not key.isascii() or not key.isprintable() or " " in key or len(key) > LONGEST_KEY:
        raise UsageError("this is no key: a key is one word of letters, digits and signs")
    return key


async def log_out(host: Host, name: str) -> tuple[list[str], list[str]]:
    """Forget what is kept of a provider or a variable, and end a login at the provider.

    Return the variables whose secrets were forgotten, and what could not be done.

    Raises:
        SkillKitError: the name is unknown, or what is kept cannot be read or written.
    """
    if (foreign := foreign_logins(host).get(name)) is not None:
        return ([name] if await asyncio.to_thread(foreign[0].forget, name) else []), []
    store = store_of(host)
    rows = store.rows()
    item = key_providers(host).get(name)
    variables = {name, *(item.api_key_env if item is not None else ())}
    names = [n for n, row in rows.items() if row.provider == name or n in variables]
    if not names:
        target_of(host, name)  # an unknown name is said
    problems: list[str] = []
    for secret in names:
        if rows[secret].kind == "oauth":
            problems += await _end(host, secret)
        if problem := await asyncio.to_thread(store.forget, secret):
            problems.append(problem)
    return names, problems


async def _end(host: Host, secret: str) -> list[str]:
    try:
        kept = await asyncio.to_thread(store_of(host).read, secret)
    except SkillKitError:
        return []  # what cannot be read is forgotten all the same
    client = kept.token.get("client", {}) if kept is not None else {}
    if kept is None or not client.get("revocation_endpoint"):
        return []
    from skillkit_oauth import revoke

    application = await host.find_secret(client["secret_env"]) if client.get("secret_env") else None
    problem = await asyncio.to_thread(revoke, kept.token, application)
    return [f"{kept.row.provider}: {problem}"] if problem else []
