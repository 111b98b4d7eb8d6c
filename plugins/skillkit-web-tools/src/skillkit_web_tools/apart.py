"""Pages are read in a process of their own: one that takes too long, or too much memory, is killed, and nobody else waits."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from skillkit_process import Sink, Tail, environment, run

from skillkit_core import ToolError

__all__ = ["read_apart"]

_OWN = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")
_MOST = 64 * 2**20  # bytes of an answer: each character of a text may take six


class _All(Sink):
    """Keeps what the reader writes."""

    def __init__(self) -> None:
        self.data = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes; more than any page gives end the reader."""
        self.data += data
        if len(self.data) > _MOST:
            raise ToolError("the page is too large to be read")


async def read_apart(what: str, body: bytes, seconds: float, **task: Any) -> Any:
    """Return what the reader (:mod:`.reader`) makes of ``body``.

    Args:
        what: the address of the page, for errors.
        seconds: time that the reader gets.
        task: its ``kind``, and what that needs.

    Raises:
        ToolError: it did not get done.
    """
    line = json.dumps({"seconds": int(seconds) + 1, **task}).encode()
    out, err = _All(), Tail(2_000)
    # -P: no module of the folder that one works in
    argv = [sys.executable, "-P", "-m", "skillkit_web_tools.reader"]
    ended = await run(
        argv, out, err, env=environment(_OWN, os.environ), stdin=line + b"\n" + body, timeout=seconds, grace=0.2
    )
    if ended.how != "exited":
        raise ToolError(f"{what} could not be read as text within {seconds:.2g} s")
    if ended.code != 0:
        last = err.text.strip().rpartition("\n")[2]
        why = "it takes too much memory" if "MemoryError" in last else last or f"the reader ended with {ended.code}"
        raise ToolError(f"{what} could not be read as text: {why}")
    return json.loads(out.data)
