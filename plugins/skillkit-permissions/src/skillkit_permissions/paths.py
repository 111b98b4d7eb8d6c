"""Paths of rules and of requests: patterns as in gitignore, and every place that a path may mean."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from os.path import isabs, join, normpath, realpath

from skillkit_process import PROTECTED

__all__ = [
    "Place",
    "Unclear",
    "below",
    "decides_what_runs",
    "folded",
    "inside",
    "matches",
    "places",
    "segment",
    "split_pattern",
]

# all of git's own folder, where nobody edits by hand
_PROTECTED = tuple(f"/{folder}/" for folder in (".git", *PROTECTED))
_MOST_FILES = 5_000


class Unclear(Exception):
    """Nobody can say which file is meant."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands; all real paths.

    Attributes:
        cwd: where relative paths start.
        root: the project.
        home: the home folder.
        roots: the project and the further folders that are open.
    """

    cwd: str
    root: str
    home: str
    roots: tuple[str, ...]

    @classmethod
    def of(cls, cwd: str, root: str, home: str, extra: Sequence[str] = ()) -> Place:
        """Return the place of folders as they were given."""
        real = [realpath(folder) for folder in (root, *extra)]
        return cls(real[0] if cwd == root else realpath(cwd), real[0], realpath(home), tuple(real))


NOWHERE = Place("", "", "", ())
"""The place of a request that is not about files."""


def places(path: str, place: Place, cwd: str | None = None) -> frozenset[str]:
    """Return every absolute path that a path may mean: as written, and with its links followed.

    Raises:
        Unclear: the path has odd characters, names the home of somebody, or its links have no end.
    """
    if not path:
        raise Unclear("no path")
    from .shell import odd_characters  # only calls with paths or command lines need the parser

    if odd_characters(path):
        raise Unclear("a path with characters that are not shown")
    path = os.fspath(path)
    raw = [join(cwd or place.cwd, path)]
    if path == "~" or path.startswith("~/"):
        raw = [place.home + path[1:], *raw]
    elif path.startswith("~"):
        raise Unclear("the home folder of a named user")
    found: set[str] = set()
    for one in raw:
        for spelled in (one, normpath(one)):
            try:
                real = realpath(spelled, strict=True)
            except FileNotFoundError:
                real = realpath(spelled)
            except (OSError, ValueError) as error:
                raise Unclear(f"a path that cannot be followed ({type(error).__name__})") from error
            found.add(real)
        found.add(normpath(one))
    if len(raw) > 1:
        # an allow must hold for the file in the home folder; the folder "~" is no place to be told apart
        found = {p for p in found if p == normpath(raw[0]) or not p.startswith(normpath(raw[1]))} or found
    return frozenset(found)


def inside(path: str, folders: Sequence[str]) -> bool:
    """Return whether an absolute path is one of the folders or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def decides_what_runs(path: str, place: Place) -> bool:
    """Return whether an absolute path is one of those, at any depth, that programs obey later: hooks, settings, start files."""
    below_root = path[len(place.root) :] if inside(path, (place.root,)) else path
    text = f"/{folded(below_root).strip('/')}/"
    return any(one in text for one in _PROTECTED)


def matches(pattern: str, path: str, place: Place, *, approves: bool) -> bool:
    """Return whether a pattern of a rule covers an absolute path.

    Args:
        approves: the rule allows: case counts, a name alone holds only below the working folder, and a folder's name needs
            ``/`` or ``/**`` behind it to cover what is in the folder.
    """
    regex = _compiled(pattern, place, approves)
    return regex.match(path if approves else folded(path)) is not None


def below(pattern: str, folder: str, place: Place) -> bool:
    """Return whether a pattern of a rule that forbids covers a file below a folder. Too many files count as covered."""
    if not os.path.isdir(folder):
        return False
    left = _MOST_FILES
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            left -= 1
            if left < 0 or matches(pattern, join(where, name), place, approves=False):
                return True
    return False


@lru_cache(4096)
def _compiled(pattern: str, place: Place, approves: bool) -> re.Pattern[str]:
    base, depth, names = split_pattern(pattern, place, approves)
    parts: list[str] = []
    for at, name in enumerate(names):
        if name == "**":
            last = at == len(names) - 1
            parts.append(r"(?:/[^/]+)*" if not last else (r"(?:/.+)" if approves else r"(?:/.+)?"))
        else:
            parts.append("/" + segment(name if approves else folded(name)))
    whole = re.escape(base.rstrip("/") if approves else folded(base.rstrip("/")))
    whole += (r"(?:/[^/]+)*" if depth else "") + "".join(parts)
    behind = r"/.+" if pattern.strip().endswith("/") and approves else r"(?:/.*)?" if not approves else ""
    return re.compile(whole + behind + r"\Z", re.S)


def split_pattern(pattern: str, place: Place, approves: bool) -> tuple[str, bool, list[str]]:
    """Return the folder at which a pattern starts, whether it holds at any depth below, and its names."""
    text = pattern.strip()
    depth = False
    if text.startswith("//"):
        base, text = "", text[1:]
    elif text == "~" or text.startswith("~/"):
        base, text = place.home, text[1:]
    elif text.startswith("/"):
        base = place.root
    else:
        text = text.removeprefix("./")
        names = [name for name in text.split("/") if name and name != "**"]
        # gitignore: one name holds at any depth
        if not approves and len(names) <= 1 and ".." not in names:
            base, depth = "", True
        else:
            base = place.cwd
        text = "/" + text
    names = [name for name in normpath(text).split("/") if name] if ".." in text else [n for n in text.split("/") if n]
    if ".." in text and not isabs(pattern):
        joined = normpath(base + "/" + text.lstrip("/"))
        base, names = "", [name for name in joined.split("/") if name]
    return base, depth, names


def segment(name: str) -> str:
    """Return the expression of one name. A star does not cross a slash."""
    out: list[str] = []
    at = 0
    while at < len(name):
        c = name[at]
        end = name.find("]", at + 2) if c == "[" else -1
        if c in "*?":
            out.append("[^/]*" if c == "*" else "[^/]")
        elif end > 0:
            inner = name[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            out.append(f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]")
            at = end
        else:
            out.append(re.escape(c))
        at += 1
    return "".join(out)


def folded(text: str) -> str:
    """Return a name as rules that forbid compare it."""
    return unicodedata.normalize("NFKC", text).casefold()
