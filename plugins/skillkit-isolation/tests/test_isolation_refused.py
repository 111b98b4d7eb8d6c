"""What an isolated plugin goes without is said with its reason, and a required plugin loads whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import ConfigError
from skillkit_core.descriptors import KINDS
from skillkit_core.hookspecs import host as host_hooks, lifecycle, registration, resolution

CARRIED = ("adapters", "compactors", "config", "context_providers", "credentials", "models", "runtimes", "tools")
REFUSED = sorted(
    [f"register_{kind}" for kind in KINDS if kind not in CARRIED]
    + [name for name in vars(resolution) if name.startswith(("resolve_", "refresh_", "select_"))]
    + [name for name in vars(lifecycle) if name.startswith("wrap_")]
    + ["plugin_problem", "plugin_registered", "project_content", "register_hookspecs"]
)


def test_whatever_a_plugin_implements_is_carried_or_said_with_its_reason(install: Any, isolated: Any) -> None:
    spaces = (host_hooks, lifecycle, registration, resolution)
    every = sorted({name for space in spaces for name, value in vars(space).items() if hasattr(value, "skillkit_spec")})
    assert set(REFUSED) < set(every) and len(every) > 60
    code = "\n".join(f"@hookimpl\ndef {name}(): ...\n" for name in every)
    host, told = isolated(install("acme", code)), list[str]()
    host.tell = told.append
    host.load()
    lines = {p.message.partition(" ")[0]: p.message for p in host.problems}
    assert sorted(lines) == REFUSED and len(host.problems) == len(REFUSED)
    assert all(
        " does not work isolated: " in line and "objects of another plugin" not in line for line in lines.values()
    )
    (line,) = told
    words, _, names = line.partition("'acme' runs isolated, and so without ")
    assert words == "plugin " and names.endswith("; 'skillkit plugins doctor' says why")
    assert sorted(names.partition(";")[0].split(", ")) == REFUSED
    host.close()


def test_a_required_plugin_that_would_go_without_a_part_does_not_load(install: Any, isolated: Any) -> None:
    from skillkit_core.host.plugins import check_required

    code = "@hookimpl\nasync def wrap_tool_call(call, call_next):\n    return None\n"
    host = isolated(install("acme", code), settings={"plugins.required": ["acme"]})
    with pytest.raises(ConfigError, match="hooks: wrap_tool_call does not work isolated"):
        check_required(host)
    assert "acme" not in host.plugins
    host.close()
