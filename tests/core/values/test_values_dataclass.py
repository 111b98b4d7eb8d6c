"""The dataclass of the core: what the standard one promises, made when it is needed."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from typing import ClassVar

import pytest

from skillkit_core.values import dataclass, field, replace

OFTEN = 40
"""More values than a constructor makes before it is compiled."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place."""

    kind: ClassVar[str] = "place"
    name: str
    tags: list[str] = field(default_factory=list, compare=False)
    depth: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name is needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Town(Place):
    """A place with people."""

    people: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class City(Town):
    """A standard dataclass on top."""

    tram: bool = False


@dataclass(slots=True)
class Counter:
    """A value that changes."""

    number: int = 0
    label: str = field(init=False, default="n")


@pytest.mark.parametrize("before", [0, OFTEN], ids=["new", "used often"])
def test_it_does_what_the_standard_one_does(before: int) -> None:
    for _ in range(before):
        Place("a")
    one = Place("oslo", depth=2)
    assert (one.tags, one.depth, one.kind) == ([], 2, "place")
    assert repr(one) == "Place(name='oslo', tags=[], depth=2)"
    assert one == Place("oslo", ["x"], depth=2) != Place("oslo") and hash(one) == hash(Place("oslo", ["x"], depth=2))
    assert replace(one, name="rome").name == "rome" and dataclasses.asdict(one) == {
        "name": "oslo",
        "tags": [],
        "depth": 2,
    }
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one
    assert one.__match_args__ == ("name", "tags")
    assert not hasattr(one, "__dict__") and [f.name for f in dataclasses.fields(one)] == ["name", "tags", "depth"]
    with pytest.raises(dataclasses.FrozenInstanceError, match="assign to field 'name'"):
        one.name = "rome"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="delete field 'name'"):
        del one.name  # type: ignore[misc]
    with pytest.raises(ValueError, match="a name is needed"):
        Place("")


@pytest.mark.parametrize("arguments", [((), {}), (("a", [], 1), {}), (("a",), {"name": "b"}), (("a",), {"size": 1})])
def test_wrong_arguments_are_refused_in_the_words_of_python(
    arguments: tuple[tuple[object, ...], dict[str, object]],
) -> None:
    args, named = arguments
    with pytest.raises(TypeError, match=r"__init__\(\) (missing|takes|got)"):

        @dataclass(frozen=True, slots=True)
        class Fresh:
            name: str
            tags: list[str] = field(default_factory=list)
            depth: int = field(default=1, kw_only=True)

        Fresh(*args, **named)  # type: ignore[arg-type]


def test_dataclasses_stand_on_each_other() -> None:
    assert Town(name="a", people=3) == Town(name="a", people=3) != Town(name="a")
    assert repr(City(name="a", tram=True)) == "City(name='a', tags=[], depth=1, people=0, tram=True)"
    assert str(inspect.signature(Town)).startswith("(name: 'str', tags: 'list[str]' = <factory>, *, depth: 'int' = 1")

    class Plain(Place):
        """A plain subclass has attributes of its own."""

    plain = Plain("a")
    plain.more = 1  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.name = "b"  # type: ignore[misc]


def test_a_value_that_changes_has_no_hash() -> None:
    one = Counter()
    one.number += 1
    assert one == Counter(1) and one.label == "n"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_to_define_one_compiles_nothing() -> None:
    code = """
import builtins
from skillkit_core.values import dataclass
compiled, run = [], builtins.exec
builtins.exec = lambda *args: compiled.append(args) or run(*args)

@dataclass(frozen=True, slots=True)
class One:
    number: int = 0

assert [One(n) for n in range(16)] and not compiled, compiled
One(1)
assert compiled
"""
    subprocess.run([sys.executable, "-c", code], check=True)
