"""Skills that are about to be installed: shown, asked for, refused when the scan found something, then put in place."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from skillkit_core.cli.output import echo, short_path
from skillkit_core.errors import SkillKitError, UsageError

from .lock import locked
from .report import print_candidate, working
from .review import Candidate, review
from .source import Fetched, Source, fetch
from .target import Target

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Plan", "look"]


def look(host: Host, source: Source, wanted: Collection[str] = ()) -> tuple[Fetched, list[Candidate]]:
    """The files of a source and the skills in them; ``wanted``: only those of these names."""
    with working("Fetching", source.shown) as tell:
        fetched = fetch(source, host.environ, tell)
        if tell is not None:
            tell(f"looking at {len(fetched.files)} files")
        return fetched, review(fetched, wanted)


class Plan:
    """Skills that are to be installed once a person has seen them and agreed."""

    def __init__(
        self,
        target: Target,
        new: Sequence[tuple[Candidate, Fetched]],
        as_json: bool,
        yes: bool,
        allowed: Collection[str],
    ) -> None:
        self.target, self.new = target, new
        self.asks = not yes and not as_json and sys.stdin.isatty()
        self._yes, self._allowed = yes, {f"scan-{rule}" for rule in allowed}

    def show(self, host: Host) -> None:
        """Print the skills with all findings."""
        for one, fetched in self.new:
            print_candidate(one, fetched, list(self._notes(one, host)))
            echo()

    def _notes(self, one: Candidate, host: Host) -> Iterable[str]:
        if (folder := self.target.folder / one.name).exists():
            yield f"{short_path(str(folder))} is replaced"
        for entry in host.skills.entries():
            skill = entry.item
            if entry.name == one.name == skill.name and skill.path != self.target.folder / one.name:
                text = f"there is a skill {one.name!r} in the source {skill.source!r} too"
                yield f"{text}: 'skillkit skills list' says which one counts"

    def ask(self, question: str, replaced: Sequence[str]) -> None:
        """Return when the skills may be installed.

        Raises:
            SkillKitError: they may not.
        """
        findings = [(one, p) for one, _ in self.new for p in one.findings if p.code not in self._allowed]
        if findings and not self.asks:
            (one, problem), more = findings[0], f" and {len(findings) - 1} more" if len(findings) > 1 else ""
            place = f"{problem.path}:{problem.line}" if problem.line else problem.path
            rules = sorted({p.code.removeprefix("scan-") for _, p in findings})
            raise SkillKitError(
                f"the scan found {problem.code} in {place}{more}, so nothing is installed", where=one.name,
                hint="look at the files; if you trust them, add "
                + " ".join(f"--allow-findings {rule}" for rule in rules),
            )  # fmt: skip
        if self._yes:
            return
        if not self.asks:
            raise UsageError("nobody can be asked here", hint="look with --dry-run, then install with --yes")
        if findings:
            question += f", with {len(findings)} finding{'' if len(findings) == 1 else 's'} of the scan"
        if replaced:
            question += f", in place of {', '.join(replaced)}"
        if not click.confirm(f"{question}?"):
            raise SkillKitError("nothing was changed")

    def carry_out(self, *, replacing: Sequence[str], unchanged: Sequence[tuple[Candidate, Fetched]] = ()) -> None:
        """Install the skills.

        Args:
            replacing: those that are there already.
            unchanged: installed skills that are as they were; the lock file gets the source and commit that they have now.
        """
        entries = {one.name: locked(f.source, one.digest, f.resolved, one.path) for one, f in (*self.new, *unchanged)}
        self.target.put({one.name: one.files for one, _ in self.new}, entries, replacing)
