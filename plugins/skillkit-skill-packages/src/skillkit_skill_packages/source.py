"""Where a package comes from: what a person names, what the lock file keeps of it, and the files that are there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from skillkit_core.errors import UsageError
from skillkit_core.settings.documents import open_regular

from .contents import Entry, File, PackageError, near_skills, take
from .git import USER, Tell, redacted, user_kept

__all__ = ["Fetched", "Source", "fetch", "folder_entries", "named"]

_URL = re.compile(r"(?:git\+)?([a-z][a-z0-9+.-]*)://", re.I)
_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!/?-)\S+")  # git@host:owner/repository
_MOST_WALKED = 50_000  # files: a home folder has more, a repository hardly
_SCHEMES = ("https", "http", "ssh", "git", "file")
_SHORT = re.compile(r"([A-Za-z0-9][\w-]*/[A-Za-z0-9_][\w.-]*?)(?:\.git)?(?:@([^#\s]+))?(?:#([^\s]+))?\Z")
_GITHUB = "https://github.com/"
_REF = re.compile(r"(?!-|.*\.\.)[\w./+#=@-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a package comes from.

    Attributes:
        place: address of a repository, or path of a folder or file.
        ref: branch, tag or full commit id of a repository; ``None``: its default branch.
        subfolder: only what is below this folder.
    """

    kind: Literal["git", "folder", "archive", "wheel"]
    place: str
    ref: str | None = None
    subfolder: str = ""

    @property
    def shown(self) -> str:
        """The place without secrets."""
        return redacted(self.place)

    @property
    def stem(self) -> str:
        """The name of a skill that lies at the source's root and says no name of its own."""
        last = re.split(r"[/:]", (self.subfolder or self.place).rstrip("/"))[-1]
        return re.sub(r"(\.git|\.zip|\.skill|\.whl|\.tar(\.\w+)?|\.tgz)$", "", last) or "skill"

    def kept(self) -> Source:
        """The source as the lock file keeps it: without a password, and without the user of a web address."""
        return replace(self, place=USER.sub(user_kept, self.place))


def named(text: str, cwd: Path, *, ref: str | None = None, subfolder: str = "") -> Source:
    """The source that a person named: an address, a path, or a repository of GitHub, ``owner/name[@ref][#folder]``.

    Raises:
        UsageError: it is none, or an address or a name that git could take for something else.
    """
    short = _SHORT.fullmatch(text)
    if short and not os.path.lexists(cwd / text):
        text, ref, subfolder = f"{_GITHUB}{short[1]}.git", ref or short[2], subfolder or short[3] or ""
    if ref is not None and not _REF.fullmatch(ref):
        raise UsageError(f"{ref!r} is no branch, tag or commit")
    folder = subfolder.strip("/")
    if ".." in folder.split("/") or "\0" in folder or subfolder.startswith("/"):
        raise UsageError(f"{subfolder!r} is no folder below the source")
    url = _URL.match(text)
    place = text.removeprefix("git+")
    helper = re.match(r"[\w+.-]+::", place)  # git would start the program git-remote-NAME
    if url or helper or _SCP.fullmatch(text):
        host = re.match(r"\w+://(?:[^/@]*@)?-", place)
        if helper or (url and url[1].lower() not in _SCHEMES) or host or re.search(r"[\s\x00-\x1f]", place):
            raise UsageError(
                "is no address of a repository that is fetched from", where=redacted(text),
                hint=f"give one that begins with {', '.join(f'{s}://' for s in _SCHEMES)} or user@host:",
            )  # fmt: skip
        return Source("git", place, ref, folder)
    if text.startswith("-"):
        raise UsageError(f"{text!r} is an option", hint=f"write ./{text} for a file of that name")
    path = cwd / Path(text).expanduser()
    if ref is not None and path.is_dir():
        return Source("git", path.resolve().as_uri(), ref, folder)
    if ref is not None:
        raise UsageError("only a repository has a --ref", where=text)
    if path.is_dir():
        return Source("folder", str(path.resolve()), None, folder)
    if not path.is_file():
        raise UsageError("there is no such folder or file, and it is no address of a repository", where=str(path))
    return Source("wheel" if path.suffix == ".whl" else "archive", str(path.resolve()), None, folder)


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a source.

    Attributes:
        resolved: the commit of a repository, name and version of a wheel; else empty.
        left_out: submodules, which are not fetched.
    """

    source: Source
    files: Mapping[str, File]
    resolved: str = ""
    left_out: tuple[str, ...] = ()


def fetch(source: Source, environ: Mapping[str, str], tell: Tell | None = None) -> Fetched:
    """Get the files of a source into memory; nothing of it is executed.

    Raises:
        PackageError: it cannot be had, or breaks a rule of ARC-1.
        OSError: a file cannot be read.
    """
    if source.kind == "git":
        from .git import fetched

        with fetched(
            source.place, source.ref, source.subfolder, environ, shown=source.shown, tell=tell
        ) as (commit, entries, submodules):  # fmt: skip
            return Fetched(source, take(_wanted(entries, source), source.shown), commit, tuple(submodules))
    if source.kind == "folder":
        root = Path(source.place, source.subfolder)
        if not root.resolve().is_relative_to(source.place) or not root.is_dir():
            raise PackageError("source-missing", "there is no such folder", where=str(root))
        return Fetched(source, take(_wanted(folder_entries(root), source), str(root)))
    from .archives import read_archive, wheel_folders

    files, resolved = read_archive(Path(source.place)), ""
    if source.kind == "wheel":
        resolved, folders = wheel_folders(files, source.place)
        files = {p: f for p, f in files.items() if any(p.startswith(f"{folder}/") for folder in folders)}
    if source.subfolder:
        prefix = f"{source.subfolder}/"
        files = {p.removeprefix(prefix): f for p, f in files.items() if p.startswith(prefix)}
    return Fetched(source, files, resolved)


def _wanted(entries: list[Entry], source: Source) -> list[Entry]:
    """The entries near skills; a place that has none says where some are hidden."""
    if found := near_skills(entries):
        return found
    elsewhere = sorted({e.path.rpartition("/")[0].rpartition("/")[0] for e in entries if e.path.endswith("/SKILL.md")})
    hint = f"name a folder with --subfolder: {', '.join(elsewhere[:3])}" if elsewhere else None
    raise PackageError("no-skill", "there is no folder with a SKILL.md", where=source.shown, hint=hint)


def folder_entries(root: Path) -> list[Entry]:
    """Every file below a folder, but what git and Python keep beside; a link reads as what it leads to, and is not followed."""
    found = []
    for folder, names, files in os.walk(root, onerror=_raise):
        names[:] = sorted(name for name in names if name not in (".git", "__pycache__"))
        linked = [name for name in names if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
        found += [_file(root, Path(folder, name)) for name in [*linked, *sorted(files)]]
        if len(found) > _MOST_WALKED:
            text = f"the folder has more than {_MOST_WALKED:,} files"
            raise PackageError("source-too-large", text, where=str(root), hint="name the folder of the skills")
    return found


def _raise(error: OSError) -> None:
    raise error


def _file(root: Path, path: Path) -> Entry:
    about = path.lstat()
    kind: Literal["file", "link", "special"]
    kind = "link" if stat.S_ISLNK(about.st_mode) else "file" if stat.S_ISREG(about.st_mode) else "special"

    def read(most: int) -> bytes:
        if kind == "link":
            return os.fsencode(path.readlink())[:most]
        with open_regular(path) as file:
            return file.read(most)

    return Entry(path.relative_to(root).as_posix(), kind, about.st_size, bool(about.st_mode & stat.S_IXUSR), read)
