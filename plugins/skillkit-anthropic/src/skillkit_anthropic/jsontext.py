"""JSON as servers send it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

__all__ = ["parse_json"]


def parse_json(data: bytes) -> Any:
    """The JSON in ``data``.

    Raises:
        ValueError: there is none.
    """
    try:
        return from_json(data)
    except ValueError:  # also escaped lone surrogates, which only the standard library takes
        return json.loads(data)
