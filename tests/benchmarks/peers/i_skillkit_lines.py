"""Workload i: the bash runtime, line by line."""

import asyncio

from bench_micro import BULK, LIVE, output, version
from skillkit_bash import BashRuntime, Lines


def run(command, on_line):
    with Lines(on_line) as lines:
        asyncio.run(BashRuntime(None).execute(command, on_output=lines))


def bulk():
    seen = 0

    def on_line(line):
        nonlocal seen
        seen += len(line) + 1

    run(BULK, on_line)
    return seen


output(version("skillkit-core"), bulk, lambda report: run(LIVE, report))
