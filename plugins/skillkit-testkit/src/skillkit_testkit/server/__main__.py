"""``python -m skillkit_testkit.server``: the scripted server on the command line, for trials and documentation."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ..auto_rule import auto
from . import LLMServer, ReceivedRequest, Reply, Turn


def main(argv: Sequence[str] | None = None) -> None:
    """Print the URL on stdout, answer until interrupted or terminated, or until nobody asked for ``--idle`` seconds."""
    options = _parser().parse_args(argv)
    replies: list[Turn] = [Reply(text=text) for text in options.reply or ["Hello from the scripted server."]]
    last: Turn = auto if options.tools == "auto" else replies[-1]
    server = LLMServer(*(replies if options.tools == "none" else ()), models=(options.model,), port=options.port)
    try:
        server.always(last).start()
    except RuntimeError as error:
        sys.exit(f"{error}; choose another --port, or 0")
    logged = 0
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell lets its background jobs ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    try:
        print(server.url, flush=True)  # noqa: T201
        print(  # noqa: T201
            f"ANTHROPIC_BASE_URL={server.url} OPENAI_BASE_URL={server.openai_url}  (any key will do; Ctrl-C ends)",
            file=sys.stderr,
            flush=True,
        )
        while server.wait_for_requests(logged + 1, options.idle):
            logged = _log(options.log, server.requests, logged)
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
        _log(options.log, server.requests, logged)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skillkit_testkit.server",
        description="A scripted model server on 127.0.0.1 that speaks Anthropic Messages, OpenAI Chat Completions and "
        "OpenAI Responses. The first line on stdout is its URL.",
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0: any free one (default)")
    parser.add_argument("--reply", action="append", metavar="TEXT", help="what to answer; repeat for one per request")
    parser.add_argument(
        "--tools",
        choices=("none", "auto"),
        default="none",
        help="auto: call the tool named after 'use:' in the request, or the one that fits best, and repeat its output",
    )
    parser.add_argument("--model", default="scripted-model", help="the model that GET /v1/models lists")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append each request to FILE, one JSON object per line"
    )
    parser.add_argument(
        "--idle", type=float, default=600.0, metavar="SECONDS", help="end when nobody asks (default 600)"
    )
    return parser


def _log(path: Path | None, requests: Sequence[ReceivedRequest], logged: int) -> int:
    """Append what came after the first ``logged`` requests; gives how many there are now."""
    new = list(requests[logged:])
    if path is not None and new:
        with path.open("a", encoding="utf-8") as file:
            for r in new:
                entry = {"number": r.number, "method": r.method, "path": r.path, "body": r.body}
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return logged + len(new)


if __name__ == "__main__":
    main()
