"""A bundle is about to be installed: fetched, read, scanned, shown, asked about, put in place; then each of its hooks."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from skillkit_skill_packages import PackageError, redacted, scan_files, working

from skillkit_core.cli.output import echo, escaped, style
from skillkit_core.errors import SkillKitError, UsageError

from .books import LockedBundle, Origin, changing
from .fetching import Fetched, fetch, unpacked
from .formats.reading import read_bundle
from .model import Bundle, Dialect, Hook, Problem
from .places import Place, digest_of
from .report import counted, digests_of, hook_line, print_bundle, print_problems
from .running import missing_programs

if TYPE_CHECKING:
    from skillkit_core import Host

    from .installed import Installed

__all__ = ["Candidate", "Consent", "consider", "install"]

_EXPECTED = ("scan-settings-file", "scan-hook")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bundle that was fetched and read, and lies nowhere yet.

    Attributes:
        bundle: what was read; its root is gone.
        digests: what a person consents to, by digest.
        missing: programs that are not on this machine, each with who needs it.
        findings: what the scan found, with files from the root.
        digest: of all files.
    """

    fetched: Fetched
    bundle: Bundle
    digests: Mapping[str, Hook]
    missing: Mapping[str, str]
    findings: tuple[Any, ...]
    digest: str
    marketplace: str | None = None
    entry: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name of the bundle, and of its folder."""
        return self.bundle.name

    def locked(self) -> LockedBundle:
        """Return its entry in the lock file."""
        return LockedBundle(
            digest=self.digest, source=self.fetched.origin, dialect=self.bundle.dialect, resolved=self.fetched.resolved,
            marketplace=self.marketplace, entry=dict(self.entry) if self.entry is not None else None,
            enabled=self.bundle.default_enabled and (self.entry or {}).get("defaultEnabled") is not False,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Consent:
    """How a person is asked.

    Attributes:
        yes: install without a question.
        allowed: rules of the scan that were looked at.
        hooks: digests of hooks that are consented to, or their beginnings; ``all``.
    """

    yes: bool = False
    allowed: Collection[str] = ()
    hooks: Collection[str] = ()
    quiet: bool = False

    @property
    def asks(self) -> bool:
        """Whether somebody can be asked."""
        return not self.yes and not self.quiet and sys.stdin.isatty()


def consider(
    host: Host, origin: Origin, *, dialect: Dialect | None = None, name: str = "", marketplace: str | None = None,
    entry: Mapping[str, Any] | None = None,
) -> Candidate:  # fmt: skip
    """Fetch a bundle and look at it. Nothing of it runs.

    Raises:
        PackageError: it cannot be had, or holds no bundle.
    """
    with working("Fetching", redacted(origin.place)) as tell:
        fetched = fetch(origin, host.environ, tell)
    name = name or _stem(origin)
    with unpacked(fetched, name) as root:
        reading = read_bundle(root, dialect, name=name, entry=entry)
        if reading.bundle is None:
            why = "; ".join(str(one) for one in reading.problems if one.fatal) or "nothing was found"
            raise PackageError("bundle-broken", f"the bundle does not load: {why}", where=redacted(origin.place))
        bundle = reading.bundle
        if not _holds_something(bundle):
            raise _empty(fetched, origin)
        left = tuple(Problem("left-out", path, why) for path, why in fetched.left_out)
        locks = [one for one in ("package-lock.json", "bun.lockb", "bun.lock") if one in fetched.files]
        text = "the packages that it needs are not installed by themselves: run npm ci --ignore-scripts in its folder"
        left += tuple(Problem("dependencies", one, text) for one in locks)
        bundle = replace(bundle, problems=(*bundle.problems, *left))
        digests, missing = digests_of(bundle), missing_programs(bundle, host.environ)
    files = {path: file for path, file in fetched.files.items() if "node_modules/" not in path}
    findings = tuple(one for one in scan_files(files) if one.code not in _EXPECTED)
    return Candidate(fetched, bundle, digests, missing, findings, digest_of(fetched.files), marketplace, entry)


def _stem(origin: Origin) -> str:
    import re

    last = re.split(r"[/:]", (origin.subfolder or origin.place).rstrip("/"))[-1]
    return re.sub(r"(\.git|\.zip|\.plugin|\.skill|\.tar(\.\w+)?|\.tgz)$", "", last) or "bundle"


def _holds_something(bundle: Bundle) -> bool:
    return bool(
        bundle.manifest
        or bundle.skills
        or bundle.commands
        or bundle.agents
        or bundle.hooks
        or bundle.servers
        or bundle.parts
    )


def _empty(fetched: Fetched, origin: Origin) -> PackageError:
    market = next((path for path in fetched.files if path.endswith("marketplace.json")), None)
    hint = f"it holds a marketplace: skillkit marketplace add {redacted(origin.place)}" if market else None
    below = sorted({p.partition("/.claude-plugin/")[0] for p in fetched.files if "/.claude-plugin/plugin.json" in p})
    if hint is None and below:
        hint = f"name a folder with --subfolder: {', '.join(below[:5])}"
    return PackageError("no-bundle", "there is no bundle", where=redacted(origin.place), hint=hint)


# --- shown and asked ----------------------------------------------------------------------------------------------------


def show(host: Host, one: Candidate, notes: Collection[str] = ()) -> None:
    """Print what a bundle brings and would run, what the scan found, and what of it has no effect."""
    source = one.fetched.origin
    place = f"{redacted(source.place)}{f' ({source.subfolder})' if source.subfolder else ''}"
    commit = f" at {one.fetched.resolved[:19]}" if one.fetched.resolved else ""
    size = sum(len(file.data) for file in one.fetched.files.values())
    about = [
        ("from", f"{one.marketplace + ': ' if one.marketplace else ''}{place}{commit}"),
        ("files", f"{len(one.fetched.files)}, {size:,} bytes"),
        ("note", list(notes)),
    ]
    print_bundle(one.bundle, one.digests, one.missing, about)
    if one.findings:
        echo("the scan found")
        for finding in one.findings[:30]:
            line = f":{finding.line}" if finding.line else ""
            echo(f"  {style('!', fg='yellow')} {escaped(f'{finding.path}{line}: {finding.message} ({finding.code})')}")
        if len(one.findings) > 30:
            echo(f"  and {len(one.findings) - 30} more")
    if one.bundle.problems:
        echo("problems")
        print_problems(one.bundle.problems)


def ask(one: Candidate, consent: Consent, question: str) -> None:
    """Return when a bundle may be installed.

    Raises:
        SkillKitError: it may not.
    """
    allowed = {f"scan-{rule.removeprefix('scan-')}" for rule in consent.allowed}
    findings = [finding for finding in one.findings if finding.code not in allowed]
    if findings and not consent.asks:
        first, more = findings[0], f" and {len(findings) - 1} more" if len(findings) > 1 else ""
        rules = sorted({finding.code.removeprefix("scan-") for finding in findings})
        place = f"{first.path}:{first.line}" if first.line else first.path
        raise SkillKitError(
            f"the scan found {first.code} in {place}{more}, so nothing is installed", where=one.name,
            hint="look at the files; if you trust them, add " + " ".join(f"--allow-findings {rule}" for rule in rules),
        )  # fmt: skip
    if consent.yes:
        return
    if not consent.asks:
        raise UsageError("nobody can be asked here", hint="look with --dry-run, then add with --yes")
    if findings:
        question += f", with {counted(len(findings), 'finding')} of the scan"
    if not click.confirm(f"{question}?"):
        raise SkillKitError("nothing was changed")


def hooks_to_note(one: Mapping[str, Hook], consent: Consent, known: Collection[str]) -> Iterator[tuple[str, Hook]]:
    """Yield the hooks that a person consents to, asking about each that is new, if somebody can be asked."""
    for digest, hook in one.items():
        if digest in known:
            continue
        named = any(
            text == "all" or (len(text) >= 8 and digest[7:].startswith(text.removeprefix("sha256-")))
            for text in consent.hooks
        )
        if named or (consent.asks and click.confirm(f"Let this hook run: {escaped(hook_line(hook))}")):
            yield digest, hook


def note_consents(host: Host, name: str, hooks: Mapping[str, Hook], consent: Consent) -> int:
    """Ask about hooks, and keep what was consented to; return how many wait."""
    from .books import read_state

    known = read_state(host).consents
    given = dict(hooks_to_note(hooks, consent, known))
    if given:
        with changing(host) as state:
            state.consents |= {digest: f"{name}: {hook_line(hook)}"[:500] for digest, hook in given.items()}
    return sum(digest not in known and digest not in given for digest in hooks)


def install(host: Host, one: Candidate, place: Place, consent: Consent) -> int:
    """Put a bundle in place, ask about its hooks, and return how many of them wait."""
    place.put(one.name, one.fetched.files, one.locked())
    return note_consents(host, one.name, one.digests, consent)


def changes(old: Installed, new: Candidate) -> list[str]:
    """Return what differs between an installed bundle and its source: files, and the hooks that are new or changed."""
    assert old.place is not None
    before = {path: file.data for path, file in old.place.files(old.name).items()}
    after = {path: file.data for path, file in new.fetched.files.items()}
    lines = [f"+ {path}" for path in sorted(after.keys() - before.keys())]
    lines += [f"- {path}" for path in sorted(before.keys() - after.keys())]
    lines += [f"~ {path}" for path in sorted(before.keys() & after.keys()) if before[path] != after[path]]
    known = {*old.consented, *old.waiting}
    return lines + [
        f"new or changed hook: {hook_line(hook)}" for digest, hook in new.digests.items() if digest not in known
    ]
