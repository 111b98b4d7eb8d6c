"""The built-in prices against those of the package ``genai-prices``, for every model that both know."""

from __future__ import annotations

import re
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest
import skillkit_catalog
from skillkit_catalog.catalog import builtin
from skillkit_catalog.refresh import COMPARED, genai_cost, genai_model

from skillkit_core import ModelCost, ModelDefinition

DAY = date(2026, 11, 23)  # some prices of the package depend on the day
OLD = "their price is the one of 2025, before V3.2; the model ended on 2026-07-24"
STORAGE = "their cache write is the price of the storage alone, which comes on top of the input price"
# what differs, and why we are right
DIFFERENT = {
    "deepseek/deepseek-chat": OLD,
    "deepseek/deepseek-reasoner": OLD,
    "xai/grok-4-0709": "they have no tier; xAI's page had twice the price above 128,000 tokens until the model ended",
    "openrouter/google/gemini-2.5-pro": STORAGE,
    "openrouter/google/gemini-2.5-flash": STORAGE,
}
SHARED = [(model, info) for model in builtin() if (info := genai_model(model)) is not None]


def prices(cost: ModelCost | None) -> object:
    return None if cost is None else cost.to_dict()


def test_prices_are_those_of_genai_prices_or_differ_for_a_reason() -> None:
    assert len(SHARED) >= 90
    different = {
        f"{model.provider}/{model.id}": (prices(model.cost), prices(genai_cost(info, DAY)))
        for model, info in SHARED
        if prices(model.cost) != prices(genai_cost(info, DAY))
    }
    assert set(different) == set(DIFFERENT), {k: v for k, v in different.items() if k not in DIFFERENT}


def test_a_known_window_is_at_most_rounded_differently() -> None:
    own = {
        "deepseek/deepseek-chat",
        "deepseek/deepseek-reasoner",
        "groq/moonshotai/kimi-k2-instruct-0905",
    }  # of older models
    far = {
        f"{model.provider}/{model.id}"
        for model, info in SHARED
        if info.context_window and abs(info.context_window - model.context_window) > 0.06 * model.context_window
    }
    assert far == own


def test_the_release_that_was_compared_is_the_one_that_the_data_name() -> None:
    if version("genai-prices") != COMPARED:
        pytest.skip("another release is installed")
    text = Path(skillkit_catalog.__file__).with_name("models.json").read_text()
    assert set(re.findall(r"genai-prices (\d[\d.]*\d)", text)) == {COMPARED}


def test_a_price_that_changes_with_the_hour_is_the_dearest() -> None:
    info = genai_model(ModelDefinition("deepseek-flash", "deepseek"))
    assert info is not None
    cost = genai_cost(info, DAY)
    assert cost is not None
    assert (cost.input, cost.output) == (0.3, 1.2)
