"""Command lines in processes that are forked from one that has imported the core: a start costs milliseconds."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Forker"]

SECONDS = 60
# It reads a job from a line, and answers with the exit status of the process that it has forked for it. What a process leaves
# for its end happens there: the forked one goes on behind the loop, and ends as the Python that it is.
SERVER = """
import gc, json, os, runpy, signal, sys
import pydantic, yaml
import skillkit_core.cli.main, skillkit_core.config, skillkit_core.host.manager

stdlib = [entry for entry in sys.path if entry not in os.environ["PYTHONPATH"].split(os.pathsep)]
signal.signal(signal.SIGINT, signal.SIG_IGN)
gc.freeze()
for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if not pid:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    os._exit(0)
for number, path in enumerate([os.devnull, job["out"], job["err"]]):
    file = os.open(path, os.O_RDWR)
    os.dup2(file, number)
    os.close(file)
signal.signal(signal.SIGINT, signal.default_int_handler)
os.chdir(job["cwd"])
os.environ.clear()
os.environ.update(job["env"])
sys.path[:] = [job["cwd"], *job["env"]["PYTHONPATH"].split(os.pathsep), *stdlib]
sys.argv[1:] = job["arguments"]
runpy.run_module("skillkit_core", run_name="__main__", alter_sys=True)
"""


class Forker:
    """Runs ``python -S -m skillkit_core``, one command after the other.

    Args:
        env: the environment in which the core is imported; commands have one of their own.
        folder: where the output of a command lies until it has ended.
    """

    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        argv = [sys.executable, "-S", "-c", SERVER]
        self._process = subprocess.Popen(
            argv, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._out, self._err = folder / "out", folder / "err"

    def run(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
        """Return the exit status of a command, what it wrote, and what it said of its errors."""
        assert self._process.stdin is not None and self._process.stdout is not None
        for file in (self._out, self._err):
            file.write_text("")
        job = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "out": str(self._out), "err": str(self._err)}
        self._process.stdin.write(json.dumps(job) + "\n")
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            self._process.kill()
            raise subprocess.TimeoutExpired(list(arguments), SECONDS)
        return int(self._process.stdout.readline()), self._out.read_text(), self._err.read_text()

    def close(self) -> None:
        """End the server."""
        self._process.communicate()
