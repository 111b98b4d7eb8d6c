"""JSON schemas: the first problem with its path, broken schemas, keywords that are not checked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from json_values import JSON

from skillkit_core.frozen import freeze
from skillkit_core.host.json_schema import unchecked, validate

PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)


PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
        "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b", 1, True]}, "maxItems": 2, "uniqueItems": True},
        "child": {"$ref": "#"},
        "size": {"anyOf": [{"type": "number", "multipleOf": 0.5}, {"const": "auto"}]},
        "pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "bob"}, None),
        ({"name": "bob", "age": None, "tags": ["a", 1], "size": 1.5, "x-y": "z"}, None),
        ({"name": "bob", "age": 3.0, "size": "auto", "pair": ["a", 1]}, None),
        ({"name": "bob", "child": {"name": "al"}}, None),
        ({}, "'name' is missing"),
        ([], "must be an object, not []"),
        ({"name": 5}, "name: must be a string, not 5"),
        ({"name": ""}, "name: must have at least 1 characters, not 0"),
        ({"name": "toolong"}, "name: must have at most 5 characters, not 7"),
        ({"name": "Bob"}, "name: must match '^[a-z]+$', not 'Bob'"),
        ({"name": "bob", "age": True}, "age: must be an integer or null, not True"),
        ({"name": "bob", "age": 1.5}, "age: must be an integer or null, not 1.5"),
        ({"name": "bob", "age": -1}, "age: must be at least 0, not -1"),
        ({"name": "bob", "age": 150}, "age: must be less than 150, not 150"),
        ({"name": "bob", "tags": ["c"]}, "tags[0]: must be one of 'a', 'b', 1, True, not 'c'"),
        ({"name": "bob", "tags": ["a", "a"]}, "tags: has an item twice"),
        ({"name": "bob", "tags": [1, True]}, None),
        ({"name": "bob", "tags": [1, 1.0]}, "tags: has an item twice"),
        ({"name": "bob", "child": {"name": 1}}, "child.name: must be a string, not 1"),
        ({"name": "bob", "size": 1.3}, "size: fits none of the allowed forms: "),
        ({"name": "bob", "size": float("inf")}, "size: fits none of the allowed forms: "),
        ({"name": "bob", "pair": ["a", 1, 2]}, "pair[2]: is not allowed"),
        ({"name": "bob", "more": 1}, "'more' is not an argument; known: age, child, name, pair, size, tags"),
        ({"name": "bob", "x-y": 1}, "x-y: must be a string, not 1"),
    ],
)
def test_the_first_problem_is_told_with_its_path(value: Any, problem: str | None) -> None:
    found = validate(PERSON, value)
    assert found == problem or (problem is not None and problem.endswith(": ") and str(found).startswith(problem))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 3, 7),
        ({"not": {"type": "string"}}, 1, "x"),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", "b"]),
        ({"type": "string", "nullable": True}, None, 5),
        ({"multipleOf": 3}, 10**40 * 3, 10**40 * 3 + 1),
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"minProperties": 1, "maxProperties": 1, "propertyNames": {"pattern": "^a"}}, {"ab": 1}, {"b": 1}),
        ({"const": {"a": [1]}}, {"a": [1.0]}, {"a": [True]}),
        ({"enum": [[0]]}, [0], [False]),
        (True, 5, None),
    ],
)
def test_further_keywords(schema: Any, good: Any, bad: Any) -> None:
    assert validate(schema, good) is None
    assert validate(schema, bad) is not None or schema is True


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "("}, {"patternProperties": {"(": {}}}, {"$ref": "#/nowhere"}, {"$ref": "#"}, {"$ref": "#/a/5"},
        {"allOf": [{"$ref": "#"}]}, {"multipleOf": 0}, False,
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", ["x", {"k": 1}, [1], 10**400, float("nan"), None])
def test_a_broken_schema_is_a_problem_and_never_an_exception(schema: Any, value: Any) -> None:
    assert validate(schema, value) is None or isinstance(validate(schema, value), str)


@PROPERTY
@given(JSON)
def test_any_value_fits_the_schema_that_its_own_shape_gives(value: Any) -> None:
    def shape(v: Any) -> dict[str, Any]:
        if isinstance(v, dict):
            return {
                "type": "object",
                "properties": {k: shape(x) for k, x in v.items()},
                "required": list(v),
                "additionalProperties": False,
            }
        if isinstance(v, list):
            return {"type": "array", "prefixItems": [shape(x) for x in v], "items": False, "minItems": len(v)}
        return {"const": v}

    schema = shape(value)
    assert validate(schema, value) is None and unchecked(schema) == set()
    assert validate(schema, freeze(value)) is None
    assert validate(schema, [value]) is not None or value == []


IF = {
    "if": {"properties": {"mode": {"const": "write"}}, "required": ["mode"]},
    "then": {"required": ["path"]},
    "else": {"maxProperties": 1},
}


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        (IF, {"mode": "write"}, "'path' is missing"),
        (IF, {"mode": "read", "path": "x"}, "must have at most 1 properties, not 2"),
        (IF, {"mode": "write", "path": "x"}, None),
        ({"if": False, "then": False}, 1, None),
        ({"then": False, "else": False}, 1, None),
        ({"dependentRequired": {"a": ["b", "c"]}}, {"a": 1, "b": 2}, "'c' is missing, which 'a' needs"),
        ({"dependentRequired": {"a": ["b"]}}, {"c": 1}, None),
        ({"dependentSchemas": {"a": {"properties": {"b": {"const": 1}}}}}, {"a": 1, "b": 2}, "b: must be 1, not 2"),
        ({"dependencies": {"a": ["b"], "b": {"maxProperties": 2}}}, {"a": 1}, "'b' is missing, which 'a' needs"),
        ({"dependencies": {"b": {"maxProperties": 1}}}, {"a": 1, "b": 2}, "must have at most 1 properties, not 2"),
        ({"contains": {"const": 1}}, [2, 3], "must have at least 1 of the items that 'contains' wants, not 0"),
        ({"contains": {"const": 1}}, [2, 1], None),
        ({"contains": {"const": 1}, "minContains": 0}, [], None),
        (
            {"contains": {"const": 1}, "minContains": 2, "maxContains": 2},
            [1, 1, 1],
            "must have at most 2 of the items that 'contains' wants, not 3",
        ),
        ({"properties": {"list": {"contains": {"const": 1}}}}, {"list": []}, "list: must have at least 1 of the items"),
        ({"minProperties": 1}, {}, "must have at least 1 properties, not 0"),
    ],
)
def test_conditions_dependencies_and_contained_items_are_checked(schema: Any, value: Any, problem: str | None) -> None:
    found = validate(schema, value)
    assert found is None if problem is None else str(found).startswith(problem)
    assert unchecked(schema) == set()


def test_keywords_that_are_not_checked_are_named() -> None:
    schema = {
        "type": "object",
        "properties": {"unevaluatedItems": {"requires": {}}},
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"a": {"$dynamicRef": "#x"}},
        "unevaluatedProperties": False,
        "x-note": 1,
        "enum": [{"unknown": 1}],
    }
    assert unchecked(schema) == {"requires", "$dynamicRef", "unevaluatedProperties"}


def test_ten_thousand_unique_items_are_checked_without_comparing_all_with_all() -> None:
    assert validate({"uniqueItems": True}, [{"n": n} for n in range(10_000)]) is None
    assert validate({"uniqueItems": True}, [*range(10_000), 0]) == "has an item twice"
