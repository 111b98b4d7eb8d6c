"""What a repository's own settings may run while git only reads: a folder that came from elsewhere may bring settings.

``git status`` starts what ``core.fsmonitor``, a filter, a hook or the settings of a submodule name; ``git diff`` and ``git log``
a ``textconv``, an external diff, ``gpg``. So a repository is plain only where its settings are those below, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .paths import inside

__all__ = ["is_plain_repository"]

# of each section the names that run nothing; * stands for all
_HARMLESS = {
    "core": "abbrev autocrlf bare checkstat commentchar compression eol filemode ignorecase logallrefupdates longpaths "
    "precomposeunicode preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf symlinks trustctime "
    "untrackedcache whitespace",
    "remote": "fetch gh-resolved mirror prune push pushurl tagopt url",
    "extensions": "objectformat refstorage",
    "submodule": "active url",
    "user": "email name signingkey",
    "pull": "ff rebase",
    "push": "autosetupremote default followtags",
    "fetch": "parallel prune prunetags",
    "init": "defaultbranch",
    "rebase": "autosquash autostash updaterefs",
    "merge": "conflictstyle ff",
    "rerere": "autoupdate enabled",
    "status": "branch short showuntrackedfiles",
    "log": "abbrevcommit date decorate follow",
    "diff": "algorithm colormoved mnemonicprefix noprefix renamelimit renames",
    "gc": "auto",
    "commit": "gpgsign verbose",
    "tag": "gpgsign sort",
    "lfs": "access repositoryformatversion",
    **dict.fromkeys(("advice", "branch", "color", "column", "gui"), "*"),
}
_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\\n]|\\.)*")?\][ \t]*')
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?\Z")
# the mode of a submodule in the index
_SUBMODULE = b"\x00\x00\xe0\x00"


def is_plain_repository(folder: str, roots: Sequence[str]) -> bool:
    """Return whether git, started in a folder, works in a repository inside the roots whose settings run nothing.

    Where there is no repository, git ends with an error, and runs nothing either.
    """
    for top in (Path(folder), *Path(folder).parents):
        if (top / ".git").exists():
            return inside(str(top), roots) and _is_plain(top / ".git")
        if all((top / name).exists() for name in ("HEAD", "objects", "refs")):
            # git takes such a folder for a repository without a tree
            return False
    return True


def _is_plain(path: Path) -> bool:
    try:
        own = _folder(path)
        shared = own / (own / "commondir").read_text("utf-8").strip() if (own / "commondir").exists() else own
        return _settings_are_harmless(shared / "config") and not any(_may_run(own, shared))
    except (OSError, ValueError):
        return False


def _folder(path: Path) -> Path:
    """Return the folder that a path is, or that the file at the path names (``gitdir: ../x`` of a working tree)."""
    if path.is_dir():
        return path
    return path.parent / path.read_text("utf-8").strip().removeprefix("gitdir:").strip()


def _may_run(own: Path, shared: Path) -> Iterator[bool]:
    """Yield what, beside settings, makes git run something: a hook, settings of a working tree, submodules."""
    yield (shared / "hooks" / "post-index-change").exists()
    yield (own / "config.worktree").exists()
    yield any(own.glob("sharedindex.*"))
    index = own / "index"
    yield index.exists() and _SUBMODULE in index.read_bytes()


def _settings_are_harmless(config: Path) -> bool:
    names = ""
    for line in map(str.strip, config.read_text("utf-8").split("\n")):
        while section := _SECTION.match(line):
            names = _HARMLESS.get(section[1].lower(), "")
            line = line[section.end() :]
        if not line or line[0] in "#;":
            continue
        name = _NAME.match(line)
        # a value that goes on in the next line is not taken apart
        if name is None or line.endswith("\\") or (names != "*" and name[1].lower() not in names.split()):
            return False
    return True
