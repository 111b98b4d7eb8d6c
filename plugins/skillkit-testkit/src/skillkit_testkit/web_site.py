"""A small web site on loopback, for tests of what fetches pages or asks an API."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from .loopback import Asked, Loopback, json_answer
from .turns import Raw

__all__ = ["WebSite"]


class WebSite(Loopback):
    """Answers by path: ``with WebSite() as site``.

    Attributes:
        pages: path to an answer, or to a function of the request that returns one. Other paths are 404.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Raw | Callable[[Asked], Raw]] = {}

    def page(
        self, path: str, body: str | bytes, media_type: str = "text/html; charset=utf-8", status: int = 200
    ) -> None:
        """Answer with a page."""
        self.pages[path] = Raw(body.encode() if isinstance(body, str) else body, status, media_type)

    def api(self, path: str, answer: Callable[[Asked], Any]) -> None:
        """Answer with the JSON that ``answer(request)`` returns."""
        self.pages[path] = lambda asked: json_answer(answer(asked))

    def answer(self, asked: Asked, handler: BaseHTTPRequestHandler) -> Raw:
        """Return the page of the path."""
        found = self.pages.get(asked.path, Raw(b"not here", 404, "text/plain"))
        return found(asked) if callable(found) else found

    @staticmethod
    def json(asked: Asked) -> Any:
        """Return the body of a request as JSON."""
        return json.loads(asked.body)
