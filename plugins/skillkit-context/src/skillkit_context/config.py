"""The types of settings that pydantic judges where they are not plain."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from .settings import names_inside

__all__ = ["Inside", "Names"]

Names: TypeAlias = tuple[Annotated[str, Field(min_length=1)], ...]


def _inside(names: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return names_inside(names)
    except ValueError:
        raise PydanticCustomError("outside", "names a file inside of a folder, such as AGENTS.md") from None


Inside: TypeAlias = Annotated[Names, AfterValidator(_inside)]
