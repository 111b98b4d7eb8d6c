"""Settings whose values are of their own types need no pydantic, and are what pydantic would have made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillkit_core import ConfigError, ConfigSection, Layer
from skillkit_core.config import setting
from skillkit_core.settings.config import Config
from skillkit_core.settings.schema import CoreSettings
from skillkit_core.settings.sections import model_of, plain_values, values_of


def _even(number: int) -> int:
    if number % 2:
        raise ValueError(f"must be even, not {number}")
    return number


@dataclass(frozen=True, slots=True)
class Inner:
    name: str = setting("x", "a name", min_length=1)
    weight: float | None = setting(None, "a weight", ge=0, lt=10)


@dataclass(frozen=True, slots=True)
class Section:
    number: int = setting(2, "a number", ge=0, le=100, check=_even)
    on: bool = setting(False, "a switch")
    word: Literal["a", "b"] | None = setting("a", "a word")
    texts: tuple[str, ...] = setting((), "texts")
    more: list[int] = setting(list, "numbers")
    places: tuple[Path, ...] = setting((), "folders")
    names: dict[str, str] = setting(dict, "names")
    each: dict[str, Inner] = setting(dict, "by name")
    inner: Inner = field(default_factory=Inner)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 101)
    | st.floats(-1, 11)
    | st.just(float("inf"))
    | st.sampled_from(["", "a", "b", "3", "true", "docs/x", "~/y", "/z"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "weight", "k"]), inner, max_size=2)
    ),
    max_leaves=4,
)
SECTIONS = st.dictionaries(st.sampled_from([*Section.__dataclass_fields__, "unknown"]), VALUES, max_size=3)


def made(kind: Any, data: dict[str, Any]) -> Any:
    """What a configuration makes of a section; the text of the error where it refuses it."""
    config = Config([Layer("user", {"s": data}, base="/base")], lambda: {"s": ConfigSection("s", kind)})
    try:
        return config.section("s")
    except ConfigError as error:
        return str(error)


@settings(max_examples=300, deadline=None)
@given(SECTIONS)
def test_what_is_plain_is_what_pydantic_makes_of_it(data: dict[str, Any]) -> None:
    plain = plain_values(Section, data, lambda key: "/base")
    through_pydantic = made(model_of(Section), data)  # a section may also be a model
    if plain is not None:
        assert values_of(Section, through_pydantic) == plain == made(Section, data)
    elif isinstance(through_pydantic, str):
        assert made(Section, data) == through_pydantic
    else:
        assert made(Section, data) == values_of(Section, through_pydantic)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"number": 3}, "must be even, not 3"),
        ({"number": 102}, "less than or equal to 100"),
        ({"wrod": "a"}, "did you mean 'word'?"),
        ({"each": {"k": {"name": ""}}}, "s.each.k.name"),
        ({"inner": {"weight": 10}}, "s.inner.weight"),
        ({"texts": "abc"}, "must be a list"),
        ({"each": {"k": {"nmae": "x"}}}, "s.each.k.nmae: unknown setting 'nmae'; did you mean 'name'?"),
        ({"places": [["x"]]}, "must be a path, not a list"),
    ],
)
def test_what_is_wrong_is_told_as_of_a_model(data: dict[str, Any], says: str) -> None:
    assert says in made(Section, data)
    with pytest.raises(ValidationError):
        model_of(Section).model_validate(data)


def test_a_misspelt_setting_is_told_the_name_that_counts_in_a_file() -> None:
    class Queue(BaseModel):
        model_config = ConfigDict(extra="forbid")
        everywhere: int | None = Field(None, alias="global")

    assert "unknown setting 'globl'; did you mean 'global'?" in made(Queue, {"globl": 2})


def test_a_path_starts_at_its_file_and_a_group_of_comments_is_its_default() -> None:
    found = made(Section, {"places": ["docs", "~/x"], "inner": None})
    assert found.places == (Path("/base/docs"), Path("~/x").expanduser()) and found.inner == Inner()


LIMITS = {"turns": st.sampled_from([0, 1, "2", None]), "cost": st.sampled_from([1, 0.5, -1])}
CORE = {
    "model": st.sampled_from(["m", ["m"], ["m", "n"], [], None, 3]),
    "thinking": st.sampled_from(["low", "lowest", None]),
    "limits": st.fixed_dictionaries({}, optional=LIMITS),
    "tools": st.sampled_from([None, {"allow": ["bash"]}, {"allow": "bash"}]),
}


@settings(max_examples=100, deadline=None)
@given(st.fixed_dictionaries({}, optional=CORE))
def test_the_settings_of_the_core_are_the_same_either_way(data: dict[str, Any]) -> None:
    plain = plain_values(CoreSettings, data, lambda key: "")
    if plain is not None:
        assert values_of(CoreSettings, made(model_of(CoreSettings), data)) == plain
