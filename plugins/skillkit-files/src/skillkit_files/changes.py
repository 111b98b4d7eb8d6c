"""What one call changes: files are looked at once, changed in memory, and then all of them on the disk, or none."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .folder import MAX_BYTES, FileError, Folder, Snapshot, digest_of, shown, write_all
from .text import Text, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Change", "Changes"]

# a folder that takes no new file, an owner that cannot be given, a file that is a mount of its own: as a sandbox has them
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one file.

    Attributes:
        path: the file, relative to the root.
        before: the file as it was; ``None``: there was none.
        after: the new content; ``None``: the file goes, or keeps its content.
        mode: permission bits of the file afterwards; ``None``: those that a new file gets.
        gone: the file is removed.
        source: the path that the file had; its content is ``after``, or unchanged.
        owner: the file whose owner a moved file keeps.
        executable: a new file can be executed.
        link: the target of the link that is made again (rewind).
    """

    path: str
    before: Snapshot | None
    after: bytes | None = None
    mode: int | None = None
    gone: bool = False
    source: str | None = None
    owner: Snapshot | None = None
    executable: bool = False
    link: str | None = None

    @property
    def digest(self) -> str | None:
        """The digest of the file afterwards; ``None``: it is gone, or nobody looked at its content."""
        if self.gone:
            return None
        if self.after is not None:
            return digest_of(self.after)
        whose = self.owner or self.before
        return whose.digest if whose is not None else None

    @property
    def new(self) -> bool:
        """Whether there was no file before."""
        return self.before is None

    @property
    def void(self) -> bool:
        """Whether the file stays as it is."""
        if self.before is None:
            return self.gone
        same_mode = self.mode is None or self.mode == self.before.mode
        return not self.gone and same_mode and (self.after is None or self.after == self.before.data)


