"""The README says what is so: its coverage, its providers, its configuration, its example."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from skillkit_openai import plugin
from skillkit_openai.config import Server

from skillkit_core import Host

README = Path(__file__).parent.parent / "README.md"


def coverage(index: list[dict[str, Any]]) -> str:
    """The table of recorded servers and the number of their cases."""
    chat = Counter(c["provider"] for c in index if c["api"] == "openai-chat")
    responses = Counter(c["provider"] for c in index if c["api"] == "openai-responses")
    rows = [f"| {name} | {chat[name] or ''} | {responses[name] or ''} |" for name in sorted({*chat, *responses})]
    total = f"| **{len(rows)} servers** | **{chat.total()}** | **{responses.total()}** |"
    return "\n".join(["| server | Chat Completions | Responses |", "|---|--:|--:|", *rows, total])


def test_the_coverage_table_is_that_of_the_recordings(index: list[dict[str, Any]]) -> None:
    match = re.search(r"<!-- coverage -->\n(.*?)\n<!-- /coverage -->", README.read_text(encoding="utf-8"), re.S)
    assert match is not None
    assert match.group(1) == coverage(index), "replace the table by:\n" + coverage(index)


def test_every_provider_is_in_the_readme_with_its_endpoint_and_variables() -> None:
    text = README.read_text(encoding="utf-8")
    found: list[Any] = []
    plugin.register_adapters(found.append, Host(discover=False))
    for p in found:
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{p.name}` |")]
        for part in (p.base_url, p.base_url_env, *p.api_key_env):
            assert part is None or part in row, (p.name, part)


def test_the_configuration_of_the_readme_is_valid_and_complete(section: Any) -> None:
    match = re.search(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert match is not None
    raw = yaml.safe_load(match.group(1))["openai"]
    assert section(raw).servers["house"].default_model == "big-1"
    shown = {*raw, *raw["servers"]["house"]} - {"servers"}
    assert shown == {one.name for one in fields(Server)}


@pytest.mark.parametrize("number", [0])
def test_the_python_that_can_run_runs(number: int) -> None:
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"(<!-- no-run: [^\n]*-->\n)?```python\n(.*?)```", text, re.S)
    runnable = [code for skip, code in blocks if not skip]
    assert len(runnable) == 1
    exec(compile(runnable[number], str(README), "exec"), {})
