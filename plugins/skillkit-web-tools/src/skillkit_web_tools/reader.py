"""The program that reads what web servers sent: one task on stdin, its answer on stdout. It is run by :mod:`.apart`.

A task is a line of JSON and the bytes of the page. The process may use so much processor and memory and no more: whoever
waits for it goes on when it dies.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

_MEMORY = 2**30  # bytes: a page of the largest size that holds nothing but elements takes half of that


def main() -> None:
    """Do the task."""
    line, _, body = sys.stdin.buffer.read().partition(b"\n")
    task = json.loads(line)
    _limit(resource.RLIMIT_CPU, task["seconds"])
    _limit(resource.RLIMIT_AS, _MEMORY)
    sys.stdout.write(json.dumps(_done(task, body)))


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError):  # a system that does not limit this
        return


def _done(task: dict[str, Any], body: bytes) -> Any:
    if task["kind"] == "robots":
        from protego import Protego

        return bool(Protego.parse(body.decode("utf-8", "replace")).can_fetch(task["url"], task["agent"]))
    from .markdown import text_of

    return text_of(task["url"], task["media_type"], task["charset"], body)


if __name__ == "__main__":
    main()
