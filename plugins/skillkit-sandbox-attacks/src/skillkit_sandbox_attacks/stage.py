"""The host of the sandbox suite: projects, files outside, daemons and a decoy process, and what of it was changed."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["NOBODY", "Stage", "readable_python"]

NOBODY = 65534
_DECOY = """
import ctypes, os, signal, sys
count = 0
def hit(*_):
    global count
    count += 1
signal.signal(signal.SIGUSR1, hit)
memory = ctypes.create_string_buffer(b"untouched", 64)
print(ctypes.addressof(memory), flush=True)
sys.stdin.readline()
print(count, memory.value.decode(), flush=True)
"""
# what must work has to work under these; attacks by amount meet smaller ones, so that a failure costs little
_LIMITS = {"processes": 100, "memory_mb": 512, "disk_mb": 64, "open_files": 512}
_TIGHT = {"processes": 100, "memory_mb": 128, "disk_mb": 4, "open_files": 64}
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {} import main; main()"


class Stage:
    """What attacks find outside.

    Args:
        place: the folder that the stage is made in.
        uid: the user that everything belongs to, and that attacks run as.
        names: the attacks; each has a file that is called after it.
        python: the Python that runs inside.
    """

    def __init__(self, place: str, uid: int, names: Iterable[str], python: str) -> None:
        self.uid, self.python = uid, python
        self.root = Path(tempfile.mkdtemp(prefix="skillkit-suite-", dir=place)).resolve()
        self.id = secrets.token_hex(6)
        self.secret = secrets.token_hex(12)
        self.projects = [self.root / f"p{n}" for n in (1, 2, 3)]
        self.outside, self.home, self.far = self.root / "outside", self.root / "home", self.root / "far"
        self.log: dict[str, bytes] = {}
        self._stop = threading.Event()
        self._sockets: list[socket.socket] = []
        self._files(names)
        self._daemons()
        self.tty_main, self._tty = pty.openpty()
        os.chmod(os.ttyname(self._tty), 0o666)
        self.decoy = subprocess.Popen(
            [python, "-I", "-c", _DECOY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **self.as_user(),
            env={"SUITE_SECRET": self.secret},
        )  # fmt: skip
        assert self.decoy.stdout is not None
        self._address = int(self.decoy.stdout.readline())
        self._before = self._seen()

    def as_user(self) -> dict[str, Any]:
        """Return the arguments of :class:`subprocess.Popen` for the user of the stage."""
        if self.uid == os.getuid():
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}

    def _files(self, names: Iterable[str]) -> None:
        os.chmod(self.root, 0o755)
        one, two, three = self.projects
        for made in (
            one,
            two,
            three,
            self.outside,
            self.home,
            self.far / "hidden",
            one / "hidden",
            one / "deep" / "er" / "hidden",
        ):
            made.mkdir(parents=True)
        git = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=a", "-c", "user.email=a@b"]
        (one / "existing.txt").write_text("first\n")
        for args in (["init", "-q"], ["add", "existing.txt"], ["commit", "-qm", "first"]):
            subprocess.run([*git, *args], cwd=one, check=True, capture_output=True)
        (one / ".mcp.json").write_text("{}")
        for hidden in self.hidden:
            Path(hidden, "secret.txt").write_text(self.secret)
        (one / "to-hidden").symlink_to(one / "hidden")
        (one / "premade").symlink_to(self.outside)
        (one / "premade.txt").symlink_to(self.outside / "write_symlink_premade.txt")
        for name in names:
            (self.outside / f"{name}.txt").write_text("before\n")
        (self.outside / "delete_outside.d").mkdir()
        (self.home / ".bashrc").write_text("before\n")
        (self.root / "secret").write_text(self.secret)
        for folder in ("/tmp", "/var/tmp", "/dev/shm"):
            self._shared(folder).write_text(self.secret)
        here = Path(__file__).parent
        shutil.copy(here / "work.py", one)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(here / "attacks", one / "attacks", ignore=ignore)
        for path in (self.root, *self.root.rglob("*"), *map(self._shared, ("/tmp", "/var/tmp", "/dev/shm"))):
            if self.uid != os.getuid():
                os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def make_venv(self) -> None:
        """Make the virtual environment that lies in the project before the sandbox starts."""
        folder = self.projects[0] / "premade-venv"
        subprocess.run([self.python, "-I", "-m", "venv", "--without-pip", str(folder)], check=True, **self.as_user())

    def _shared(self, folder: str) -> Path:
        return Path(folder, f"skillkit-suite-{self.id}")

    @property
    def hidden(self) -> list[str]:
        """The hidden folders: in the project, deep in it, and outside."""
        one = self.projects[0]
        return [str(one / "hidden"), str(one / "deep" / "er" / "hidden"), str(self.far / "hidden")]

    def policy(self, **more: Any) -> dict[str, Any]:
        """Return the policy that the suite asks for."""
        one, two, three = map(str, self.projects)
        protect = [
            f"{one}/.git/hooks",
            f"{one}/.git/config",
            f"{one}/.mcp.json",
            f"{one}/.hostsettings",
            f"{two}/.git",
            f"{three}/.git",
        ]
        env = ["PATH", "HOME", "LANG", "LC_*", "USER", "TERM", "SUITE_ALLOWED"]
        return {
            "write": [one, two, three], "write_files": [], "read": ["/"], "protect": protect, "hide": self.hidden,
            "network": "off", "env": env, "limits": None, **more,
        }  # fmt: skip

    @property
    def limits(self) -> dict[str, int]:
        """The limits that everything must work under."""
        return dict(_LIMITS)

    @property
    def tight(self) -> dict[str, int]:
        """The limits that attacks by amount meet."""
        return dict(_TIGHT)

    def _daemons(self) -> None:
        one = self.projects[0]
        self._tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        with contextlib.suppress(OSError):
            self._listen(socket.AF_INET6, ("::1", self._tcp))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self._udp = udp.getsockname()[1]
        self._receive(udp)
        with contextlib.suppress(OSError):
            six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            six.bind(("::1", self._udp))
            self._receive(six)
        self._listen(socket.AF_UNIX, str(self.root / "daemon.sock"))
        self._listen(socket.AF_UNIX, str(one / "daemon.sock"))
        self._listen(socket.AF_UNIX, f"\0suite-{self.id}")
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams.bind(str(self.root / "dgram.sock"))
        self._receive(datagrams)
        for path in (self.root / "daemon.sock", one / "daemon.sock", self.root / "dgram.sock"):
            path.chmod(0o777)
        free = socket.socket()
        free.bind(("127.0.0.1", 0))
        self._free = free.getsockname()[1]
        free.close()
        threading.Thread(target=self._knock, daemon=True).start()

    def _listen(self, family: int, address: Any) -> int:
        sock = socket.socket(family)
        sock.bind(address)
        sock.listen()
        sock.settimeout(0.2)
        self._sockets.append(sock)
        threading.Thread(target=self._accept, args=(sock,), daemon=True).start()
        return int(sock.getsockname()[1]) if family != socket.AF_UNIX else 0

    def _accept(self, sock: socket.socket) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(OSError):
                client, _ = sock.accept()
                client.settimeout(1)
                said = client.recv(1000)
                self._note(said)
                if said.startswith(b"folder"):
                    socket.send_fds(client, [b"x"], [os.open(self.outside, os.O_RDONLY)])
                client.close()

    def _receive(self, sock: socket.socket) -> None:
        sock.settimeout(0.2)
        self._sockets.append(sock)

        def work() -> None:
            while not self._stop.is_set():
                with contextlib.suppress(OSError):
                    self._note(sock.recv(1000))

        threading.Thread(target=work, daemon=True).start()

    def _note(self, said: bytes) -> None:
        self.log[said.decode(errors="replace")] = said

    def _knock(self) -> None:
        while not self._stop.wait(0.2):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._free), 0.2).close()

    def data(self) -> dict[str, Any]:
        """Return what the attacks know."""
        return {
            "id": self.id, "projects": list(map(str, self.projects)), "outside": str(self.outside), "hidden": self.hidden,
            "home": str(self.home), "decoy": self.decoy.pid, "runner": os.getpid(), "address": self._address,
            "tcp": self._tcp, "udp": self._udp, "listen": self._free, "abstract": f"suite-{self.id}",
            "sockets": [str(self.root / "daemon.sock"), "/var/run/docker.sock", "/run/systemd/private"],
            "dgram": str(self.root / "dgram.sock"), "tty": os.ttyname(self._tty), "limits": _TIGHT,
        }  # fmt: skip

    def run(self, wrap: list[str], module: str, names: Iterable[str], **more: Any) -> tuple[dict[str, str], str]:
        """Run a module of the suite inside; return what it says by name, and its errors."""
        (self.projects[0] / "stage.json").write_text(json.dumps({**self.data(), **more}))
        folder, secret = os.open(self.outside, os.O_RDONLY), os.open(self.root / "secret", os.O_RDONLY)
        main, terminal = pty.openpty()
        try:
            done = subprocess.run(
                [*wrap, self.python, "-I", "-c", _START.format(module), str(self.projects[0]), "stage.json", *names],
                cwd=self.projects[0],
                env={"PATH": f"{os.defpath}:/usr/local/bin", "HOME": str(self.home), "SUITE_SECRET": self.secret},
                stdin=terminal, pass_fds=[folder, secret], capture_output=True, text=True, errors="replace", timeout=300,
                start_new_session=True, check=False, **self.as_user(),
            )  # fmt: skip
        finally:
            for fd in (folder, secret, main, terminal):
                os.close(fd)
        try:
            return json.loads(done.stdout.splitlines()[-1]), done.stderr
        except (ValueError, IndexError):
            raise AssertionError(f"status {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}") from None

    def _seen(self) -> dict[str, Any]:
        """Return what of the stage must not change, by path."""
        one, two, three = self.projects
        found: dict[str, Any] = {}
        watched = [
            *self.outside.rglob("*"), self.outside, self.home / ".bashrc", one / ".mcp.json", one / ".git" / "config",
            one / ".git" / "hooks", *(one / ".git" / "hooks").rglob("*"), one / ".hostsettings", two / ".git", three / ".git",
            *map(self._shared, ("/tmp", "/var/tmp", "/dev/shm")),
            *(self.root.glob("p2*")),
        ]  # fmt: skip
        for path in watched:
            if os.path.lexists(path):
                stat = path.lstat()
                content = path.read_bytes() if path.is_file() else None
                modified = None if path.is_dir() else stat.st_mtime_ns
                found[str(path)] = (
                    stat.st_mode,
                    stat.st_uid,
                    stat.st_gid,
                    modified,
                    content,
                    tuple(os.listxattr(path)),
                )
        return found

    def changed(self) -> list[str]:
        """Return the paths that changed, came or went, and what daemons, the decoy and the terminal noticed."""
        after = self._seen()
        found = [path for path in {**self._before, **after} if self._before.get(path) != after.get(path)]
        found += [f"a daemon heard {said!r}" for said in self.log]
        for path in self.projects[0].rglob("*"):
            if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6000:
                found.append(f"setuid {path}")
        os.set_blocking(self.tty_main, False)
        with contextlib.suppress(BlockingIOError):
            found.append(f"terminal: {os.read(self.tty_main, 100)!r}")
        return found

    def close(self) -> list[str]:
        """End everything, remove it, and return what the decoy noticed."""
        said, _ = self.decoy.communicate("\n", timeout=20)
        self._stop.set()
        for sock in self._sockets:
            sock.close()
        for fd in (self.tty_main, self._tty):
            os.close(fd)
        for folder in ("/tmp", "/var/tmp", "/dev/shm"):
            self._shared(folder).unlink(missing_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)
        return [] if said.strip() == "0 untouched" else [f"decoy: {said.strip()!r}"]


def readable_python(uid: int) -> str | None:
    """Return a Python that a user can start: this one, or the system's."""
    for candidate in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        found = os.path.realpath(candidate)
        if os.path.exists(found) and (uid == os.getuid() or _open_to_all(found)):
            return candidate if uid == os.getuid() else found
    return None


def _open_to_all(path: str) -> bool:
    return all(os.stat(folder).st_mode & 0o001 for folder in (path, *map(str, Path(path).parents)))
