"""``/login`` and ``/logout``, and what a person is told after a login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface

    from .login import Done

__all__ = ["complete_provider", "said_after_login", "slash_login", "slash_logout"]


def said_after_login(host: Host, done: Done) -> tuple[str, list[str]]:
    """Return what a person is told after a login, and what to warn of."""
    from .store import SECRETS, store_of

    row = done.row
    what = f"Logged in to {row.provider}" if row.kind == "oauth" else f"Kept a key for {row.provider}"
    path = store_of(host).folder.path / SECRETS
    place = f"the keyring ({row.backend})" if row.place == "keyring" else f"{path}, which only you can read"
    warnings = [f"{done.why}; the credential is kept in a file that is not encrypted"] if done.why else []
    if host.environ.get(done.secret):
        warnings.append(f"{done.secret} is set in the environment, which comes first")
    return f"{what}: {done.secret} is in {place}.", warnings


async def slash_login(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Log in to a provider from a conversation."""
    import webbrowser

    from .login import log_in

    if ui is None:
        raise UsageError("nobody is there to log in", hint="skillkit auth login PROVIDER")
    if not arguments.strip():
        raise UsageError("name a provider", hint="/login PROVIDER")
    done = await log_in(agent.host, arguments.strip(), ui, open_url=webbrowser.open)
    text, warnings = said_after_login(agent.host, done)
    return "\n".join([text, *(f"Warning: {line}" for line in warnings)])


async def slash_logout(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Log out of a provider from a conversation."""
    from .login import log_out

    if not arguments.strip():
        raise UsageError("name a provider", hint="/logout PROVIDER")
    names, problems = await log_out(agent.host, arguments.strip())
    said = f"Forgotten: {', '.join(names)}." if names else f"Nothing was kept of {arguments.strip()}."
    return "\n".join([said, *(f"Warning: {line}" for line in problems)])


def complete_provider(agent: AgentRunner, arguments: str) -> list[str]:
    """Return the providers that begin with what was typed."""
    from .login import key_providers, logins

    names: dict[str, Any] = {**logins(agent.host), **key_providers(agent.host)}
    return [name for name in names if name.startswith(arguments)]
