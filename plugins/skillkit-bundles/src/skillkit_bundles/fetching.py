"""Where bundles come from: what a person names, and the files that are there. Nothing of them is executed.

Folders and repositories are read as they are; an archive of an address needs a digest, or is shown with the one that it has; a
package of npm is unpacked, and its scripts never run.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillkit_skill_packages import (
    Entry,
    File,
    PackageError,
    Source,
    folder_entries,
    git_entries,
    latest_commits,
    named_source,
    read_archive,
    redacted,
    take,
)

from skillkit_core.errors import UsageError

from .books import Origin

__all__ = ["Fetched", "fetch", "listed", "named", "newest", "unpacked"]

_MOST_FILES = 10_000
_MOST_BYTES = 100 * 2**20
_MOST_DOWNLOAD = 32 * 2**20
_SECONDS = 60
_ARCHIVE = re.compile(r"\.(?:zip|tar|tar\.\w+|tgz|tbz2?|txz|skill|plugin)$")
_NPM = re.compile(r"npm:((?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@([\w.^~<>=*| -]+))?\Z")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a source.

    Attributes:
        resolved: the commit of a repository, the version of a package.
        left_out: what was not taken, each with why.
    """

    origin: Origin
    files: Mapping[str, File]
    resolved: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


def named(text: str, cwd: Path, *, ref: str | None = None, subfolder: str = "", digest: str | None = None) -> Origin:
    """Return the source that a person names.

    A folder, an archive, the address of a repository, ``owner/name[@ref][#folder]`` of GitHub, the address of an archive with
    its digest, ``npm:package[@version]``.

    Raises:
        UsageError: it is none.
    """
    if digest is not None:
        digest = _digest(digest)
    if match := _NPM.match(text):
        return Origin(kind="npm", place=match[1], ref=ref or match[2], subfolder=subfolder)
    url = urlsplit(text)
    if url.scheme in ("http", "https") and _ARCHIVE.search(url.path):
        _check_address(text)
        if ref is not None:
            raise UsageError("only a repository has a --ref", where=redacted(text))
        return Origin(kind="url", place=text, subfolder=_folder(subfolder), digest=digest)
    source = named_source(text, cwd, ref=ref, subfolder=subfolder)
    if digest is not None and source.kind != "archive":
        raise UsageError("only an archive has a --digest", where=text)
    kind = "archive" if source.kind == "wheel" else source.kind
    return Origin(kind=kind, place=source.place, ref=source.ref, subfolder=source.subfolder, digest=digest)


def listed(source: Mapping[str, Any], market: Origin) -> Origin:
    """Return the source of a bundle that a marketplace lists; paths count from the marketplace's root.

    Raises:
        UsageError: its kind cannot be fetched.
    """
    kind, path = source["kind"], _folder(str(source.get("path") or "").strip("."))
    ref = source.get("sha") or source.get("ref")
    if kind == "path":
        return market.model_copy(update={"subfolder": posixpath.join(market.subfolder, path).strip("/")})
    if kind == "github":
        return Origin(kind="git", place=f"https://github.com/{source['repo']}.git", ref=ref, subfolder=path)
    if kind in ("git", "git-subdir"):
        place = source["url"]
        short = re.fullmatch(r"[\w.-]+/[\w.-]+", place)
        return Origin(kind="git", place=f"https://github.com/{place}.git" if short else place, ref=ref, subfolder=path)
    if kind == "npm":
        if source.get("registry"):
            raise UsageError("a marketplace chooses no registry here: set it in your own settings of npm")
        return Origin(kind="npm", place=source["package"], ref=source.get("version"))
    if kind == "archive":
        digest = source.get("sha256")
        if digest is None:
            raise UsageError("the marketplace gives no digest of the archive, so it is not fetched")
        return Origin(kind="url", place=source["url"], digest=_digest(digest))
    command = f": {source.get('command')}" if source.get("command") else ""
    raise UsageError(
        f"a bundle that a program makes is not installed{command}", hint="run it yourself, and add its folder"
    )


def _digest(text: str) -> str:
    plain = re.sub(r"^sha256[-:]", "", text.strip().lower())
    if not re.fullmatch(r"[0-9a-f]{64}", plain):
        raise UsageError(f"{text!r} is no SHA-256 digest", hint="64 hexadecimal digits")
    return f"sha256-{plain}"


def _folder(text: str) -> str:
    plain = text.strip("/")
    if ".." in plain.split("/") or "\0" in plain:
        raise UsageError(f"{text!r} is no folder below the source")
    return plain


