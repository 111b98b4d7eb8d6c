"""The webhook: a caller that knows the secret starts a run, with a limit of size and of rate."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from .config import WebhookConfig
    from .store import Schedule, Store

__all__ = ["application", "proven"]

_MINUTE = 60.0
_KEYS = ("Idempotency-Key", "X-GitHub-Delivery", "webhook-id")


def application(store: Store, config: WebhookConfig, woken: Callable[[], object]) -> web.Application:
    """Return the server: ``POST /hooks/NAME``.

    Args:
        store: where the webhooks are, and where their runs are queued before the caller has an answer.
        config: the limits.
        woken: is called when a run was queued.
    """
    calls: dict[str, deque[float]] = {}

    async def hook(request: web.Request) -> web.Response:
        body = await request.read()
        schedule = store.get(request.match_info["name"])
        if schedule is None or schedule.kind != "webhook" or not proven(schedule, request.headers, body):
            return _told(401, "no such webhook, or another secret", {"WWW-Authenticate": "Bearer"})
        now = time.time()
        recent = calls.setdefault(schedule.id, deque())
        while recent and recent[0] <= now - _MINUTE:
            recent.popleft()
        if len(recent) >= config.rate:
            wait = max(1, round(recent[0] + _MINUTE - now))
            return _told(429, f"more than {config.rate} calls in a minute", {"Retry-After": str(wait)})
        recent.append(now)
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return _told(400, "the body is no text in UTF-8")
        key = next((request.headers[name][:200] for name in _KEYS if name in request.headers), None)
        queued = store.deliver(schedule.id, now, text, key)
        if queued is None:
            return _told(503, "too many runs wait", {"Retry-After": "60"})
        woken()
        return web.json_response({"run": queued[0], "new": queued[1]}, status=202)

    made = web.Application(client_max_size=config.max_bytes)
    made.router.add_post("/hooks/{name}", hook)
    return made


def proven(schedule: Schedule, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether a caller knows the secret: it is sent as a bearer token, or has signed the body (HMAC with SHA-256).

    Both are compared in constant time.
    """
    secret = schedule.secret.encode()
    if not secret:
        return False
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return hmac.compare_digest(token.strip().encode(errors="surrogateescape"), secret)
    signed = headers.get("X-Hub-Signature-256", "")
    wanted = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(signed.encode(errors="surrogateescape"), wanted.encode())


def _told(status: int, text: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"error": text}, status=status, headers=headers)
