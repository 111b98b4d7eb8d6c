"""One program from its start to its end, with nothing left of it, however it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skillkit_core import AbortSignal

from .child import GRACE, Child, End
from .pipes import Sink

__all__ = ["Ended", "run"]


class Ended(NamedTuple):
    """How a program ended.

    Attributes:
        how: ``exited``: by itself; ``timeout``, ``aborted``; ``terminal``: it waited for a terminal that it does not have.
        code: the exit status of a program that exited by itself, negative for a signal.
    """

    how: End
    code: int | None


async def run(
    argv: Sequence[str],
    stdout: Sink,
    stderr: Sink,
    *,
    env: Mapping[str, str],
    cwd: str | Path | None = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
    signal: AbortSignal | None = None,
    grace: float = GRACE,
) -> Ended:
    """Run a program, and end everything that it started.

    What a program that exits by itself left in its session is ended, too. A process that left the session may go on.

    Args:
        argv: the program and its arguments; no shell sees them.
        stdout: takes what the program writes there.
        stderr: takes what the program writes there.
        env: all of its variables.
        cwd: its folder.
        stdin: what it reads; ``None``: nothing.
        timeout: seconds until it is ended.
        signal: ends it.
        grace: seconds between SIGTERM and SIGKILL.

    Raises:
        ToolError: it cannot be started.
        Exception: what a sink raised.
    """
    child = await Child.start(argv, stdout, stderr, env=env, cwd=cwd, stdin=stdin)
    try:
        how = await child.wait(timeout, signal)
        if how == "exited":
            await child.finish(grace)
        else:
            await child.end(grace)
    except BaseException:  # a cancelled caller or an exception of a sink: leave nothing behind
        stdout.mute()
        stderr.mute()
        await child.end(grace)
        raise
    finally:
        child.close()
    return Ended(how, child.code if how == "exited" else None)
