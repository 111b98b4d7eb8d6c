"""Everything is installed: a plain request costs nearly what one of the standard distribution does."""

from __future__ import annotations

import asyncio
import json

import pytest

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.estimates import estimate_tokens
from skillkit_core.frozen import thaw
from skillkit_core.host.plan import Selection
from skillkit_core.testing import ScriptedModel

for package in ("toolpacks", "crawl_tools", "chart_tools", "math_tools", "memory_tools", "export_tools"):
    pytest.importorskip(f"skillkit_{package}", reason="not every package is installed")

MORE = 250  # tokens: request_tools, with the names of the packs


def carried(host: Host) -> dict[str, int]:
    """Return the tools of a plain request with the estimated tokens of each."""

    async def main() -> dict[str, int]:
        async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
            model = ScriptedModel(["Hello."])
            agent.set_adapter(model)
            await agent.chat("Say hello.")
            return {
                tool.name: estimate_tokens(json.dumps([tool.name, tool.description, thaw(tool.parameters)]))
                for tool in model.requests[0].tools
            }

    try:
        return asyncio.run(main())
    finally:
        asyncio.run(host.aclose())


def test_a_plain_request_with_every_package_installed_costs_little_more_than_the_standard_distribution(skillkit_home):
    standard = carried(Host("default", selection=Selection(only_default=True)))
    everything = carried(Host())
    assert set(everything) - set(standard) == {"request_tools"}
    assert sum(everything.values()) <= sum(standard.values()) + MORE


CATALOGUE = (
    "capture", "search_local", "search_web", "email_read", "email_send", "visualization", "math", "document_ops",
    "document_write", "navigation", "org_tools", "memory", "formatting",
)  # fmt: skip


def test_with_every_package_installed_the_packs_of_the_catalogue_are_complete(skillkit_cli):
    states = {row["name"]: row["state"] for row in skillkit_cli("packs", "list", "--json").ok().json}
    assert {name: states[name] for name in CATALOGUE} == dict.fromkeys(CATALOGUE, "complete")
    assert {"partial"} >= {state for name, state in states.items() if name not in CATALOGUE} - {"complete"}
