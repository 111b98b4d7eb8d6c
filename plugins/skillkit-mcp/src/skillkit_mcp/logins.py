"""The logins at servers, for ``skillkit auth``: which there are, and how one is forgotten. Nothing of the SDK is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from skillkit_oauth import PrivateFolder

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["FILE", "Logins", "forget"]

FILE = "tokens.json"


def forget(folder: PrivateFolder, url: str) -> bool:
    """Remove what is kept of the server at an address; return whether there was anything."""
    if url not in folder.read(FILE):
        return False
    with folder.lock("tokens"):
        found = folder.read(FILE)
        found.pop(url, None)
        folder.write(FILE, found)
    return True


class Logins:
    """The logins of one host. A login is named ``mcp:SERVER``, or ``mcp:ADDRESS`` where no server has the address."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folder = PrivateFolder(host.data_dir, "mcp")

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return ``provider``, ``where``, ``expires_at`` and ``renewable`` of each login that is kept, without its tokens."""
        names = self._names()
        found = []
        for url, kept in sorted(self._folder.read(FILE).items()):
            tokens = kept.get("tokens") if isinstance(kept, dict) else None
            if tokens:
                over = kept.get("over")
                until = datetime.fromtimestamp(over, UTC).isoformat(timespec="seconds") if over else None
                found.append(
                    {
                        "provider": f"mcp:{names.get(url, url)}",
                        "where": str(self._folder.path / FILE),
                        "expires_at": until,
                        "renewable": bool(tokens.get("refresh_token")),
                    }
                )
        return found

    def forget(self, name: str) -> bool:
        """Forget the tokens of the login ``name``; return whether there were any."""
        wanted = name.removeprefix("mcp:")
        urls = [url for url, known in self._names().items() if known == wanted] or [wanted]
        forgotten = [forget(self._folder, url) for url in urls]
        return any(forgotten)

    def _names(self) -> Mapping[str, str]:
        """Return the names of the configured servers by address."""
        from .servers import configured_servers

        return {
            one.config.url: one.name
            for one in configured_servers(self._host)
            if one.config is not None and one.config.url is not None
        }
