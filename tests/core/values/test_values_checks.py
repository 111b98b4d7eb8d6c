"""Registries, models and their prices, frozen values, tools and errors as values."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from json_values import JSON

from skillkit_core import (
    AgentConfig,
    AmbiguousName,
    ErrorKind,
    Limits,
    ModelCost,
    ModelDefinition,
    ModelRegistry,
    ModelSettings,
    ProviderError,
    Registry,
    RetryPolicy,
    TokenUsage,
    Tool,
    UnknownName,
    UsageError,
)
from skillkit_core.frozen import FrozenDict, FrozenList, freeze, thaw

PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)


def test_a_registry_finds_by_name_and_by_address() -> None:
    registry: Registry[str] = Registry(lambda source: f"{source} (dist-{source} 1.0)")
    registry.register("x", "A", "a")
    assert registry.get("x") == registry.get("x@a") == "A" and "x" in registry and "x@b" not in registry
    registry.register("x", "B", "b")
    registry.register("y", "Y")
    assert registry.list() == ["x@a", "x@b", "y"] and list(registry) == registry.list() and len(registry) == 3
    with pytest.raises(AmbiguousName) as caught:
        registry.get("x")
    assert "a (dist-a 1.0)" in str(caught.value) and "'x@b'" in str(caught.value)
    registry.prefer["x"] = "b"
    assert registry.get("x") == "B" and registry.get("x@a") == "A"
    registry.unregister_by_source("b")
    assert registry.get("x") == "A" and registry.clashes() == {}
    registry.unregister("x")
    with pytest.raises(UnknownName, match="unknown item 'x'"):
        registry.get("x")


def test_the_same_source_replaces_and_a_first_wins_registry_takes_the_first() -> None:
    registry: Registry[int] = Registry(first_wins=True)
    before = registry.version
    registry.register("x", 1, "a")
    registry.register("x", 2, "b")
    registry.register("x", 3, "a")
    assert registry.get("x") == 3 and registry.list() == ["x", "x@b"] and registry.version > before


NAMES = st.sampled_from(["x", "y", "z"])


SOURCES = st.sampled_from(["a", "b", None])


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(["add", "drop"]), NAMES, SOURCES, st.integers()), max_size=20))
def test_unregister_by_source_is_exact_whatever_was_registered(steps: list[tuple[str, str, str | None, int]]) -> None:
    registry: Registry[int] = Registry()
    model: dict[tuple[str, str | None], int] = {}
    for step, name, source, item in steps:
        if step == "add":
            registry.register(name, item, source)
            model[name, source] = item
        elif source is not None:
            registry.unregister_by_source(source)
            model = {k: v for k, v in model.items() if k[1] != source}
    assert {(e.name, e.source): e.item for e in registry.entries()} == model
    for (name, source), item in model.items():
        owners = [k for k in model if k[0] == name]
        if len(owners) == 1 or (name, None) in owners:
            assert registry.get(name) == model.get((name, None), item)
        else:
            with pytest.raises(AmbiguousName):
                registry.get(name)
        if source is not None:
            assert registry.get(f"{name}@{source}") == item


def models() -> ModelRegistry:
    registry = ModelRegistry()
    registry.register(ModelDefinition("gpt-4o", "openai", aliases=("4o",), cost=ModelCost(2.5, 10.0, 1.25)))
    registry.register(ModelDefinition("gpt-4o-mini", "openai", display_name="GPT-4o mini"))
    registry.register(ModelDefinition("claude-sonnet-4", "anthropic"))
    registry.register(ModelDefinition("gpt-4o", "azure"))
    return registry


def test_models_are_found_by_address_id_and_alias_and_unknown_ones_are_none() -> None:
    registry = models()
    for name in ("gpt-4o", "openai/gpt-4o", "4o", "openai/4o"):
        found = registry.get(name)
        assert found is not None and (found.provider, found.id) == ("openai", "gpt-4o")
    azure = registry.get("azure/gpt-4o")
    assert azure is not None and azure.provider == "azure"
    assert registry.get("gpt-5") is None and registry.get("") is None
    assert [m.id for m in registry.list_by_provider("openai")] == ["gpt-4o", "gpt-4o-mini"]


@pytest.mark.parametrize(
    ("query", "first"),
    [("gpt-4o-mini", "gpt-4o-mini"), ("GPT-4O MINI", "gpt-4o-mini"), ("claude", "claude-sonnet-4"), ("mini", "gpt-4o-mini"),
     ("sonet-4", "claude-sonnet-4"), ("anthropic sonnet", "claude-sonnet-4"), ("4o", "gpt-4o")],
)  # fmt: skip
def test_find_puts_the_best_match_first(query: str, first: str) -> None:
    assert models().find(query)[0].id == first


def test_find_gives_nothing_for_nonsense() -> None:
    assert models().find("zzzzzzzzzz") == []


def test_cost_is_per_million_tokens_and_never_guessed() -> None:
    registry = models()
    usage = TokenUsage(input=1_000_000, output=100_000, cache_read=2_000_000, reasoning=100_000)
    assert registry.calculate_cost("4o", usage) == pytest.approx(2.5 + 2.0 + 2.5)
    with pytest.raises(UnknownName):
        registry.calculate_cost("nope", usage)
    with pytest.raises(ValueError, match="not known"):
        registry.calculate_cost("claude-sonnet-4", usage)


USAGES = st.builds(TokenUsage, *[st.integers(0, 10**9)] * 5)


def test_a_tier_is_paid_for_the_whole_request_when_its_prompt_is_longer() -> None:
    tiers = (ModelCost(10, 20, 30, 40, above=100), ModelCost(100, 200, 300, 400, above=200))
    model = ModelDefinition("m", cost=ModelCost(1, 2, 3, 4, tiers))
    for prompt, prices in ((100, (1, 2, 3, 4)), (101, (10, 20, 30, 40)), (201, (100, 200, 300, 400))):
        usage = TokenUsage(input=prompt - 20, output=1_000, cache_read=10, cache_write=10, reasoning=5)
        paid = (prompt - 20) * prices[0] + 1_005 * prices[1] + 10 * prices[2] + 10 * prices[3]
        assert model.cost_of(usage) == pytest.approx(paid / 1e6)
    assert model.to_dict()["cost"]["tiers"][0]["above"] == 100
    assert "tiers" not in ModelDefinition("m", cost=ModelCost(1, 2)).to_dict()["cost"]


@PROPERTY
@given(st.lists(USAGES, max_size=5))
def test_usages_add_up_bucket_by_bucket_and_so_does_their_price(usages: list[TokenUsage]) -> None:
    total = sum(usages, TokenUsage())
    assert total.total == sum(u.total for u in usages)
    assert {**total.to_dict()}["input"] == sum(u.input for u in usages)
    model = ModelDefinition("m", cost=ModelCost(1, 2, 3, 4))
    costs = [model.cost_of(u) for u in usages]
    assert model.cost_of(total) == pytest.approx(sum(c for c in costs if c is not None), abs=1e-6)


@PROPERTY
@given(JSON)
def test_frozen_values_equal_thaw_pickle_and_serialise_as_what_they_were(value: Any) -> None:
    frozen = freeze(value)
    assert (frozen == value and thaw(frozen) == value and freeze(frozen) is frozen) or not isinstance(
        value, (dict, list)
    )
    assert json.dumps(frozen) == json.dumps(value)
    assert pickle.loads(pickle.dumps(frozen)) == frozen == copy.deepcopy(frozen)


def test_nothing_changes_a_frozen_value_in_place() -> None:
    d, items = FrozenDict({"a": 1}), FrozenList([1, 2])
    for change in (
        lambda: d.__setitem__("a", 2), lambda: d.update(b=1), lambda: d.pop("a"), lambda: d.clear(), lambda: d.setdefault("b"),
        lambda: d.__ior__({"b": 1}), lambda: d.__delitem__("a"), lambda: items.append(1), lambda: items.sort(),
        lambda: items.__setitem__(0, 9), lambda: items.__iadd__([1]), lambda: items.reverse(), lambda: items.pop(),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="immutable"):
            change()
    assert d == {"a": 1} and items == [1, 2] and isinstance(d | {"b": 2}, Mapping)
    assert hash(d) == hash(FrozenDict({"a": 1})) and copy.copy(items) is items


def test_a_tool_needs_a_name_that_every_wire_takes_and_an_object_schema() -> None:
    for name in ("", "a b", "ä", "x" * 65, "a\n"):
        with pytest.raises(ValueError, match="must match"):
            Tool(name, "d", "m:f")
    with pytest.raises(ValueError, match="object schema"):
        Tool("ok", "d", "m:f", {"type": "string"})
    with pytest.raises(TypeError):
        Tool("ok", "d", "m:f", {"type": "object"}).parameters["x"] = 1  # type: ignore[index]


MISTYPED: dict[str, tuple[Any, ...]] = {
    "max_tokens": ("5", True, 5.0),
    "temperature": ("hot", [], False),
    "top_p": ([], "1"),
    "stop": (5, "END", (5,), None),
    "thinking": (5, ["high"], "huge", ""),
    "tool_choice": ({"type": "auto"}, 5),
    "parallel_tool_calls": ("yes", 1),
    "response_schema": ("object", []),
    "timeout": ("5", [], True),
    "headers": ([("a", "b")], {"a": 5}, None),
    "extra": (5, [("a", 1)], {"tools": {"type": "web_search"}}, {"tools": 5}, {"tools": ["web_search"]}, None),
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in MISTYPED.items() for v in values], ids=lambda v: repr(v)
)
def test_a_setting_of_a_wrong_type_is_refused_where_it_is_made(name: str, value: Any) -> None:
    found = re.escape(repr(value) if isinstance(value, str) else f"of type {type(value).__name__}")
    for make in (lambda: ModelSettings(**{name: value}), lambda: dataclasses.replace(ModelSettings(), **{name: value})):
        with pytest.raises(UsageError, match=f"^{name} is {found}; it must be (a|one)[^\n]+$"):
            make()


def test_settings_of_right_types_are_taken() -> None:
    ModelSettings(5, 1, 0.5, ("a",), "high", "auto", True, {"type": "object"}, 5, {"a": "b"}, {"tools": [{}]})
    ModelSettings(stop=freeze(["a"]), headers=freeze({"a": "b"}), extra=freeze({"tools": [{"type": "x"}]}))
    assert ModelSettings() == ModelSettings(max_tokens=None, stop=(), headers={}, extra={})


def tool(**fields: Any) -> Tool:
    return Tool(**{"name": "a", "description": "d", "execute": "m:f", **fields})


def model(**fields: Any) -> ModelDefinition:
    return ModelDefinition("m", **fields)


@pytest.mark.parametrize(
    ("make", "fields", "said"),
    [
        (AgentConfig, {"settings": {"max_tokens": 5}}, "settings is of type dict; it must be a ModelSettings"),
        (AgentConfig, {"limits": {"turns": 1}}, "limits is of type dict; it must be a Limits"),
        (AgentConfig, {"retry": 3}, "retry is of type int; it must be a RetryPolicy"),
        (AgentConfig, {"only_tools": "add"}, "only_tools is 'add'; it must be a collection of names"),
        (AgentConfig, {"skills": "calculate"}, "skills is 'calculate'; it must be a collection of names"),
        (AgentConfig, {"tools": Tool("a", "d", "m:f")}, "tools is of type Tool; it must be a tuple of Tool"),
        (AgentConfig, {"tools": ("a",)}, "tools is of type tuple; it must be a tuple of Tool"),
        (AgentConfig, {"model": 5}, "model is of type int; it must be a str or a ModelDefinition"),
        (AgentConfig, {"api_key": b"sk-1"}, "api_key is of type bytes; it must be a str"),
        (AgentConfig, {"queue_mode": "some"}, "queue_mode is 'some'; it must be one_at_a_time or all"),
        (
            AgentConfig,
            {"steer_policy": None},
            "steer_policy is of type NoneType; it must be skip_remaining or after_batch",
        ),
        (AgentConfig, {"stream": "no"}, "stream is 'no'; it must be a bool"),
        (AgentConfig, {"abort_grace": "5"}, "abort_grace is '5'; it must be a number of seconds"),
        (AgentConfig, {"cwd": 5}, "cwd is of type int; it must be a Path"),
        (AgentConfig, {"approver": "yes"}, "approver is 'yes'; it must be an Approver"),
        (AgentConfig, {"executor": print}, "executor is of type builtin_function_or_method; it must be a ToolExecutor"),
        (AgentConfig, {"options": []}, "options is of type list; it must be a mapping"),
        (tool, {"timeout": "5"}, "tool 'a': timeout is '5'; it must be a number of seconds"),
        (tool, {"execute": None}, "tool 'a': execute is of type NoneType; it must be a function or its import string"),
        (tool, {"description": None}, "tool 'a': description is of type NoneType; it must be a str"),
        (tool, {"replay": "perhaps"}, "tool 'a': replay is 'perhaps'; it must be never or safe"),
        (tool, {"opt_in": "no"}, "tool 'a': opt_in is 'no'; it must be a bool"),
        (
            tool,
            {"parameters": None},
            "tool 'a': parameters is of type NoneType; it must be a mapping, which is a JSON Schema",
        ),
        (model, {"capabilities": "image"}, "model 'm': capabilities is 'image'; it must be a collection of names"),
        (model, {"aliases": "x"}, "model 'm': aliases is 'x'; it must be a collection of names"),
        (model, {"context_window": "8000"}, "model 'm': context_window is '8000'; it must be an int"),
        (model, {"cost": 5}, "model 'm': cost is of type int; it must be a ModelCost"),
        (Limits, {"turns": "9"}, "turns is '9'; it must be an int or None"),
        (Limits, {"cost": "1"}, "cost is '1'; it must be a number of US dollars or None"),
        (Limits, {"depth": None}, "depth is of type NoneType; it must be an int"),
        (RetryPolicy, {"attempts": 2.5}, "attempts is of type float; it must be an int"),
        (RetryPolicy, {"max_delay": None}, "max_delay is of type NoneType; it must be a number of seconds"),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else None,
)
def test_a_value_of_a_wrong_type_is_refused_where_it_is_made(make: Any, fields: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        make(**fields)
    assert str(caught.value) == said


def test_a_configuration_takes_what_python_programs_usually_write(tmp_path: Path) -> None:
    """Lists and sets of names, a path as text, whole numbers of seconds."""
    config = AgentConfig(
        cwd=str(tmp_path),  # type: ignore[arg-type]
        tools=[Tool("a", "d", "m:f")],  # type: ignore[arg-type]
        only_tools={"a"},  # type: ignore[arg-type]
        skills=["calculate"],  # type: ignore[arg-type]
        limits=Limits(turns=None, cost=1),
        retry=RetryPolicy(base_delay=0, max_delay=1, max_server_delay=2),
        settings=ModelSettings(max_tokens=5),
        abort_grace=1,
    )
    assert config.cwd == tmp_path
    assert dataclasses.replace(config, provider="offline").cwd == tmp_path


def test_whether_an_error_passes_follows_from_its_kind_unless_the_adapter_knows_better() -> None:
    assert ProviderError("x", kind=ErrorKind.connection).retryable
    assert not ProviderError("x", kind=ErrorKind.connection, retryable=False).retryable
    assert not ProviderError("x", kind=ErrorKind.auth).retryable
    assert ProviderError("x", kind=ErrorKind.auth, retryable=True).retryable


def test_an_error_never_steers_the_terminal_that_shows_it() -> None:
    error = ProviderError("red \x1b[31m alert\x07 \u202egnp.exe \ud83d\nnext", hint="a\tb\x9b2J")
    assert str(error) == "red \ufffd[31m alert\ufffd \ufffdgnp.exe \ufffd next; a b\ufffd2J"
    str(error).encode()
