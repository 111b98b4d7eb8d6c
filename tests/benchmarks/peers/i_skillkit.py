"""Workload i: the bash runtime."""

import asyncio

from bench_micro import BULK, LIVE, output, version
from skillkit_bash.runtime import BashRuntime


def bulk():
    seen = 0

    def on_output(text):
        nonlocal seen
        seen += len(text)

    asyncio.run(BashRuntime(None).execute(BULK, on_output=on_output))
    return seen


def live(report):
    async def work():
        rest = ""

        def on_output(text):
            nonlocal rest
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                report(line)

        await BashRuntime(None).execute(LIVE, on_output=on_output)

    asyncio.run(work())


output(version("skillkit-core"), bulk, live)
