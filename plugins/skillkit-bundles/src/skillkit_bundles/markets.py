"""Marketplaces that were added: their files are kept, and each knows where its bundles come from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_skill_packages import PackageError, redacted, working

from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.settings.documents import write_whole

from .books import Known, Origin, changing, read_state
from .fetching import Fetched, fetch, listed, newest
from .formats.marketplace import FILES, Listing, Marketplace, parse_marketplace
from .model import Dialect

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = [
    "Market",
    "add_market",
    "fresh_listing",
    "listing_named",
    "market_named",
    "markets",
    "remove_market",
    "update_market",
]

_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*)@([A-Za-z0-9][\w.-]*)\Z")


@dataclass(frozen=True, slots=True)
class Market:
    """A marketplace that was added.

    Attributes:
        known: where it came from.
        file: what it lists.
    """

    name: str
    known: Known
    file: Marketplace

    def listing(self, name: str) -> Listing:
        """Return the entry of a bundle, also of one that was renamed.

        Raises:
            UnknownName: there is none.
            UsageError: the bundle was removed.
        """
        found = {one.name: one for one in self.file.plugins}
        if name not in found and name in self.file.renames:
            now = self.file.renames[name]
            if now is None:
                raise UsageError(f"the bundle {name!r} was removed from {self.name}")
            return found[now]
        if name not in found:
            raise UnknownName(f"bundle in {self.name}", name, list(found))
        return found[name]

    def origin(self, listing: Listing) -> Origin:
        """Return where a bundle comes from.

        Raises:
            UsageError: it cannot be installed.
        """
        if listing.refused:
            raise UsageError(f"{listing.name} cannot be installed: {listing.refused}", where=self.name)
        origin = listed(listing.source, self.known.source)
        if listing.source["kind"] == "path" and self.known.source.kind == "git" and self.known.resolved:
            return origin  # the same branch, so that an update finds what is new
        return origin

    def dialect_of(self, listing: Listing) -> Dialect | None:
        """Return how the bundles of the marketplace are read; ``None``: as their own manifest says."""
        return (
            "claude"
            if self.known.dialect == "claude" and listing.source.get("kind") == "path" and not listing.strict
            else None
        )


def _kept(host: Host, name: str) -> Path:
    return host.data_dir / "bundles" / "marketplaces" / f"{name}.json"


def markets(host: Host) -> list[Market]:
    """Return the marketplaces that were added, by name."""
    return [market_named(host, name) for name in sorted(read_state(host).marketplaces)]


def market_named(host: Host, name: str) -> Market:
    """Return the marketplace of a name.

    Raises:
        UnknownName: there is none.
    """
    known = read_state(host).marketplaces
    if name not in known:
        raise UnknownName("marketplace", name, list(known))
    try:
        data = _kept(host, name).read_bytes()
    except OSError:
        data = b""
    return Market(name, known[name], parse_marketplace(data, known[name].dialect))


def _looked(host: Host, origin: Origin, dialect: Dialect | None) -> tuple[Fetched, str, Dialect, bytes, Marketplace]:
    """Fetch a marketplace and return its file, its path and format.

    Raises:
        PackageError: there is none, or it cannot be used.
    """
    with working("Fetching", redacted(origin.place)) as tell:
        fetched = fetch(origin, host.environ, tell)
    places = [(d, f) for d, files in FILES.items() if dialect in (None, d) for f in files]
    # several hosts read .claude-plugin: the host whose own file it is comes first
    order = sorted(places, key=lambda one: (".claude-plugin" in one[1]) != (one[0] == "claude"))
    found = next(((d, f) for d, f in order if f in fetched.files), None)
    if found is None:
        raise PackageError("no-marketplace", "there is no marketplace.json", where=redacted(origin.place))
    data = fetched.files[found[1]].data
    read = parse_marketplace(data, found[0])
    if not read.loads:
        why = "; ".join(map(str, read.problems))
        raise PackageError("marketplace-broken", f"the marketplace cannot be used: {why}", where=redacted(origin.place))
    return fetched, found[1], found[0], data, read


def add_market(host: Host, origin: Origin, dialect: Dialect | None = None) -> Market:
    """Add a marketplace, or replace the one that came from the same place.

    Raises:
        PackageError: there is none, or it cannot be used.
        UsageError: another one has its name.
    """
    fetched, file, host_of, data, read = _looked(host, origin, dialect)
    known = read_state(host).marketplaces.get(read.name)
    if known is not None and known.source.place != fetched.origin.place:
        raise UsageError(
            f"there is a marketplace {read.name!r} from {redacted(known.source.place)}", hint="remove it first"
        )
    return _keep(host, read, Known(source=fetched.origin, dialect=host_of, file=file, resolved=fetched.resolved), data)


def _keep(host: Host, read: Marketplace, known: Known, data: bytes) -> Market:
    path = _kept(host, read.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(str(path), data.decode("utf-8-sig", "replace"))
    with changing(host) as state:
        state.marketplaces[read.name] = known
    return Market(read.name, known, read)


def update_market(host: Host, market: Market) -> tuple[Market, bool]:
    """Bring a marketplace to what its source holds now; return it, and whether its file changed.

    Raises:
        PackageError: it cannot be had, or has another name now.
    """
    if newest(market.known.source, market.known.resolved, host.environ):
        return market, False
    fetched, file, dialect, data, read = _looked(host, market.known.source, market.known.dialect)
    if read.name != market.name:
        raise PackageError("marketplace-renamed", f"it is called {read.name!r} now: add it anew", where=market.name)
    changed = json.dumps([one.entry for one in read.plugins]) != json.dumps([one.entry for one in market.file.plugins])
    return _keep(
        host, read, Known(source=fetched.origin, dialect=dialect, file=file, resolved=fetched.resolved), data
    ), changed


def remove_market(host: Host, name: str) -> None:
    """Forget a marketplace; bundles that came from it stay."""
    market_named(host, name)
    with changing(host) as state:
        state.marketplaces.pop(name, None)
    _kept(host, name).unlink(missing_ok=True)


def listing_named(host: Host, text: str) -> tuple[Market, Listing, Origin] | None:
    """Return what ``name@marketplace`` means; ``None``: the text is of another form, or there is no such marketplace."""
    match = _NAMED.match(text)
    if match is None or match[2] not in read_state(host).marketplaces:
        return None
    market = market_named(host, match[2])
    listing = market.listing(match[1])
    return market, listing, market.origin(listing)


def fresh_listing(host: Host, market: str, name: str) -> tuple[Origin, Mapping[str, Any]] | None:
    """Return where a bundle comes from by what its marketplace holds now, and its entry; ``None``: it is listed no more."""
    known = read_state(host).marketplaces
    if market not in known:
        raise UnknownName(
            "marketplace", market, list(known), hint="add it again, or add the bundle from its own source"
        )
    now, _ = update_market(host, market_named(host, market))
    found = next((one for one in now.file.plugins if one.name == name), None)
    return (now.origin(found), dict(found.entry)) if found is not None else None
