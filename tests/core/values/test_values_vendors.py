"""The core names no vendor, and brings no HTTP: both belong to plugins."""

from __future__ import annotations

import re
from pathlib import Path

import skillkit_core

VENDORS = re.compile(
    r"openai|chatgpt|\bgpt-|anthropic|claude|gemini|\bgoog|azure|bedrock|mistral|ollama|\bgroq|deepseek", re.IGNORECASE
)
HTTP = re.compile(
    r"^\s*(?:import|from) +(?:aiohttp|httpx2?|httpcore2?|requests|urllib3?\.request|http\.client)\b", re.MULTILINE
)


def found(pattern: re.Pattern[str]) -> list[str]:
    """Each line of the core that ``pattern`` is found in: file, number, text."""
    root = Path(skillkit_core.__file__).parent
    lines = [(p, n, line) for p in root.rglob("*.py") for n, line in enumerate(p.read_text("utf-8").splitlines(), 1)]
    return [f"{p.relative_to(root)}:{n}: {line.strip()}" for p, n, line in lines if pattern.search(line)]


def test_the_core_names_no_vendor() -> None:
    assert found(VENDORS) == []


def test_the_core_imports_no_http_library() -> None:
    assert found(HTTP) == []