class Changes:
    """The changes of one call.

    Args:
        folder: where the files are.
        seen: the digests of files as the agent knows them (``None``: the agent found none), by real path. Files that are
            others now are refused.

    Attributes:
        in_place: files that :meth:`commit` wrote as they lie there, because nothing can take their place.
    """

    def __init__(self, folder: Folder, seen: MutableMapping[str, str | None]) -> None:
        self.folder = folder
        self.seen = seen
        self.in_place: list[str] = []
        self._found: dict[str, Snapshot | None] = {}
        self._changes: dict[str, Change] = {}

    @property
    def made(self) -> Sequence[Change]:
        """The changes that change something."""
        return [change for change in self._changes.values() if not change.void]

    # --- looking ----------------------------------------------------------------------------------------------

    def look(self, path: str, *, link: bool = False) -> tuple[str, Snapshot | None]:
        """Return the place of a file, and the file as it was before the call.

        Raises:
            FileError: the file is not what the agent knows.
        """
        rel = self.folder.locate(path, last=not link)
        if not rel:
            raise FileError("is_directory", f"{shown(path)} is a folder")
        if rel not in self._found:
            found = self._found[rel] = self.folder.snapshot(rel, link=link)
            key = self.key(rel)
            if key in self.seen and not (found is not None and found.data is None):
                now = found.digest if found is not None else None
                if now != self.seen[key]:
                    known = self.seen[key]
                    happened = "was made" if known is None else "was removed" if found is None else "was changed"
                    raise FileError(
                        "conflict",
                        f"{shown(path)} {happened} by somebody else since you read it (changed on disk); read it again",
                    )
        return rel, self._found[rel]

    def key(self, rel: str) -> str:
        """Return the name under which ``seen`` knows a file."""
        return f"{self.folder.root}/{rel}"

    def exists(self, rel: str) -> bool:
        """Return whether the file is there after the changes so far."""
        change = self._changes.get(rel)
        return not change.gone if change is not None else self._found.get(rel) is not None

    def require(self, path: str) -> str:
        """Return the place of a file that is there after the changes so far, or raise :class:`FileError`."""
        rel, _ = self.look(path)
        if not self.exists(rel):
            raise self.folder.missing(rel)
        return rel

    def text(self, path: str) -> tuple[str, Text]:
        """Return the place of a file and its text after the changes so far."""
        rel = self.require(path)
        data = self._data(rel)
        if data is None:
            raise FileError(
                "too_large", f"{shown(path)} is larger than {MAX_BYTES >> 20} MiB; change it with a program"
            )
        return rel, decode(data, path)

    def _data(self, rel: str) -> bytes | None:
        change = self._changes.get(rel)
        if change is not None and change.after is not None:
            return change.after
        whose = change.owner if change is not None and change.owner is not None else self._found[rel]
        return whose.data if whose is not None else None

    # --- changing ---------------------------------------------------------------------------------------------

    def put(self, rel: str, data: bytes, *, mode: int | None = None) -> None:
        """Give a file a content. Make the file when there is none.

        Args:
            rel: what :meth:`look` returned.
            data: the whole content.
            mode: permission bits; default: those that the file has.
        """
        before, made = self._found[rel], self._changes.get(rel)
        if made is not None and not made.gone:
            self._changes[rel] = replace(made, after=data, mode=mode if mode is not None else made.mode)
            return
        if before is not None:
            self._writable(rel, before)
            if before.link is not None:
                before = None
        kept = before.mode if before is not None else None
        change = Change(rel, self._found[rel], data, mode if mode is not None else kept)
        self._changes[rel] = change

    def set_mode(self, rel: str, *, executable: bool) -> None:
        """Make a file executable for those who may read it, or for nobody."""
        change = self._changes.get(rel)
        before = change.owner if change is not None and change.owner is not None else self._found[rel]
        if before is None:
            if change is not None:
                self._changes[rel] = replace(change, executable=executable)
            return
        mode = before.mode | (before.mode & 0o444) >> 2 if executable else before.mode & ~0o111
        self._changes[rel] = replace(change or Change(rel, self._found[rel]), mode=mode)

    def remove(self, path: str) -> str:
        """Remove a file, or a link itself; return its place."""
        rel, before = self.look(path, link=True)
        if not self.exists(rel):
            raise self.folder.missing(rel)
        if before is not None and before.link is None:
            self._writable(rel, before)
        self._changes[rel] = Change(rel, before, gone=True)
        return rel

    def move(self, source: str, target: str) -> tuple[str, str]:
        """Move a file to a place where there is none; return both places."""
        old = self.require(source)
        new, _ = self.look(target, link=True)
        if new == old:
            return old, new
        if self.exists(new):
            raise FileError("exists", f"{shown(target)} exists already; a move does not overwrite")
        before, change = self._found[old], self._changes.get(old)
        owner = change.owner if change is not None and change.owner is not None else before
        if before is not None:
            self._writable(old, before)
        self._changes[old] = Change(old, before, gone=True)
        mode = change.mode if change is not None and change.mode is not None else owner.mode if owner else None
        after = change.after if change is not None else None
        self._changes[new] = Change(new, self._found[new], after, mode, source=old, owner=owner)
        return old, new

    def _writable(self, rel: str, before: Snapshot) -> None:
        """Raise :class:`FileError` for a file that is meant to stay: without any write bit, or somebody else's."""
        with self.folder.parent(rel) as (fd, name):
            allowed = before.link is not None or os.access(
                name, os.W_OK, dir_fd=fd, effective_ids=os.access in os.supports_effective_ids
            )
        if before.link is None and (not before.mode & 0o222 or not allowed):
            if before.mode & 0o222:
                # the system says why, for example that a sandbox lets nobody write here
                with self.folder.parent(rel) as (fd, name):
                    os.close(os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=fd))
            raise FileError("permission", f"{shown(rel)} is read-only (mode {before.mode:o})")

    # --- the disk ---------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Make all changes on the disk, or none; tell ``seen`` of them.

        Raises:
            FileError: a file cannot be written, or was changed meanwhile.
        """
        changes = self.made
        made: list[str] = []
        try:
            with contextlib.ExitStack() as stack:
                staged = [(change, stack.enter_context(self._staged(change, made))) for change in changes]
                for change, _ in staged:
                    self._unchanged(change)
                self._apply(staged)
        except BaseException:
            for rel in reversed(made):
                with contextlib.suppress(OSError, FileError), self.folder.parent(rel) as (fd, name):
                    os.rmdir(name, dir_fd=fd)
            raise
        for change in changes:
            if change.gone or change.digest is not None:
                self.seen[self.key(change.path)] = change.digest
            else:
                self.seen.pop(self.key(change.path), None)

    @contextlib.contextmanager
    def _staged(self, change: Change, made: list[str]) -> Iterator[str | None]:
        """Write the new content beside its place, and yield the name there; ``None``: there is none, or no room for it."""
        if change.gone or change.after is None or change.link is not None:
            if not change.gone:
                with self.folder.parent(change.path, made=made):
                    pass
            yield None
            return
        with self.folder.parent(change.path, made=made) as (fd, _):
            name: str | None = f".{secrets.token_hex(8)}.skillkit"
            try:
                self._write(fd, str(name), change)
            except OSError as error:
                if change.new or error.errno not in _IN_PLACE:
                    raise self.folder.error(error, change.path) from error
                name = None
            try:
                yield name
            finally:
                if name is not None:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=fd)

    def _write(self, fd: int, name: str, change: Change) -> None:
        """Write the content to a new file in the folder ``fd``, with the mode and the owner that it shall have."""
        assert change.after is not None
        file = os.open(name, _NEW, 0o777 if change.executable else 0o666, dir_fd=fd)
        try:
            write_all(file, change.after)
            whose = change.owner or change.before
            if whose is not None and whose.link is None:
                mine = os.fstat(file)
                if (whose.info.st_uid, whose.info.st_gid) != (mine.st_uid, mine.st_gid):
                    os.fchown(file, whose.info.st_uid, whose.info.st_gid)
            if change.mode is not None:
                os.fchmod(file, change.mode)
            os.fsync(file)
        except BaseException:
            os.unlink(name, dir_fd=fd)
            raise
        finally:
            os.close(file)

    def _unchanged(self, change: Change) -> None:
        """Raise :class:`FileError` when the file is not the one that was looked at."""
        try:
            with self.folder.parent(change.path) as (fd, name):
                now: os.stat_result | None = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileError as error:
            if error.code != "not_found":
                raise
            now = None
        then = change.before.info if change.before is not None else None
        if (now is None) != (then is None) or (
            now is not None
            and then is not None
            and (now.st_ino, now.st_size, now.st_mtime_ns) != (then.st_ino, then.st_size, then.st_mtime_ns)
        ):
            raise FileError("conflict", f"{shown(change.path)} was changed by somebody else just now; read it again")

    def _apply(self, staged: Sequence[tuple[Change, str | None]]) -> None:
        """Put the staged files in their places. When one step fails, undo what was done."""
        done: list[Change] = []
        moved = {c.source for c, name in staged if c.source is not None and name is None and c.after is None}
        try:
            # what is removed goes last: the content of a large file could not be brought back
            for change, name in sorted(staged, key=lambda pair: pair[0].gone):
                if change.gone and change.path in moved:
                    continue
                done.append(change)
                self._step(change, name)
        except BaseException:
            for change in reversed(done):
                self._undo(change)
            raise

    def _step(self, change: Change, name: str | None) -> None:
        with self.folder.parent(change.path) as (fd, own):
            if change.gone:
                os.unlink(own, dir_fd=fd)
            elif change.link is not None:
                if not change.new:
                    os.unlink(own, dir_fd=fd)
                os.symlink(change.link, own, dir_fd=fd)
            elif change.after is None and change.source is not None:
                with self.folder.parent(change.source) as (old_fd, old):
                    os.rename(old, own, src_dir_fd=old_fd, dst_dir_fd=fd)
                if change.mode is not None:
                    os.chmod(own, change.mode, dir_fd=fd)
            elif change.after is None:
                os.chmod(own, change.mode or 0, dir_fd=fd)
            elif name is None:
                self._overwrite(fd, own, change)
            elif change.new:
                # unlike a rename, a link never takes the place of a file that appeared meanwhile
                try:
                    os.link(name, own, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
                except PermissionError:
                    # a file system without hard links
                    os.rename(name, own, src_dir_fd=fd, dst_dir_fd=fd)
            else:
                try:
                    os.rename(name, own, src_dir_fd=fd, dst_dir_fd=fd)
                except OSError as error:
                    if error.errno not in _IN_PLACE:
                        raise
                    self._overwrite(fd, own, change)

    def _overwrite(self, fd: int, name: str, change: Change) -> None:
        assert change.after is not None
        self.in_place.append(change.path)
        overwrite(fd, name, change.after, change.mode)

    def _undo(self, change: Change) -> None:
        """Put a file back as it was."""
        with contextlib.suppress(OSError, FileError), self.folder.parent(change.path) as (fd, own):
            before = change.before
            if change.after is None and change.source is not None:
                with self.folder.parent(change.source) as (old_fd, old):
                    os.rename(own, old, src_dir_fd=fd, dst_dir_fd=old_fd)
            elif before is None:
                os.unlink(own, dir_fd=fd)
            elif before.link is not None:
                os.symlink(before.link, own, dir_fd=fd)
            elif before.data is None or (change.after is None and not change.gone):
                os.chmod(own, before.mode, dir_fd=fd)
            elif change.path in self.in_place:
                overwrite(fd, own, before.data, before.mode)
            else:
                back = Change(change.path, before, before.data, before.mode)
                name = f".{secrets.token_hex(8)}.skillkit"
                self._write(fd, name, back)
                os.rename(name, own, src_dir_fd=fd, dst_dir_fd=fd)


def overwrite(fd: int, name: str, data: bytes, mode: int | None) -> None:
    """Write a file in its place, which keeps its owner."""
    file = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        write_all(file, data)
        os.ftruncate(file, len(data))
        if mode is not None and mode != os.fstat(file).st_mode & 0o7777:
            os.fchmod(file, mode)
    finally:
        os.close(file)
