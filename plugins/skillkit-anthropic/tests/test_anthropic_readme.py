"""The README says what is so: its coverage, its providers, its configuration."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from skillkit_anthropic import plugin
from skillkit_anthropic.config import AnthropicConfig

TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def coverage(cases: list[Any]) -> str:
    """The table of recorded servers and the number of their cases."""
    counts = {s: Counter(c.index["provider"] for c in cases if c.index["stream"] is s) for s in (True, False)}
    total = counts[True] + counts[False]
    rows = [f"| {name} | {counts[True][name]} | {counts[False][name]} | {n} |" for name, n in total.most_common()]
    return "\n".join(["| server | streamed | whole | cases |", "|---|--:|--:|--:|", *rows])


def test_the_coverage_table_is_that_of_the_recordings(cases):
    match = re.search(r"<!-- coverage -->\n(.*?)\n<!-- /coverage -->", TEXT, re.S)
    assert match is not None
    assert match.group(1) == coverage(cases), "replace the table by:\n" + coverage(cases)


def test_the_numbers_below_it_are_those_of_the_recordings(cases):
    def count(*features: str) -> int:
        return sum(any(f in c.index["features"] for f in features) for c in cases)

    said = [
        int(n) for n in re.findall(r"(\d+) (?:with|failures|HTTP|in mid|streams)", TEXT[TEXT.index("Among them:") :])
    ]
    http, broken = count("error:http"), count("error:mid_stream")
    found = [
        count("thinking"),
        count("tool_call"),
        count("server_tool"),
        count("citations"),
        http + broken,
        http,
        broken,
    ]
    assert said[: len(found)] == found


def test_every_provider_is_in_the_readme_with_its_endpoint_and_key():
    found: list[Any] = []
    plugin.register_adapters(found.append)
    for provider in found[1:]:
        (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{provider.name}` |")]
        for part in (provider.base_url, provider.base_url_env, *provider.api_key_env):
            assert part is None or part in row, (provider.name, part)


def test_the_configuration_of_the_readme_is_complete_and_shows_the_defaults():
    match = re.search(r"```yaml\n(.*?)```", TEXT, re.S)
    assert match is not None
    section = yaml.safe_load(match.group(1))["anthropic"]
    assert set(section) == {field.name for field in fields(AnthropicConfig)}
    assert AnthropicConfig(**section | {"betas": tuple(section["betas"])}) == AnthropicConfig()
