"""HTTP handlers: the input is posted as JSON, and an answer of a status in the two hundreds is read as stdout is."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .answers import Ended
from .definitions import Hook

if TYPE_CHECKING:
    from .surroundings import Surroundings

__all__ = ["run_http"]

_MOST = 1 << 20  # bytes
_NAME = re.compile(r"\$\{(\w+)\}|\$(\w+)")


async def run_http(hook: Hook, payload: Mapping[str, Any], around: Surroundings) -> Ended:
    """Post the input to the address of a hook. No redirection is followed, and no proxy of the environment is used."""
    import aiohttp

    url = str(hook.handler["url"])
    if not url.startswith(("http://", "https://")):
        return Ended(None, problem=f"{url[:200]!r} is no address of http or https")
    allowed = hook.handler.get("allowedEnvVars")
    names = {str(one) for one in allowed} if isinstance(allowed, list) else set()

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return around.environ.get(name, "") if name in names else ""

    given = hook.handler.get("headers")
    given = given if isinstance(given, Mapping) else {}
    headers = {"Content-Type": "application/json", **{str(k): _NAME.sub(value, str(v)) for k, v in given.items()}}
    body = json.dumps(payload, ensure_ascii=False, default=str).encode("utf-8", "replace")
    try:
        async with (
            asyncio.timeout(hook.seconds),
            aiohttp.ClientSession() as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            if not 200 <= response.status < 300:
                return Ended(None, problem=f"{url} answered with status {response.status}")
            text = b""
            async for piece in response.content.iter_chunked(1 << 16):
                text += piece
                if len(text) > _MOST:
                    return Ended(None, problem=f"{url} answered more than {_MOST:,} bytes")
            return Ended(0, text.decode("utf-8", "replace"))
    except TimeoutError:
        return Ended(None, problem=f"{url} took longer than {hook.seconds:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Ended(
            None,
            problem=f"{url} cannot be reached: {getattr(error, 'strerror', None) or error or type(error).__name__}",
        )
