"""The built-in data, and what the configuration makes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import skillkit_catalog.plugin
from skillkit_catalog.catalog import builtin, find, providers
from skillkit_catalog.config import CatalogConfig
from skillkit_catalog.configured import definitions, own_model
from skillkit_catalog.entries import ModelEntry
from skillkit_catalog.notices import unknown_facts

from skillkit_core import (
    DocumentBlock,
    LLMRequest,
    ModelDefinition,
    ModelRegistry,
    ModelSettings,
    TokenUsage,
    UserMessage,
)
from skillkit_core.descriptors import ConfigSection
from skillkit_core.errors import ConfigError, UnknownName
from skillkit_core.settings.config import Config, Layer

pytestmark = pytest.mark.smoke

MODELS = {f"{m.provider}/{m.id}": m for m in builtin()}
APIS = {"anthropic-messages", "openai-chat", "openai-responses"}
CAPABILITIES = {"text", "image", "pdf", "reasoning", "tool_use", "structured_output"}


@pytest.fixture
def registry() -> ModelRegistry:
    registry = ModelRegistry()
    for model in builtin():
        registry.register(model)
    return registry


def valid(section: dict[str, Any]) -> CatalogConfig:
    layers, sections = [Layer("user", {"catalog": section})], {"catalog": ConfigSection("catalog", CatalogConfig)}
    found: CatalogConfig = Config(layers, lambda: sections).section("catalog")
    return found


def configured(**section: Any) -> dict[str, ModelDefinition]:
    return {f"{m.provider}/{m.id}": m for m in definitions(valid(section))}


# -- the data


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_entry_is_whole_and_plausible(name: str) -> None:
    model = MODELS[name]
    assert model.api in APIS
    assert model.display_name
    assert model.capabilities <= CAPABILITIES
    assert "text" in model.capabilities
    assert model.reasoning == ("reasoning" in model.capabilities)
    assert 0 <= model.max_output_tokens <= (model.context_window or model.max_output_tokens)
    assert not model.context_window or 4_000 <= model.context_window <= 10_000_000
    assert set(model.thinking_levels) <= {"off", "minimal", "low", "medium", "high", "xhigh"}
    assert not model.thinking_levels or {"minimal", "low", "medium", "high", "xhigh"} <= set(model.thinking_levels)
    assert model.reasoning or not model.thinking_levels
    if model.cost is not None:
        for price in (model.cost, *model.cost.tiers):
            assert 0 < price.cache_read <= price.input <= price.cache_write <= 2 * price.input
            assert price.input <= price.output
        steps = [model.cost, *model.cost.tiers]
        assert all(a.input < b.input and a.output < b.output for a, b in pairwise(steps))
    if ends := model.options.get("deprecated"):
        assert MODELS[f"{model.provider}/{ends['successor']}"].id != model.id
        assert not MODELS[f"{model.provider}/{ends['successor']}"].options.get("deprecated")


UNKNOWN = {
    ("openrouter/openrouter/auto", "price"): "the router chooses the model",
    ("openrouter/openrouter/auto", "window"): "the router chooses the model",
    ("openrouter/x-ai/grok-4", "price"): "xAI ended it on 2026-05-15; no list has it any more",
    ("openrouter/x-ai/grok-4.1-fast", "price"): "xAI ended it on 2026-05-15; no list has it any more",
    ("openrouter/deepseek/deepseek-chat-v3.1", "window"): "those who serve it offer different windows",
    ("openrouter/minimax/minimax-m2", "window"): "those who serve it offer different windows",
}


def test_the_price_and_the_window_of_every_model_are_known_except_where_nobody_says_them() -> None:
    unknown = {(name, fact) for name, model in MODELS.items() for fact in unknown_facts(model)}
    assert unknown == set(UNKNOWN)


def test_options_are_facts_that_adapters_look_at() -> None:
    assert {name for m in MODELS.values() for name in m.options} <= {"note", "deprecated", "unsupported_parameters"}


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "openai/o3", "openai/gpt-5-pro"])
def test_a_temperature_that_the_model_refuses_fails_before_anything_is_sent(name: str) -> None:
    adapter = _openai_adapter(MODELS[name])
    request = LLMRequest(MODELS[name], [UserMessage(content="hi")], settings=ModelSettings(temperature=0.2))
    assert adapter.validate(request) == [f"model {MODELS[name].id} does not take the setting temperature; leave it out"]


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "openai/gpt-4o", "openai/gpt-5-pro"])
def test_a_pdf_reaches_models_that_see(name: str) -> None:
    adapter = _openai_adapter(MODELS[name])
    paper = UserMessage(content=(DocumentBlock(data="JVBERi0=", title="paper.pdf"),))
    sent = adapter.body(LLMRequest(MODELS[name], [paper]))
    assert b"data:application/pdf;base64,JVBERi0=" in sent


def _openai_adapter(model: ModelDefinition) -> Any:
    wires = pytest.importorskip("skillkit_openai")
    kind = wires.OpenAIResponsesAdapter if model.api == "openai-responses" else wires.OpenAIAdapter
    return kind(None, api_key="k")


def test_entries_fit_the_schema_that_users_write() -> None:
    """One format: an entry of the data is an entry of the configuration."""
    import json

    import skillkit_catalog.catalog as catalog

    for group in json.loads(catalog._DATA.read_text()):
        assert set(group) == {"provider", "api", "source", "as_of", "models"}
        for entry in group["models"]:
            ModelEntry.model_validate({"provider": group["provider"], **entry})


def test_every_provider_says_where_the_facts_come_from_and_when() -> None:
    assert len({f.provider for f in providers()}) == len(providers()) >= 9
    for facts in providers():
        assert facts.source.startswith("https://")
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", facts.as_of)
        assert facts.models


def test_there_are_enough_models_and_no_name_means_two() -> None:
    assert 60 <= len(builtin()) == len(MODELS)
    for facts in providers():
        names = [n for m in facts.models for n in (m.id, *m.aliases)]
        assert len(names) == len(set(names)), f"{facts.provider} uses a name twice"


def test_bare_ids_mean_the_maker_and_aliases_resolve(registry: ModelRegistry) -> None:
    for model in builtin():
        assert registry.get(f"{model.provider}/{model.id}") is model
        for alias in model.aliases:
            assert registry.get(alias) is model
            assert registry.get(f"{model.provider}/{alias}") is model
    found = registry.get("gemini-2.5-pro")
    assert found is not None
    assert found.provider == "google-openai"


def test_claude_has_structured_output_behind_openrouter_where_it_has_it_at_anthropic(registry: ModelRegistry) -> None:
    behind = [m for m in registry.list_by_provider("openrouter") if m.id.startswith("anthropic/")]
    assert len(behind) == 3
    for model in behind:
        own = registry.get(model.id.replace(".", "-"))
        assert own is not None
        assert {"structured_output"} & model.capabilities == {"structured_output"} & own.capabilities, model.id


def test_find_is_fuzzy(registry: ModelRegistry) -> None:
    assert registry.find("gpt-5-mini")[0].id == "gpt-5-mini"
    assert {m.provider for m in registry.find("claude opus")} == {"anthropic", "openrouter"}
    assert "claude-sonnet-4-5" in [m.id for m in registry.find("claude-sonet-4-5")]
    assert registry.find("no such thing at all") == []
    assert "deepseek-chat" in [m.id for m in registry.list_by_provider("deepseek")]


def test_an_unknown_name_lists_close_matches(registry: ModelRegistry) -> None:
    assert registry.get("gpt-5-mimi") is None
    with pytest.raises(UnknownName, match="did you mean 'openai/gpt-5-mini'"):
        registry.calculate_cost("gpt-5-mimi", TokenUsage())


# -- costs


def test_a_cost_is_the_sum_over_disjoint_buckets(registry: ModelRegistry) -> None:
    """The price list in the test is the arithmetic written out."""
    usage = TokenUsage(input=1_000_000, output=200_000, cache_read=3_000_000, cache_write=400_000, reasoning=300_000)
    # claude-sonnet-4-6: 3 in, 15 out, 0.30 cache read, 3.75 cache write
    assert registry.calculate_cost("claude-sonnet-4-6", usage) == pytest.approx(3 + 0.5 * 15 + 3 * 0.3 + 0.4 * 3.75)
    assert registry.calculate_cost("claude-sonnet-4-6", TokenUsage()) == 0


def test_a_long_prompt_has_the_prices_of_its_tier_for_all_its_tokens(registry: ModelRegistry) -> None:
    # gpt-6-sol: 2 in, 10 out, 0.20 cache read, 2.50 cache write; above 272,000 tokens 4, 15, 0.40 and 5
    below = TokenUsage(input=172_000, cache_read=50_000, cache_write=50_000, output=1_000)
    above = TokenUsage(input=172_001, cache_read=50_000, cache_write=50_000, output=1_000)
    assert registry.calculate_cost("gpt-6-sol", below) == pytest.approx(
        (172_000 * 2 + 50_000 * 0.2 + 50_000 * 2.5 + 1_000 * 10) / 1e6
    )
    assert registry.calculate_cost("gpt-6-sol", above) == pytest.approx(
        (172_001 * 4 + 50_000 * 0.4 + 50_000 * 5 + 1_000 * 15) / 1e6
    )


def test_an_unknown_cache_price_counts_as_input(registry: ModelRegistry) -> None:
    # mistral-large-2411: 2 in, no cache price
    assert registry.calculate_cost("mistral-large-2411", TokenUsage(cache_read=1_000_000)) == pytest.approx(2)


def test_an_unknown_price_is_no_zero(registry: ModelRegistry) -> None:
    model = registry.get("openrouter/auto")
    assert model is not None
    assert model.cost_of(TokenUsage(input=1000)) is None
    with pytest.raises(ValueError, match="not known"):
        registry.calculate_cost("openrouter/auto", TokenUsage(input=1000))


# -- the configuration


def test_a_model_of_the_user_is_added_and_replaces_a_built_in_one() -> None:
    found = configured(
        models=[
            {"id": "house-7b", "provider": "ollama", "context_window": 32_000, "cost": {"input": 1, "output": 2}},
            {"id": "gpt-4o", "provider": "openai", "capabilities": ["text"], "note": "no tools here"},
        ]
    )
    assert len(found) == len(MODELS) + 1
    house = found["ollama/house-7b"]
    assert (house.context_window, house.cost.cache_read, house.capabilities) == (32_000, 1, {"text", "tool_use"})
    mine = found["openai/gpt-4o"]
    assert (mine.context_window, mine.cost, mine.capabilities) == (0, None, {"text"})
    assert mine.options == {"note": "no tools here"}
    assert list(found).index("openai/gpt-4o") == list(MODELS).index("openai/gpt-4o")


def test_an_override_changes_only_what_it_names() -> None:
    found = configured(
        overrides={
            "o3": {"cost": {"input": 1, "output": 4}, "options": {"tier": "flex"}},
            "claude-sonnet-4-5-20250929": {"context_window": 1_000_000},
            "xai/grok-3": {"cost": None, "capabilities": ["text"]},
        }
    )
    o3, before = found["openai/o3"], MODELS["openai/o3"]
    assert (o3.cost.input, o3.cost.output, o3.cost.cache_read) == (1, 4, 1)
    assert o3.options == {**before.options, "tier": "flex"}
    assert (o3.context_window, o3.thinking_levels, o3.aliases) == (200_000, before.thinking_levels, before.aliases)
    assert found["anthropic/claude-sonnet-4-5"].context_window == 1_000_000
    assert (found["xai/grok-3"].cost, found["xai/grok-3"].reasoning) == (None, False)
    unchanged = set(found) - {"openai/o3", "anthropic/claude-sonnet-4-5", "xai/grok-3"}
    assert all(found[n] == MODELS[n] for n in unchanged)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"models": [{"id": "x"}]}, "provider"),
        ({"models": [{"id": "x", "provider": "p", "window": 3}]}, "unknown setting"),
        ({"models": [{"id": "x", "provider": "p", "cost": {"input": -1, "output": 1}}]}, "greater than or equal"),
        ({"models": [{"id": "x", "provider": "p", "capabilities": ["fly"]}]}, "capabilities"),
        ({"models": [{"id": "x", "provider": "p", "thinking_levels": {"huge": 1}}]}, "thinking_levels"),
        ({"models": [{"id": "x", "provider": "p"}] * 2}, "p/x is defined twice"),
        ({"overrides": {"gpt-55": {}}}, r"unknown model 'gpt-55'; did you mean .*openai/gpt-5.5"),
        ({"overrides": {"o3": {"context_window": None}}}, "null is no value"),
        ({"model": []}, "unknown setting 'model'; did you mean 'models'"),
        ({"aliases": {"fast": "gpt-55"}}, r"fast: unknown model 'gpt-55'; did you mean .*openai/gpt-5.5"),
        ({"aliases": {"a": "b", "b": "c", "c": "a"}}, "a -> b -> c -> a leads back to itself"),
        ({"aliases": {"o3": "gpt-4o"}}, "'o3' is the name of a model"),
        ({"overrides": {"o3": {"deprecated": {"retires": "soon", "successor": "x"}}}}, "retires"),
    ],
)
def test_a_wrong_section_is_refused(section: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        valid(section)


def test_an_alias_is_a_name_of_the_model_that_it_leads_to() -> None:
    found = configured(
        models=[{"id": "house-7b", "provider": "ollama"}],
        aliases={"fast": "quick", "quick": "anthropic/claude-haiku-4-5", "home": "house-7b"},
    )
    assert found["anthropic/claude-haiku-4-5"].aliases[-2:] == ("fast", "quick")
    assert found["ollama/house-7b"].aliases == ("home",)


def test_tiers_and_the_end_of_a_model_can_be_configured() -> None:
    tier = {"above": 1_000, "input": 2, "output": 4}
    ends = {"retires": "2030-01-01", "successor": "o9"}
    cost = {"input": 1, "output": 2, "tiers": [tier]}
    o3 = configured(overrides={"o3": {"cost": cost, "deprecated": ends}})["openai/o3"]
    assert o3.cost_of(TokenUsage(input=1_001, output=1)) == pytest.approx((1_001 * 2 + 4) / 1e6)
    assert dict(o3.options["deprecated"])["successor"] == "o9"
    assert o3.options["unsupported_parameters"] == MODELS["openai/o3"].options["unsupported_parameters"]


# -- in a host


def test_a_host_offers_the_models_and_the_users_own_win(make_host: Callable[..., Any], skillkit_home: Any) -> None:
    class Other:
        """A plugin that offers the same model."""

        @staticmethod
        def models() -> ModelDefinition:
            return ModelDefinition("house-7b", "ollama", context_window=1)

    from skillkit_core import hookimpl

    class OtherPlugin:
        @hookimpl
        def register_models(self, register: Callable[[ModelDefinition], None]) -> None:
            register(Other.models())

    skillkit_home.write_config("catalog:\n  models:\n    - {id: house-7b, provider: ollama, context_window: 32000}\n")
    host = make_host(("catalog", skillkit_catalog.plugin), ("other", OtherPlugin()))

    assert host.problems == []
    assert len(host.models) == len(MODELS) + 2
    assert host.models.get("claude-opus-5").context_window == 1_000_000
    section = host.config.section("catalog")
    assert own_model(section, "house-7b", None).context_window == 32_000
    assert own_model(section, "ollama/house-7b", None).context_window == 32_000
    assert own_model(section, "house-7b", "vllm") is None
    assert own_model(section, "gpt-4o", None) is None

    import asyncio

    resolved = asyncio.run(host.resolve("resolve_model", name="house-7b", provider=None))
    assert resolved.context_window == 32_000


def test_a_mistake_in_the_file_is_named_with_its_line(make_host: Callable[..., Any], skillkit_home: Any) -> None:
    path = skillkit_home.write_config("# mine\ncatalog:\n  overides:\n    o3: {}\n")
    host = make_host(("catalog", skillkit_catalog.plugin))
    with pytest.raises(ConfigError) as caught:
        host.config.section("catalog")
    assert str(caught.value) == f"{path}:3: catalog.overides: unknown setting 'overides'; did you mean 'overrides'?"


def test_an_unknown_override_is_named_with_its_line(make_host: Callable[..., Any], skillkit_home: Any) -> None:
    path = skillkit_home.write_config("catalog:\n\n  overrides:\n    gpt-5-mimi: {context_window: 5}\n")
    host = make_host(("catalog", skillkit_catalog.plugin))
    with pytest.raises(ConfigError, match="did you mean 'openai/gpt-5-mini'") as caught:
        host.config.section("catalog")
    assert str(caught.value).startswith(f"{path}:3: catalog.overrides: ")


def test_broken_yaml_is_named_with_its_line(make_host: Callable[..., Any], skillkit_home: Any) -> None:
    path = skillkit_home.write_config("catalog:\n  models:\n    - {id: x, provider: p\n")
    host = make_host(("catalog", skillkit_catalog.plugin))
    with pytest.raises(ConfigError, match="not valid YAML") as caught:
        host.config.section("catalog")
    assert re.match(re.escape(str(path)) + r":\d+: ", str(caught.value))


def test_the_plugin_module_imports_nothing_heavy() -> None:
    import json
    import subprocess
    import sys

    code = "import sys, json, skillkit_core; from skillkit_core import Command, ConfigSection, hookimpl;"
    code += "before = set(sys.modules); import skillkit_catalog.plugin;"
    code += "print(json.dumps(sorted(set(sys.modules) - before)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == ["skillkit_catalog", "skillkit_catalog.plugin"]


def test_names_of_the_package_are_there() -> None:
    import skillkit_catalog

    assert skillkit_catalog.builtin is builtin
    assert find("o3") is MODELS["openai/o3"]
    assert Path(skillkit_catalog.__file__).with_name("py.typed").exists()
    with pytest.raises(AttributeError, match="nothing"):
        _ = skillkit_catalog.nothing
