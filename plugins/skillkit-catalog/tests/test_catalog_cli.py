"""``skillkit models`` as people run it."""

from __future__ import annotations

from typing import Any

from skillkit_catalog.catalog import builtin


def test_the_list_shows_every_model_with_window_and_price(skillkit_cli: Any) -> None:
    lines = skillkit_cli("models", "list").ok().stdout.splitlines()
    assert lines[0].split() == ["model", "window", "output", "$", "in", "$", "out", "can"]
    assert len(lines) >= len(builtin()) + 1
    (row,) = [line for line in lines if line.startswith("openai/gpt-4o-mini ")]
    assert row.split() == ["openai/gpt-4o-mini", "128K", "16K", "0.15", "0.6", "image", "pdf", "schema", "tools"]
    (unknown,) = [line for line in lines if line.startswith("openrouter/openrouter/auto ")]
    assert unknown.split()[1:5] == ["-", "-", "-", "-"]


def test_a_query_and_a_provider_narrow_the_list(skillkit_cli: Any) -> None:
    found = skillkit_cli("models", "list", "claude opus", "--provider", "anthropic", "--json").ok().json["models"]
    assert found
    assert all("opus" in m["id"] and m["provider"] == "anthropic" for m in found)
    assert set(found[0]) == {
        "name",
        "id",
        "provider",
        "api",
        "display_name",
        "context_window",
        "max_output_tokens",
        "cost",
        "capabilities",
        "reasoning",
        "aliases",
        "thinking_levels",
        "options",
    }


def test_close_spellings_are_listed_only_when_nothing_else_is(skillkit_cli: Any) -> None:
    names = [m["name"] for m in skillkit_cli("models", "list", "gpt-5.5", "--json").ok().json["models"]]
    assert names == ["openai/gpt-5.5"]
    names = [m["name"] for m in skillkit_cli("models", "list", "claude-sonet-4-5", "--json").ok().json["models"]]
    assert "anthropic/claude-sonnet-4-5" in names


def test_nothing_that_matches_is_exit_code_1(skillkit_cli: Any) -> None:
    result = skillkit_cli("models", "list", "qqqqqqqq")
    assert (result.exit_code, result.stdout) == (1, "No model matches 'qqqqqqqq'.\n")
    result = skillkit_cli("models", "list", "qqqqqqqq", "--json")
    assert (result.exit_code, result.json) == (1, {"models": []})


def test_an_unknown_provider_or_model_is_wrong_usage_with_a_hint(skillkit_cli: Any) -> None:
    result = skillkit_cli("models", "list", "--provider", "antropic")
    assert result.exit_code == 2
    assert "unknown provider 'antropic'; did you mean 'anthropic'" in result.stderr
    result = skillkit_cli("models", "show", "gpt-5-mimi")
    assert result.exit_code == 2
    assert "unknown model 'gpt-5-mimi'; did you mean 'openai/gpt-5-mini'" in result.stderr


def test_one_model_is_shown_with_its_source(skillkit_cli: Any) -> None:
    shown = skillkit_cli("models", "show", "claude-haiku-4-5-20251001").ok().stdout
    assert "anthropic/claude-haiku-4-5" in shown
    assert "200,000 tokens" in shown
    assert "input 1, output 5, cache read 0.1, cache write 1.25 (US dollars per million tokens)" in shown
    data = skillkit_cli("models", "show", "o3", "--json").ok().json
    assert (data["name"], data["plugin"], data["as_of"]) == ("openai/o3", "catalog", "2026-09")
    assert data["cost"] == {"input": 2, "output": 8, "cache_read": 0.5, "cache_write": 2}
    assert data["source"].startswith("https://")


def test_models_of_the_configuration_are_listed_and_mistakes_stop_the_command(
    skillkit_cli: Any, skillkit_home: Any
) -> None:
    skillkit_home.write_config("catalog:\n  models:\n    - {id: house-7b, provider: ollama, note: ours}\n")
    data = skillkit_cli("models", "show", "house-7b", "--json").ok().json
    assert (data["name"], data["source"], data["options"]) == (
        "ollama/house-7b",
        "your configuration",
        {"note": "ours"},
    )
    path = skillkit_home.write_config("catalog:\n  modls: []\n")
    result = skillkit_cli("models", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{path}:2: catalog.modls: unknown setting 'modls'; did you mean 'models'?" in result.stderr
    assert "Traceback" not in result.stderr
