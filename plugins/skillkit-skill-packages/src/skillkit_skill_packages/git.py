"""A git repository as a source: objects are fetched into an empty repository and read, and nothing is ever checked out.

Without a checkout there is nothing that a repository could have run: no hook, no filter, no submodule, no link.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import IO

from .contents import Entry, PackageError

__all__ = ["USER", "fetched", "latest", "redacted", "user_kept"]

USER = re.compile(r"(\w+://)([^/\s]*)@")

# ssh asks its agent, git its configuration and the system for proxies and certificates. Keys of models stay here.
_PASSED = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "TERM", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "SSH_AGENT_PID",
    "SSH_ASKPASS", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_CONFIG_GLOBAL",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
)  # fmt: skip
_CONFIG = (
    "core.hooksPath=/dev/null", "protocol.ext.allow=never", "submodule.recurse=false", "maintenance.auto=false",
    "http.lowSpeedLimit=1", "http.lowSpeedTime=60",
)  # fmt: skip
_KINDS = {"100644": "file", "100664": "file", "100755": "file", "120000": "link", "160000": "submodule"}
Tell = Callable[[str], None]


def redacted(text: str) -> str:
    """``text`` with ``***`` in place of user and password in addresses; the user of an address of ssh stays."""
    return USER.sub(lambda m: user_kept(m) if user_kept(m) != m[1] else f"{m[1]}***@", text)


def user_kept(match: re.Match[str]) -> str:
    """What is left of scheme and user of an address: the user of ssh stays, a password never."""
    return f"{match[1]}{match[2].partition(':')[0]}@" if match[1].lower() == "ssh://" else match[1]


def latest(url: str, ref: str | None, environ: Mapping[str, str], shown: str) -> set[str]:
    """The commits that ``ref`` (default: the default branch) stands for in the repository now."""
    wanted = ref or "HEAD"
    with tempfile.TemporaryDirectory(prefix="skillkit-git-") as folder:
        done = _git(folder, environ, "ls-remote", "--", url, wanted, f"{wanted}^{{}}", shown=shown)
    return {line.partition("\t")[0] for line in done.decode("ascii", "replace").splitlines()}


@contextmanager
def fetched(
    url: str, ref: str | None, subfolder: str, environ: Mapping[str, str], *, shown: str, tell: Tell | None = None
) -> Iterator[tuple[str, list[Entry], list[str]]]:
    """Fetch one commit and give its id, the entries below ``subfolder``, and the submodules among them, which are left out.

    Args:
        ref: a branch, a tag or a full commit id.
        shown: the address without secrets.
        tell: called with what git says while it works.

    Raises:
        PackageError: git is missing or failed.
    """
    with tempfile.TemporaryDirectory(prefix="skillkit-git-") as folder:
        _git(folder, environ, "init", "--quiet", "--bare", "--template=", folder, shown=shown)
        options = ["--depth=1", "--no-tags", "--no-recurse-submodules", "--progress" if tell else "--quiet"]
        _git(folder, environ, "fetch", *options, "--", url, ref or "HEAD", shown=shown, tell=tell)
        commit = _git(folder, environ, "rev-parse", "--verify", "FETCH_HEAD^{commit}", shown=shown).decode().strip()
        try:
            listed = _git(
                folder, environ, "ls-tree", "-r", "-z", "-l", "--full-tree", f"{commit}:{subfolder}", shown=shown
            )
        except PackageError:
            text = f"there is no folder {subfolder!r} at commit {commit[:12]}"
            raise PackageError("source-missing", text, where=shown) from None
        with _Blobs(folder, environ) as blobs:
            entries, submodules = [], []
            for line in listed.split(b"\0")[:-1]:
                about, _, name = line.partition(b"\t")
                mode, _, oid, size = about.decode("ascii").split()
                kind, path = _KINDS.get(mode, "special"), os.fsdecode(name)
                if kind == "submodule":
                    submodules.append(path)
                    continue
                length = int(size)
                entries.append(
                    Entry(
                        path, "link" if kind == "link" else "file" if kind == "file" else "special",
                        length, mode == "100755", partial(blobs.read, oid, length),
                    )
                )  # fmt: skip
            yield commit, entries, submodules


def _argv(folder: str, *arguments: str) -> list[str]:
    settings = [word for setting in _CONFIG for word in ("-c", setting)]
    return ["git", f"--git-dir={folder}", *settings, *arguments]


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _PASSED if name in environ} | {
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",  # counts for redirections and rewritten addresses too
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _git(folder: str, environ: Mapping[str, str], *arguments: str, shown: str, tell: Tell | None = None) -> bytes:
    """What git printed; it runs in the temporary folder, so that no other repository's configuration counts."""
    try:
        process = subprocess.Popen(
            _argv(folder, *arguments), cwd=folder, env=_environment(environ),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except FileNotFoundError:
        raise PackageError(
            "git-missing", "there is no program 'git'", hint="install git, or download an archive"
        ) from None
    assert process.stdout is not None and process.stderr is not None
    try:
        if tell is None:
            out, err = process.communicate()
        else:
            err = _progress(process.stderr, tell)
            out = process.stdout.read()
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    if status != 0:
        said = [line for line in redacted(err.decode("utf-8", "replace")).splitlines() if line.strip()]
        text = next(
            (line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else f"status {status}"
        )
        raise PackageError("git-failed", f"git {arguments[0]}: {text.partition(': ')[2] or text}", where=shown)
    return out


def _progress(stream: IO[bytes], tell: Tell) -> bytes:
    """Pass on what git says; return the last of it."""
    last = b""
    while piece := os.read(stream.fileno(), 4096):
        last = (last + piece)[-20_000:]
        words = last.replace(b"\r", b"\n").split(b"\n")
        tell((words[-1] or words[-2] if len(words) > 1 else words[-1]).decode("utf-8", "replace"))
    return last


class _Blobs:
    """Reads the contents of files by their ids; git hands them out as they are stored, and no filter sees them."""

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            _argv(folder, "cat-file", "--batch"), cwd=folder, env=_environment(environ),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> _Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read(self, oid: str, size: int, _: int) -> bytes:
        """Return the content of the object ``oid``, which has ``size`` bytes."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(f"{oid}\n".encode())
        stdin.flush()
        head = stdout.readline().split()
        if head[-1:] != [str(size).encode()]:
            raise PackageError("git-failed", f"git cat-file: {b' '.join(head).decode('ascii', 'replace')}")
        return stdout.read(size + 1)[:size]
