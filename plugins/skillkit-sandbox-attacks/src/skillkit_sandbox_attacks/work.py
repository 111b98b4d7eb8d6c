# ruff: noqa
# mypy: ignore-errors
"""What must still work inside: ``python work.py STAGE.json NAME ...`` prints the errors by name as JSON.

It imports the standard library alone. Each check runs in a Python of its own, in the first project.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORK = {}


def work(function):
    WORK[function.__name__] = function
    return function


def sh(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, **more)
    assert done.returncode == 0, f"{' '.join(argv)[:80]}: status {done.returncode}: {done.stderr[-300:]}"
    return done.stdout


def git(*args):
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*"]
    return sh("git", *who, *args)


@work
def python_runs():
    assert sh(sys.executable, "-c", "import ssl, sqlite3, ctypes, zlib, decimal; print(6 * 7)") == "42\n"


@work
def shell_pipeline():
    assert sh("sh", "-c", "printf 'b\\na\\n' | sort | tr a-z A-Z | tee copy.txt | head -1") == "A\n"


@work
def write_in_project():
    os.makedirs("d/e", exist_ok=True)
    Path("d/a").write_text("1")
    os.rename("d/a", "d/b")
    os.replace("d/b", "d/e/c")
    os.link("d/e/c", "d/l")
    os.symlink("l", "d/s")
    os.chmod("d/l", 0o755)
    os.utime("d/l", (5, 5))
    shutil.rmtree("d")


@work
def edit_existing_file():
    with open("existing.txt", "a") as file:
        file.write("more\n")
    assert Path("existing.txt").read_text().endswith("more\n")


@work
def run_own_script():
    Path("script").write_text("#!/bin/sh\necho ran $1\n")
    os.chmod("script", 0o755)
    assert sh("./script", "it") == "ran it\n"


@work
def cwd_is_project():
    assert os.getcwd() == STAGE["projects"][0], os.getcwd()


@work
def read_system_files():
    assert os.listdir("/usr/bin") and Path("/etc/passwd").read_text()


@work
def basic_environment():
    assert os.environ["PATH"] and os.environ["HOME"] and "SUITE_SECRET" not in os.environ


@work
def dev_nodes():
    Path("/dev/null").write_text("x")
    with open("/dev/zero", "rb") as zero, open("/dev/urandom", "rb") as random:
        assert zero.read(3) == b"\0\0\0" and len(random.read(8)) == 8


@work
def proc_self():
    assert Path("/proc/self/status").read_text() and "MemTotal" in Path("/proc/meminfo").read_text()
    assert sh("sh", "-c", "echo x > /dev/fd/1") == "x\n"


@work
def git_status():
    git("status", "--short")


@work
def git_add_commit():
    Path("new.txt").write_text("new")
    git("add", "new.txt", "existing.txt")
    git("commit", "-qm", "more")
    assert "more" in git("log", "--oneline")


@work
def git_branch_switch_stash():
    start = git("rev-parse", "--abbrev-ref", "HEAD").strip()
    git("switch", "-qc", "side")
    Path("side.txt").write_text("side")
    git("add", "side.txt")
    git("commit", "-qm", "side")
    git("switch", "-q", start)
    Path("existing.txt").write_text("changed\n")
    git("stash", "-q")
    git("merge", "-q", "--no-edit", "side")
    git("stash", "pop", "-q")
    git("gc", "-q")


@work
def node_runs():
    if shutil.which("node"):
        code = (
            "const {Worker}=require('worker_threads'); const c=require('child_process'); "
            "console.log(c.execSync('echo child').toString().trim()); "
            "new Worker('require(\"worker_threads\").parentPort.postMessage(1)',{eval:true}).on('message',m=>console.log('w'+m))"
        )
        assert sh("node", "-e", code) == "child\nw1\n"


@work
def venv_create():
    sh(sys.executable, "-m", "venv", "--without-pip", "made-venv")
    assert "made-venv" in sh("made-venv/bin/python", "-c", "import sys; print(sys.prefix)")


@work
def venv_of_project():
    assert "premade-venv" in sh(
        STAGE["projects"][0] + "/premade-venv/bin/python", "-c", "import sys; print(sys.prefix)"
    )


@work
def pip_version():
    with contextlib.suppress(ImportError):
        import pip

        assert "pip" in sh(sys.executable, "-m", "pip", "--version")


def square(n):
    return n * n


@work
def multiprocessing_pool():
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(square, range(4)) == [0, 1, 4, 9]


@work
def multiprocessing_shared_memory():
    from multiprocessing import shared_memory

    memory = shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[0] = 7
    memory.close()
    memory.unlink()


@work
def process_pool_executor():
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(square, range(3))) == [0, 1, 4]


@work
def sqlite_database():
    import sqlite3

    for mode in ("delete", "wal"):
        with sqlite3.connect(f"{mode}.db") as base:
            assert base.execute(f"pragma journal_mode={mode}").fetchone() == (mode,)
            base.execute("create table if not exists t (a)")
            base.execute("insert into t values (1)")


@work
def temporary_files():
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
        file.write(b"x")
        Path(folder, "y").write_text("y")
    if not STAGE.get("shared_tmp"):
        Path("/tmp/fixed-name").write_text("z")


@work
def asyncio_subprocess():
    import asyncio

    async def main():
        process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
        assert (await process.communicate(b"through"))[0] == b"through"

    asyncio.run(main())


@work
def socketpair_between_children():
    import socket

    one, two = socket.socketpair()
    if os.fork() == 0:
        two.sendall(b"child")
        os._exit(0)
    assert one.recv(10) == b"child"
    os.wait()


@work
def threads_and_signals():
    import threading

    thread = threading.Thread(target=time.sleep, args=(0,))
    thread.start()
    thread.join()
    child = subprocess.Popen(["sleep", "60"])
    child.terminate()
    assert child.wait() == -signal.SIGTERM


@work
def kill_own_group():
    child = subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60"], start_new_session=True)
    os.killpg(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


@work
def file_locks_and_mmap():
    import fcntl
    import mmap

    with open("locked", "w+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096) as memory:
            memory[0] = 1
            memory.flush()
    os.mkfifo("fifo")
    os.unlink("fifo")


@work
def epoll_eventfd_inotify():
    import ctypes
    import select

    select.epoll().close()
    libc = ctypes.CDLL(None)
    assert libc.eventfd(0, 0) >= 0 and libc.inotify_init() >= 0 and libc.timerfd_create(1, 0) >= 0


@work
def pseudo_terminal():
    import pty

    main, other = pty.openpty()
    child = subprocess.Popen(["sh", "-c", "test -t 0 && echo tty"], stdin=other, stdout=other, start_new_session=True)
    assert b"tty" in os.read(main, 100)
    child.wait()
    pid, fd = pty.fork()
    if pid == 0:
        os.execlp("sh", "sh", "-c", "echo controlling > /dev/tty")
    assert b"controlling" in os.read(fd, 100)
    os.waitpid(pid, 0)


@work
def compile_c():
    if compiler := shutil.which("cc") or shutil.which("gcc"):
        Path("hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
        sh(compiler, "-O0", "hello.c", "-o", "hello")
        assert sh("./hello") == "hello\n"


@work
def user_name_and_time_zone():
    import pwd

    assert pwd.getpwuid(os.getuid()).pw_name and time.localtime().tm_year > 2000


@work
def big_file():
    Path("big").write_bytes(b"x" * (20 << 20))
    os.unlink("big")


@work
def memory_200mb():
    assert len(bytearray(200 << 20)) == 200 << 20


@work
def thirty_processes():
    children = [subprocess.Popen(["sleep", "0.05"]) for _ in range(30)]
    assert [child.wait() for child in children] == [0] * 30


@work
def loopback_between_children():
    if STAGE.get("no_sockets"):
        return
    import socket

    server = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        socket.create_connection(server.getsockname()).sendall(b"hi")
        os._exit(0)
    assert server.accept()[0].recv(5) == b"hi"
    os.wait()


STAGE = {}


def run(name):
    """Run one check in a child, and return what went wrong."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = ""
        try:
            signal.alarm(90)
            WORK[name]()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode()[:4000])
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitpid(pid, 0)[1]
    return said or (f"status {status}" if status else "")


def main():
    STAGE.update(json.loads(Path(sys.argv[1]).read_text()))
    print("\n" + json.dumps({name: run(name) for name in sys.argv[2:] or WORK}), flush=True)


if __name__ == "__main__":
    main()