def _check_address(text: str) -> None:
    """Raise for an address that archives are not fetched from: http is for this machine alone."""
    url = urlsplit(text)
    if url.scheme == "https" or (url.scheme == "http" and (url.hostname or "") in ("localhost", "127.0.0.1", "::1")):
        return
    raise UsageError("an archive is fetched over https", where=redacted(text))


# --- the files ----------------------------------------------------------------------------------------------------------


def fetch(origin: Origin, environ: Mapping[str, str], tell: Tell | None = None) -> Fetched:
    """Get the files of a source into memory.

    Raises:
        PackageError: it cannot be had, or breaks a rule for packages.
        OSError: a file cannot be read.
    """
    if origin.kind == "git":
        shown = redacted(origin.place)
        with git_entries(origin.place, origin.ref, "", environ, shown=shown, tell=tell) as (
            commit,
            entries,
            submodules,
        ):
            files, left = _taken(entries, origin, shown)
            left += [(name, "a submodule is not fetched") for name in submodules]
            kept = Source("git", origin.place).kept().place
            return Fetched(origin.model_copy(update={"place": kept}), files, commit, tuple(left))
    if origin.kind == "folder":
        root = Path(origin.place)
        if not root.is_dir():
            raise PackageError("source-missing", "there is no such folder", where=str(root))
        start = root / origin.subfolder
        if not start.resolve().is_relative_to(root.resolve()) or not start.is_dir():
            raise PackageError("source-missing", f"there is no folder {origin.subfolder!r}", where=str(root))
        # links to elsewhere in the source are copied, so the whole of it is looked at where a part is wanted
        files, left = _taken(folder_entries(root), origin, str(root))
        return Fetched(origin, files, left_out=tuple(left))
    if origin.kind == "archive":
        path = Path(origin.place)
        _check_digest(path, origin)
        return Fetched(origin, _below(_unwrapped(read_archive(path)), origin.subfolder, str(path)))
    with tempfile.TemporaryDirectory(prefix="skillkit-bundle-") as folder:
        if origin.kind == "url":
            path = _downloaded(origin, Path(folder), tell)
            found = _check_digest(path, origin)
            files = _below(_unwrapped(read_archive(path)), origin.subfolder, origin.place)
            return Fetched(origin.model_copy(update={"digest": found}), files, found)
        path, version = _packed(origin, Path(folder), environ)
        return Fetched(origin, _below(_unwrapped(read_archive(path)), origin.subfolder, origin.place), version)


def newest(origin: Origin, resolved: str, environ: Mapping[str, str]) -> bool:
    """Return whether a repository is still at the commit that was installed; ``False`` where that cannot be told."""
    if origin.kind != "git" or not resolved:
        return False
    if origin.ref == resolved:
        return True
    return resolved in latest_commits(origin.place, origin.ref, environ, redacted(origin.place))


def _taken(entries: Iterable[Entry], origin: Origin, where: str) -> tuple[dict[str, File], list[tuple[str, str]]]:
    """Return the files below the wanted folder, links inside the source followed, and what was left out."""
    left: list[tuple[str, str]] = []
    prefix = f"{origin.subfolder}/" if origin.subfolder else ""
    every = {entry.path: entry for entry in entries}
    wanted = []
    for path, entry in _resolved(every, prefix, left):
        wanted.append(replace(entry, path=path.removeprefix(prefix)))
    if not wanted:
        raise PackageError("source-missing", f"there is no folder {origin.subfolder!r}, or nothing in it", where=where)
    return take(wanted, where, most_files=_MOST_FILES, most_bytes=_MOST_BYTES), left


def _resolved(every: Mapping[str, Entry], prefix: str, left: list[tuple[str, str]]) -> Iterator[tuple[str, Entry]]:
    """Yield the entries below ``prefix``; a link within the source is what it leads to, any other is left out."""
    for path, entry in every.items():
        if not path.startswith(prefix):
            continue
        if entry.kind != "link":
            yield path, entry
            continue
        target = _target(every, path, 8)
        if target is None:
            left.append((path.removeprefix(prefix), "a link that leads out of the source, or nowhere, is left out"))
        elif target in every:
            yield path, replace(every[target], path=path)
        else:
            below = f"{target}/" if target else ""
            if f"{path}/".startswith(below):
                left.append((path.removeprefix(prefix), "a link to a folder above itself is left out"))
                continue
            for other, one in every.items():
                if other.startswith(below) and one.kind == "file":
                    yield f"{path}/{other.removeprefix(below)}", one


