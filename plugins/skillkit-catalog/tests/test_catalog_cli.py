"""``skillkit models`` as people run it."""

from __future__ import annotations

from typing import Any

from skillkit_catalog.catalog import builtin
from skillkit_testkit import Reply


def test_the_list_shows_every_model_with_window_and_price(skillkit_cli: Any) -> None:
    lines = skillkit_cli("models", "list").ok().stdout.splitlines()
    assert lines[0].split() == ["model", "window", "output", "$", "in", "$", "out", "ends", "can"]
    assert len(lines) >= len(builtin()) + 1
    (row,) = [line for line in lines if line.startswith("openai/gpt-4o-mini ")]
    assert row.split() == [
        "openai/gpt-4o-mini",
        "128K",
        "16K",
        "0.15",
        "0.6",
        "01/27",
        *["image", "pdf", "schema", "tools"],
    ]
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
        "modalities",
        "deprecated",
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
    assert (result.exit_code, result.json) == (1, {"models": [], "aliases": {}})


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
    assert (data["name"], data["plugin"], data["as_of"]) == ("openai/o3", "catalog", "2026-10")
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


def test_a_cost_is_shown_in_parts_and_an_unknown_price_is_said(skillkit_cli: Any) -> None:
    asked = ("--input", "300000", "--output", "2000", "--cache-read", "1000")
    data = skillkit_cli("models", "cost", "gpt-6-sol", *asked, "--reasoning", "100", "--json").ok().json
    assert {p["part"]: (p["tokens"], p["price"]) for p in data["parts"]} == {
        "input": (300_000, 4),
        "output": (2_000, 15),
        "cache_read": (1_000, 0.4),
        "reasoning": (100, 15),
    }
    assert data["cost"] == sum(p["cost"] for p in data["parts"])
    assert (data["model"], data["above"]) == ("openai/gpt-6-sol", 272_000)
    lines = skillkit_cli("models", "cost", "gpt-6-sol", *asked).ok().stdout.splitlines()
    assert lines[-2].split() == ["sum", "303,000", "1.2304"]
    assert lines[-1] == "The prices are those of prompts above 272,000 tokens."

    unknown = skillkit_cli("models", "cost", "openrouter/auto", "--input", "1")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert "the price of openrouter/openrouter/auto is not known" in unknown.stderr
    as_json = skillkit_cli("models", "cost", "openrouter/auto", "--input", "1", "--json")
    assert (as_json.exit_code, as_json.json["cost"]) == (1, None)
    assert skillkit_cli("models", "cost", "o3").exit_code == 2
    assert "did you mean" in skillkit_cli("models", "cost", "gpt-5-mimi", "--input", "1").stderr


def test_the_end_of_a_model_its_tiers_and_modalities_are_shown(skillkit_cli: Any) -> None:
    shown = " ".join(skillkit_cli("models", "show", "gpt-5-mini").ok().stdout.split())
    assert "ends 2026-12-11; its successor is gpt-5.6-terra" in shown
    assert "takes text, image, pdf gives text" in shown
    tiers = " ".join(skillkit_cli("models", "show", "claude-haiku-5-5").ok().stdout.split())
    assert "prompts above 100,000 tokens: input 0.5, output 2.5, cache read 0.05, cache write 0.625" in tiers
    data = skillkit_cli("models", "show", "gpt-5-mini", "--json").ok().json
    assert data["deprecated"] == {"since": "2026-06-11", "retires": "2026-12-11", "successor": "gpt-5.6-terra"}
    assert data["modalities"] == {"input": ["text", "image", "pdf"], "output": ["text"]}


def test_an_alias_is_listed_and_resolved_everywhere(skillkit_cli: Any, skillkit_home: Any, llm_server: Any) -> None:
    skillkit_home.write_config(
        "catalog:\n  aliases: {fast: house-7b, small: fast}\n"
        "  models:\n    - {id: house-7b, provider: ollama, context_window: 32000, cost: {input: 1, output: 2}}\n"
    )
    assert skillkit_cli("models", "list", "small", "--json").ok().json["aliases"] == {
        "fast": "ollama/house-7b",
        "small": "ollama/house-7b",
    }
    lines = skillkit_cli("models", "list", "--provider", "ollama").ok().stdout.splitlines()
    assert ["small", "ollama/house-7b"] in [line.split() for line in lines]
    assert skillkit_cli("models", "cost", "small", "--input", "1000000", "--json").ok().json["cost"] == 1
    for named in (["--model", "small"], ["--model", "fast", "--provider", "ollama"]):
        llm_server.script(Reply(text="hello"))
        done = skillkit_cli("run", *named, "--base-url", llm_server.openai_url, "--json", "hi").ok()
        assert (done.json["model"], done.stderr) == ("house-7b", "")
        assert llm_server.requests[-1].body["model"] == "house-7b"

    path = skillkit_home.write_config("catalog:\n  aliases:\n    fast: gpt-5-mimi\n")
    result = skillkit_cli("run", "--model", "fast", "hi")
    assert result.exit_code == 2
    assert f"{path}:2: catalog.aliases: fast: unknown model 'gpt-5-mimi'" in result.stderr


def test_a_run_says_once_what_is_not_known_of_its_model_and_when_it_ends(
    skillkit_cli: Any, skillkit_home: Any, llm_server: Any
) -> None:
    def run(*named: str) -> Any:
        llm_server.script(Reply(text="hello"))
        return skillkit_cli("run", *named, "--base-url", llm_server.openai_url, "--json", "hi").ok()

    unknown = run("--model", "foo")
    assert (unknown.json["answer"], unknown.json["cost"]) == ("hello", None)
    assert unknown.stderr.count("the price and the window of openai/foo are not known") == 1
    assert "catalog.models" in unknown.stderr
    ends = "deprecated: {retires: 2999-01-01, successor: gpt-6-luna}"
    skillkit_home.write_config(f"catalog:\n  overrides:\n    gpt-4o-mini:\n      {ends}\n")
    old = run("--provider", "openai", "--model", "gpt-4o-mini")
    assert old.json["cost"] > 0
    assert old.stderr == "openai/gpt-4o-mini is deprecated and ends on 2999-01-01; its successor is gpt-6-luna\n"
    gone = run("--provider", "openai", "--model", "o1").stderr
    assert gone == "openai/o1 is deprecated and ended on 2026-10-23; its successor is gpt-5.6-sol\n"
    assert run("--provider", "openai", "--model", "gpt-6-luna").stderr == ""

    tier = "{above: 9, input: 10, output: 20}"
    skillkit_home.write_config(
        f"catalog:\n  overrides:\n    gpt-6-luna:\n      cost: {{input: 1, output: 2, tiers: [{tier}]}}\n"
    )
    priced = run("--provider", "openai", "--model", "gpt-6-luna").json
    assert (priced["usage"]["input"], priced["usage"]["output"]) == (10, 5)
    assert priced["cost"] == (10 * 10 + 5 * 20) / 1e6
