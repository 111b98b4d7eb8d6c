"""The files of a zip, ``.skill``, tar or wheel file; the kind of archive is told by its first bytes."""

from __future__ import annotations

import io
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, cast

from skillkit_core.settings.documents import open_regular

from .contents import MAX_BYTES, Entry, File, Files, PackageError, take

__all__ = ["read_archive", "wheel_folders"]

SKILLS = "skillkit.skills"
# What unpacks to 25 MiB in 2,000 files is at most this large with all headers, also where nothing is compressed.
MAX_ARCHIVE = MAX_BYTES + 7 * 2**20


def read_archive(path: Path) -> dict[str, File]:
    """The files of an archive.

    Raises:
        PackageError: it is no archive, is damaged, or breaks a rule of ARC-1.
        OSError: it cannot be read.
    """
    with open_regular(path) as file:
        data = file.read(MAX_ARCHIVE + 1)
    if len(data) > MAX_ARCHIVE:
        raise PackageError("archive-too-large", f"the file has more than {MAX_ARCHIVE // 2**20} MiB", where=str(path))
    try:
        return take(_zip(data, path) if data[:2] == b"PK" else _tar(data, path), str(path))
    except PackageError:
        raise
    except Exception as error:  # zipfile and tarfile raise almost anything for damaged data
        text = f"the archive is damaged: {type(error).__name__}: {error}"
        raise PackageError("archive-corrupt", text, where=str(path)) from error


def _zip(data: bytes, path: Path) -> Iterator[Entry]:
    from zipfile import ZipFile, ZipInfo

    with ZipFile(io.BytesIO(data)) as archive:

        def read(info: ZipInfo, most: int) -> bytes:
            with archive.open(info) as file:
                return file.read(most)

        for info in archive.infolist():
            if info.flag_bits & 1:
                raise PackageError("archive-corrupt", f"{info.filename!r} is encrypted", where=str(path))
            mode = info.external_attr >> 16
            kind = stat.S_IFMT(mode)
            yield Entry(
                info.filename,
                "folder" if info.is_dir() or kind == stat.S_IFDIR
                else "link" if kind == stat.S_IFLNK
                else "file" if kind in (0, stat.S_IFREG)
                else "special",
                info.file_size,
                bool(mode & stat.S_IXUSR),
                partial(read, info),
            )  # fmt: skip


def _tar(data: bytes, path: Path) -> Iterator[Entry]:
    from tarfile import TarInfo, open as open_tar

    # As a stream: the headers of one file are read after the content of the file before, so that limits hold in time.
    with open_tar(fileobj=_Limited(_decompressed(data, path)), mode="r|") as archive:

        def read(member: TarInfo, most: int) -> bytes:
            file = archive.extractfile(member)
            return b"" if file is None else file.read(most)

        for member in archive:
            yield Entry(
                member.name,
                "folder" if member.isdir()
                else "link" if member.issym() or member.islnk()
                else "file" if member.isreg()
                else "special",
                member.size,
                bool(member.mode & stat.S_IXUSR),
                partial(read, member),
            )  # fmt: skip


def _decompressed(data: bytes, path: Path) -> IO[bytes]:
    raw = io.BytesIO(data)
    if data[:2] == b"\x1f\x8b":
        import gzip

        return cast(IO[bytes], gzip.open(raw))
    if data[:3] == b"BZh":
        import bz2

        return cast(IO[bytes], bz2.open(raw))
    if data[:6] == b"\xfd7zXZ\0":
        import lzma

        return cast(IO[bytes], lzma.open(raw))
    if data[257:262] != b"ustar":
        raise PackageError("archive-corrupt", "it is no zip, .skill, tar or wheel file", where=str(path))
    return raw


class _Limited(io.RawIOBase):
    """A stream that refuses to give more than an acceptable tar file has, headers included."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._room = stream, MAX_ARCHIVE

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes."""
        data = self._stream.read(min(size, self._room + 1) if size >= 0 else self._room + 1)
        self._room -= len(data)
        if self._room < 0:
            raise PackageError("archive-too-large", f"the files have more than {MAX_BYTES // 2**20} MiB")
        return data


def _packages_of_skills(text: str) -> Iterator[str]:
    """The packages that an ``entry_points.txt`` names in the group of skills."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif group == SKILLS and (package := line.partition("=")[2].partition(":")[0].strip()):
            yield package


def wheel_folders(files: Files, where: str) -> tuple[str, list[str]]:
    """Name and version of a wheel, and the folders that its entry points of the group ``skillkit.skills`` name.

    Raises:
        PackageError: there is no such entry point, or no such folder.
    """
    info = next((p for p in files if p.count("/") == 1 and p.endswith(".dist-info/entry_points.txt")), None)
    text = files[info].data.decode("utf-8", "replace") if info else ""
    packages = list(_packages_of_skills(text))
    if info is None or not packages:
        hint = f"it must have an entry point in the group {SKILLS!r}"
        raise PackageError("wheel-without-skills", "the wheel brings no skills", where=where, hint=hint)
    folders = [package.replace(".", "/") for package in packages]
    for folder in folders:
        if not any(path.startswith(f"{folder}/") for path in files):
            text = f"the wheel has an entry point for {folder!r}, and no such folder"
            raise PackageError("wheel-without-skills", text, where=where)
    return info.partition(".dist-info")[0].replace("-", " "), folders
