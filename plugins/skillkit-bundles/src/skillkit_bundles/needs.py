"""Bundles that a bundle needs: which of them are missing here, which marketplace has them, and how they are added, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from skillkit_core.cli.output import echo, escaped, short_path, style
from skillkit_core.errors import SkillKitError
from skillkit_core.program import as_typed

from .adding import Candidate, Consent, ask, consider, install, show
from .installed import bundles_of
from .markets import listing_named, markets
from .model import Bundle, Dialect
from .places import Place
from .report import counted

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Need", "add_needed", "from_market", "needs_of"]


class Need(NamedTuple):
    """A bundle that another one needs and that is not installed.

    Attributes:
        source: ``name@marketplace``; empty: no marketplace that counts lists it.
    """

    name: str
    source: str

    @property
    def what_to_do(self) -> str:
        """What a person types."""
        return f"skillkit bundles add {self.source or 'SOURCE'}"

    def __str__(self) -> str:
        why = "not installed" if self.source else "not installed and in no marketplace here"
        return f"{self.name}, which is {why}: {as_typed(self.what_to_do)}"


def needs_of(host: Host, bundle: Bundle, marketplace: str | None) -> list[Need]:
    """Return the bundles that a bundle needs and nobody has installed.

    A bundle of a marketplace gets them from the same one, because another one may have something else under the name.
    """
    here = {one.bundle.name for one in bundles_of(host) if one.bundle is not None}
    missing = [name for name in dict.fromkeys(bundle.dependencies) if name not in here]
    known = [one for one in markets(host) if marketplace in (None, one.name)] if missing else []
    found = []
    for name in missing:
        listed = [one.name for one in known if any(row.name == name and not row.refused for row in one.file.plugins)]
        found.append(Need(name, f"{name}@{listed[0]}" if len(listed) == 1 else ""))
    return found


def from_market(host: Host, text: str, dialect: Dialect | None = None) -> Candidate | None:
    """Fetch what ``name@marketplace`` means; ``None``: the text is of another form."""
    found = listing_named(host, text)
    if found is None:
        return None
    market, listing, origin = found
    return consider(
        host, origin, dialect=dialect or market.dialect_of(listing), name=listing.name, marketplace=market.name,
        entry=listing.entry,
    )  # fmt: skip


def add_needed(host: Host, one: Candidate, place: Place, consent: Consent, *, wanted: bool) -> Iterator[Need]:
    """Add the bundles that a new one needs, and those that they need; yield those that are still missing.

    Each is shown, scanned and asked about as any bundle is, and stands in the lock file.

    Args:
        wanted: whether they are to be added where nobody can be asked.
    """
    for need in needs_of(host, one.bundle, one.marketplace):
        new = from_market(host, need.source) if need.source and (wanted or consent.asks) else None
        if new is None:
            yield need
            continue
        if not consent.quiet:
            show(host, new, [f"{one.name} needs it"])
        try:
            ask(new, consent, f"Add {new.name}, which {one.name} needs, to {short_path(str(place.folder))}")
        except SkillKitError as error:
            if str(error) != "nothing was changed":
                raise
            yield need
            continue
        waiting = install(host, new, place, consent)
        if not consent.quiet:
            waits = f"; {counted(waiting, 'hook')} wait: skillkit bundles consent {new.name}" if waiting else ""
            echo(f"{style('✓', fg='green')} {escaped(new.name)} is added, which {escaped(one.name)} needs{waits}")
        yield from add_needed(host, new, place, consent, wanted=wanted)
