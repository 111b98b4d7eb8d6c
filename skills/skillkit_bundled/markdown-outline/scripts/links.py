"""Action `links`: the broken links of a Markdown file, or of all below a folder; nothing is fetched."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Problem, Result, count, fitting, regular_file, run, shown, table  # noqa: E402
from markdown import Document, Link, read  # noqa: E402

SUFFIXES = (".md", ".markdown", ".mdown")
SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})
MOST_FILES = 5_000
MOST_BROKEN = 300


@dataclass(slots=True)
class Check:
    """The links that were looked at."""

    links: int = 0
    external: list[str] = field(default_factory=list)
    broken: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@cache
def _document(path: Path) -> Document:
    return read(path, str(path))


def links(values: Mapping[str, str]) -> Result:
    """Check every link to a file or a heading; links to other hosts are listed, never fetched."""
    name = values["path"]
    check = Check()
    files = _files(name, check)
    for path in files:
        try:
            document = _document(path)
        except (Problem, OSError) as problem:
            if len(files) == 1:
                raise
            check.notes.append(f"{path} was not checked: {problem}")
            continue
        for link in document.links:
            _look_at(check, path, document, link)
    hosts = sorted({urlsplit(target).netloc for target in check.external if "//" in target})
    checked = (
        f"{count(check.links, 'link')} in {shown(name) if len(files) == 1 else count(len(files), 'Markdown file')}"
    )
    lines = [f"{checked}: {count(len(check.broken), 'broken link') if check.broken else 'no broken links'}"]
    if check.broken:
        rows = [
            [f"{item['file']}:{item['line']}", str(item["target"]), str(item["reason"])] for item in check.broken[:50]
        ]
        lines += ["", table(["where", "link", "why"], rows, widest=60)]
    if len(check.broken) > 50:
        lines.append(f"... and {len(check.broken) - 50:,} more")
    if check.external:
        lines.append(f"{count(len(check.external), 'link')} to {count(len(hosts), 'other host')} not fetched")
    return {
        "answer": "\n".join([*lines, *(f"note: {shown(note)}" for note in check.notes)]),
        "path": name,
        "files": len(files),
        "links": check.links,
        "broken": fitting(check.broken[:MOST_BROKEN]),
        "broken_count": len(check.broken),
        "external": fitting(sorted(set(check.external))[:MOST_BROKEN], 50_000),
        "notes": check.notes,
    }


def _files(name: str, check: Check) -> list[Path]:
    if not Path(name).is_dir():
        return [regular_file(name)]
    found: list[Path] = []
    for parent, folders, names in os.walk(name):
        folders[:] = sorted(below for below in folders if below not in SKIPPED)
        found += [Path(parent, file) for file in sorted(names) if file.lower().endswith(SUFFIXES)]
        if len(found) > MOST_FILES:
            check.notes.append(f"only the first {MOST_FILES:,} files were checked")
            return found[:MOST_FILES]
    found = [path for path in found if path.is_file()]
    if not found:
        raise Problem(f"there is no Markdown file in {name}")
    return found


def _look_at(check: Check, path: Path, document: Document, link: Link) -> None:
    check.links += 1
    try:
        target = urlsplit(link.target)
    except ValueError:
        reason = "not a valid address"
    else:
        if not link.undefined and (target.scheme or target.netloc):
            check.external.append(link.target)
            return
        reason = _reason(path, document, link)
    if reason:
        place = {
            "file": shown(str(path)),
            "line": link.line,
            "target": shown(link.target),
            "text": shown(link.text[:80]),
        }
        check.broken.append({**place, "reason": reason})


def _reason(path: Path, document: Document, link: Link) -> str:
    """Return why the link is broken, or ""."""
    if link.undefined:
        return "no such reference is defined"
    file, _, fragment = link.target.partition("#")
    file = unquote(file.partition("?")[0])
    if not file and not fragment:
        return "empty link" if link.target != "#" else ""
    if file:
        base = Path.cwd() if file.startswith("/") else path.parent
        goal = base / file.lstrip("/")
        try:
            if not goal.resolve().is_relative_to(Path.cwd().resolve()):
                return "points outside the workspace"
            if not goal.exists():
                return "no such file"
            if not fragment or goal.suffix.lower() not in SUFFIXES or not goal.is_file():
                return ""
            document = _document(goal)
        except (Problem, OSError, ValueError):
            return "not readable"
    anchor = unquote(fragment).lower()
    return "" if anchor in document.anchors or anchor == "top" else "no such heading"


if __name__ == "__main__":
    sys.exit(run(links, positional=["path"]))
