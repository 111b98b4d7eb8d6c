"""The fenced blocks of the documentation, with what the comments in front of them say."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<language>[\w+-]*)\s*$")
USES = re.compile(r"^<!-- uses: (\S+) -->$", re.M)
MARK = re.compile(r"^ *<!-- (?P<name>no-run|file|output|check)(?:: *(?P<value>.*?))? -->\s*$")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    ``no_run``: why it is not run. ``file``: where its text is written instead of being run. ``output``: it is what the
    block before printed. ``check``: which reader validates it.
    """

    page: Path
    line: int
    language: str
    text: str
    no_run: str | None = None
    file: str | None = None
    output: bool = False
    check: str | None = None

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page of documentation."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "skills" / "README.md"]
    found += [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("plugins/*/README.md"))]
    return [page for page in found if page.is_file()]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    out: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    i = 0
    while i < len(lines):
        opened = FENCE.match(lines[i])
        if opened is None:
            i += 1
            continue
        start, indent, fence = i, opened["indent"], opened["fence"]
        i += 1
        while i < len(lines) and lines[i].strip() != fence:
            i += 1
        assert i < len(lines), f"{page.relative_to(ROOT)}:{start + 1}: the fence is never closed"
        body = "".join(line.removeprefix(indent) + "\n" for line in lines[start + 1 : i])
        marks = _marks(lines, start)
        out.append(
            Block(
                page, start + 1, opened["language"], body, marks.get("no-run"), marks.get("file"), "output" in marks,
                marks.get("check"),
            )
        )  # fmt: skip
        i += 1
    return out


def used(page: Path) -> dict[str, str]:
    """The files of the pages that ``<!-- uses: page -->`` names: they are there before the first block runs."""
    names = USES.findall(page.read_text(encoding="utf-8"))
    return {path: text for name in names for path, text in files(page.parent / name).items()}


def _marks(lines: list[str], start: int) -> dict[str, str]:
    """The comments on the lines right before a fence."""
    marks: dict[str, str] = {}
    while start and (found := MARK.match(lines[start - 1])):
        marks[found["name"]] = found["value"] or ""
        start -= 1
    return marks


def files(page: Path) -> dict[str, str]:
    """The files that a page prints, by path."""
    return {block.file: block.text for block in blocks(page) if block.file}
