"""Lists of settings whose layers are read one by one: a variable of the environment has a list as a text."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator

__all__ = ["Words"]


def _listed(given: Any) -> Any:
    """Return a list that a variable has, as JSON or with commas, as a list."""
    if not isinstance(given, str):
        return given
    if given.lstrip().startswith("["):
        return json.loads(given)
    return [one.strip() for one in given.split(",") if one.strip()]


Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
