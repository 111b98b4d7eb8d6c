"""JSON as servers send it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

__all__ = ["parse_json"]


def parse_json(data: bytes) -> Any:
    """The JSON in ``data``. What the fast parser refuses becomes U+FFFD: lone surrogates, and bytes that are no UTF-8.

    Raises:
        ValueError: there is none, or it is nested more than 200 deep.
    """
    try:
        return from_json(data)
    except ValueError:
        pass
    try:
        loaded = json.loads(data.decode("utf-8-sig", "replace"))  # accepts escaped lone surrogates
        text = json.dumps(loaded, ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return from_json(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
