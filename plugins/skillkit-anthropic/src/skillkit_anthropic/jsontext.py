"""JSON as servers send it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

__all__ = ["parse_json"]


def parse_json(data: bytes) -> Any:
    """The JSON in ``data``. Lone surrogates, which the fast parser refuses, become U+FFFD.

    Raises:
        ValueError: there is none, or it is nested more than 200 deep.
    """
    try:
        return from_json(data)
    except ValueError:
        pass
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)  # accepts escaped lone surrogates
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return from_json(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