def _target(every: Mapping[str, Entry], path: str, most: int) -> str | None:
    """Return the path that a link leads to within the source; ``None``: it leads out, nowhere, or in a circle."""
    for _ in range(most):
        text = _link_text(every[path])
        if text is None or text.startswith("/"):
            return None
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
        if path.startswith("../") or path == "..":
            return None
        path = "" if path == "." else path
        if path not in every:
            return path if any(other.startswith(f"{path}/" if path else "") for other in every) else None
        if every[path].kind != "link":
            return path
    return None


def _link_text(entry: Entry) -> str | None:
    try:
        return os.fsdecode(entry.read(4096))
    except (OSError, PackageError, ValueError):
        return None


def _unwrapped(files: Mapping[str, File]) -> dict[str, File]:
    """Return files without the one folder that wraps everything, as archives of repositories and packages have it."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) == 1 and all("/" in path for path in files) and not next(iter(tops)).startswith("."):
        return {path.partition("/")[2]: file for path, file in files.items()}
    return dict(files)


def _below(files: Mapping[str, File], subfolder: str, where: str) -> dict[str, File]:
    if not subfolder:
        return dict(files)
    prefix = f"{subfolder}/"
    found = {path.removeprefix(prefix): file for path, file in files.items() if path.startswith(prefix)}
    if not found:
        raise PackageError("source-missing", f"there is no folder {subfolder!r}", where=where)
    return found


# --- archives of addresses, packages of npm -------------------------------------------------------------------------------


def _check_digest(path: Path, origin: Origin) -> str:
    with path.open("rb") as file:
        found = f"sha256-{hashlib.file_digest(file, 'sha256').hexdigest()}"
    if origin.digest is not None and origin.digest != found:
        text = f"its digest is {found}, and {origin.digest} was expected"
        raise PackageError("digest-mismatch", text, where=redacted(origin.place))
    if origin.digest is None and origin.kind == "url":
        raise PackageError(
            "digest-missing", "an archive of an address needs its digest", where=redacted(origin.place),
            hint=f"what is there now has --digest {found}",
        )  # fmt: skip
    return found


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections to addresses that archives are fetched from."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Follow, if the address may be asked."""
        _check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _downloaded(origin: Origin, folder: Path, tell: Tell | None) -> Path:
    path = folder / posixpath.basename(urlsplit(origin.place).path)
    opener = urllib.request.build_opener(_Redirects)
    try:
        with opener.open(origin.place, timeout=_SECONDS) as answer, path.open("xb") as file:
            size = 0
            while piece := answer.read(1 << 16):
                size += len(piece)
                if size > _MOST_DOWNLOAD:
                    text = f"the file has more than {_MOST_DOWNLOAD >> 20} MiB"
                    raise PackageError("archive-too-large", text, where=redacted(origin.place))
                file.write(piece)
                if tell is not None:
                    tell(f"{size:,} bytes")
    except OSError as error:
        raise PackageError("source-missing", f"cannot be fetched: {error}", where=redacted(origin.place)) from None
    return path


def _packed(origin: Origin, folder: Path, environ: Mapping[str, str]) -> tuple[Path, str]:
    """Return the file of a package of npm, and its version. ``npm pack`` fetches it and starts none of its scripts."""
    program = shutil.which("npm", path=environ.get("PATH"))
    if program is None:
        raise PackageError(
            "npm-missing", "there is no program 'npm'", hint="install it, or add the bundle from its repository"
        )
    wanted = f"{origin.place}@{origin.ref}" if origin.ref else origin.place
    argv = [program, "pack", "--ignore-scripts", "--json", "--pack-destination", str(folder), "--", wanted]
    passed = ("PATH", "HOME", "LANG", "TMPDIR", "http_proxy", "https_proxy", "no_proxy", "NPM_CONFIG_USERCONFIG")
    env = {name: environ[name] for name in passed if name in environ} | {"npm_config_ignore_scripts": "true"}
    done = subprocess.run(
        argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        raise PackageError("npm-failed", f"npm pack: {said[0] if said else done.returncode}", where=wanted)
    try:
        about = json.loads(done.stdout)[0]
        return folder / Path(str(about["filename"])).name.replace("/", "-"), str(about["version"])
    except (ValueError, LookupError, TypeError):
        found = next(iter(folder.glob("*.tgz")), None)
        if found is None:
            raise PackageError("npm-failed", "npm pack made no file", where=wanted) from None
        return found, ""


@contextmanager
def unpacked(fetched: Fetched, name: str) -> Iterator[Path]:
    """Give a folder that holds the files for a while, so that they can be read as a bundle."""
    from skillkit_skill_packages import write_files

    with tempfile.TemporaryDirectory(prefix="skillkit-bundle-") as folder:
        root = Path(folder).resolve() / (name or "bundle")
        write_files(root, fetched.files)
        yield root
