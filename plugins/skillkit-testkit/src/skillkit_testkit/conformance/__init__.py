"""Conformance suites: base classes whose tests an implementation of a contract must pass.

Subclass one in a test module, give it what it asks for, and pytest runs every check against your implementation::

    class TestAcme(AdapterConformance):
        @pytest.fixture
        def make_adapter(self):
            return lambda url: AcmeAdapter(None, provider="acme", base_url=url, api_key="k")

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import Any

_WHERE = {
    "AdapterConformance": "adapter",
    "ArmedConformance": "armed",
    "CommandConformance": "command",
    "CompactorConformance": "compactor",
    "EngineConformance": "engine",
    "ExecutorConformance": "executor",
    "GuardConformance": "guard",
    "RuntimeConformance": "runtime",
    "Scripting": "adapter_case",
    "SessionStoreConformance": "session_store",
    "SkillLoaderConformance": "skill_loader",
    "SkillsConformance": "skills",
    "ToolConformance": "tool",
    "UserInterfaceConformance": "user_interface",
}


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)
