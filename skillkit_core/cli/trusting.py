"""What a folder brings, shown to a person who decides: all of it the first time, then file by file what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import SkillKitError
from ..settings.trust import Trust
from .output import printable, style

if TYPE_CHECKING:
    from ..host.manager import Host

__all__ = ["Review"]

_COLOURS = {"  +": "green", "  -": "red", "  @": "cyan"}


class Review:
    """What a folder brings now, beside what the user has seen of it.

    The content is looked at before anything is shown, so that a change meanwhile does not count.

    Args:
        host: whose plugins say what counts in a folder, and whose list of trusted folders it is.
        folder: the real path of the folder.

    Attributes:
        content: the lines that describe each part of the folder, by its path.
        changed: the files that are not as the user saw them; empty: the folder was never trusted, or nothing changed.
    """

    def __init__(self, host: Host, folder: Path) -> None:
        from ..host.plugins import project_content

        self._trust, self._folder = Trust(host.data_dir), folder
        told = project_content(host, str(folder))
        self._seen = self._trust.look(folder, told)
        lines = {part: [line for describe in all_ for line in describe()] for part, all_ in told.items()}
        self.content = {part: found for part, found in lines.items() if found or (folder / part).exists()}
        self._before = self._trust.files(folder)
        self.changed = sorted(
            {*(self._trust.changed(folder) or ()), *self._seen["files"].keys() - self._before} if self._before else ()
        )

    def steps(self) -> Iterator[tuple[str, list[str], str]]:
        """Yield what a person is asked, one after the other: the file (``""``: all that counts), its lines, the question."""
        for file in self.changed:
            lines = (f"  {line}" for line in self._lines(file))
            yield file, [f"{file}: {self._how(file)}", *lines], f"Let {file} count as it is now?"
        if self.content and not self.changed:
            told = ([part, *(f"  {' '.join(line.split())}" for line in found)] for part, found in self.content.items())
            yield "", [line for part in told for line in part], f"Let this count in {self._folder}?"

    def ask(self, confirm: Callable[[str], bool] | None, show: Callable[[str], Any] | None) -> list[str]:
        """Show what counts, or what changed; return the files that the person does not let count, as :meth:`keep` takes them.

        Args:
            confirm: asks the person; ``None``: everything counts.
            show: prints a text; ``None``: nothing is shown.
        """
        refused = []
        for file, lines, question in self.steps():
            if show is not None:
                colours = [
                    _COLOURS.get(line[:3]) if file else None for line in lines
                ]  # heads, which are bold, have none
                painted = zip(map(printable, lines), colours, strict=True)
                show("\n".join(style(line, fg=colour, bold=line[:1] != " ") for line, colour in painted))
            if confirm is not None and not confirm(question):
                refused.append(file)
        return refused

    def keep(self, refused: list[str]) -> str:
        """Trust the folder as it was looked at, without the ``refused`` files; return its path.

        Raises:
            SkillKitError: the person does not trust a folder that was not trusted before.
        """
        if "" in refused:
            raise SkillKitError("the folder stays as it was", where=str(self._folder))
        return self._trust.add(self._folder, self._seen, refused)

    def data(self) -> dict[str, Any]:
        """Return what is shown as JSON: ``content`` of a folder, or ``changes`` since it was trusted."""
        changes = [{"file": f, "change": self._how(f), "difference": self._lines(f)} for f in self.changed]
        return {"changes": changes} if changes else {"content": self.content} if self.content else {}

    def _how(self, file: str) -> Literal["new", "gone", "changed"]:
        there = file in self._seen["files"]
        return "gone" if not there else "changed" if file in self._before else "new"

    def _lines(self, file: str) -> list[str]:
        """Return the difference of a text, as ``diff -u`` writes it without its two first lines."""
        from difflib import unified_diff

        before = self._trust.seen(self._folder, file)
        try:
            now = (self._folder / file).read_bytes().decode() if self._how(file) != "gone" else ""
        except (OSError, UnicodeDecodeError):
            return ["it is no text"]
        if before is None and self._how(file) == "changed":
            return ["what it was is not known any more"]
        if len(now) + len(before or "") > 1_000_000:
            return ["it is too long to be shown"]
        return [*unified_diff((before or "").splitlines(), now.splitlines(), n=2, lineterm="")][2:]
