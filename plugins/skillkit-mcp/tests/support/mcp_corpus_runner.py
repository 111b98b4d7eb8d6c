"""Runs cases of the corpus in processes that are forked from this one, so that the SDK is imported once and not for each case.

``python mcp_corpus_runner.py CORPUS``: reads ids of cases, a line each, and writes ``{"problems": ..., "took": ...}`` for each.
The corpus' own ``check.py`` plays and judges a case; only how it starts the client's process is replaced.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

CORPUS = Path(sys.argv[1])
sys.path.insert(0, str(CORPUS))
sys.path.insert(0, str(Path(__file__).parent))

import check  # noqa: E402
import mcp_corpus_adapter  # noqa: E402, F401
import skillkit_mcp.connection  # noqa: E402
import skillkit_mcp.tokens  # noqa: E402
import skillkit_mcp.tools  # noqa: E402, F401

import skillkit_core.agent.runner  # noqa: E402, F401


class Forked:
    """The client's process: as ``subprocess.Popen``, as far as ``check.py`` uses it."""

    def __init__(self, command, **options):
        self._adapter = command[command.index("--adapter") + 1]
        self.returncode = None

    def communicate(self, spec=None, timeout=None):
        if spec is not None:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115
            self.pid = os.fork()
            if self.pid == 0:
                self._client(spec)
        handle = os.pidfd_open(self.pid)
        try:
            if not select.select([handle], [], [], timeout or 5)[0]:
                raise subprocess.TimeoutExpired("client", timeout)
        finally:
            os.close(handle)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._output.seek(0)
        return self._output.read().decode("utf-8", "replace"), ""

    def _client(self, spec):
        """Be the client; never return."""
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(self._output.fileno(), 1)
            os.dup2(self._output.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            check.one(json.loads(spec), self._adapter)
            sys.stdout.flush()
            code = 0
        finally:
            os._exit(code)


def popen(command, **options):
    if "--one" in command:
        return Forked(command, **options)
    return subprocess.Popen(command, **options)


def main():
    check.subprocess = SimpleNamespace(
        Popen=popen, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired
    )
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cases = {case["id"]: case for case in json.loads((CORPUS / "manifest.json").read_text())}
    adapter = str(Path(__file__).with_name("mcp_corpus_adapter.py"))
    options = SimpleNamespace(adapter=adapter, server_python=sys.executable)
    for line in sys.stdin:
        problems, took = check.run_case(cases[line.strip()], options)
        print(json.dumps({"problems": problems, "took": round(took, 1)}), flush=True)


main()
