"""The work of a host grows with its plugins, not with their square: counts of calls, which no busy machine changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import skillkit_core
from skillkit_core import Host, hookimpl
from skillkit_core.descriptors import Command, Factory

CORE = str(Path(skillkit_core.__file__).parent)


def plugin(number: int) -> ModuleType:
    made = ModuleType(f"acme{number}")

    @hookimpl
    def register_commands(register: Any) -> None:
        register(Command(f"command{number}", "json:dumps", "Do it."))

    @hookimpl
    def register_runtimes(register: Any) -> None:
        register(Factory(f"runtime{number}", "json:dumps"))

    @hookimpl
    def host_started() -> None: ...

    @hookimpl
    def agent_end(event: Any) -> None: ...

    vars(made).update(locals())
    return made


def calls(plugins: int) -> int:
    """How many functions the core calls to load that many plugins and to collect all of their items."""
    count = 0

    def profile(frame: Any, event: str, arg: object) -> None:
        nonlocal count
        if event in ("call", "c_call") and frame.f_code.co_filename.startswith(CORE):
            count += 1

    host = Host(discover=False, plugins=[plugin(number) for number in range(plugins)])
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        host.collect_all()
        host.close()
    finally:
        sys.setprofile(before)
    assert host.problems == []
    assert len(host.commands) == len(host.runtimes) == plugins
    return count


def test_loading_plugins_and_collecting_their_items_is_linear() -> None:
    calls(10)  # what is imported once
    few, some, many = calls(20), calls(40), calls(80)
    assert many - some < 2.05 * (some - few), (few, some, many)


def test_a_frozen_host_is_not_walked_through_and_new_objects_are_looked_at_by_ten_thousands() -> None:
    code = (
        "import gc\n"
        "from skillkit_core import Host\n"
        "host = Host(discover=False)\n"
        "host.freeze()\n"
        "assert gc.get_freeze_count() > 1_000 and gc.get_threshold()[0] == 10_000, gc.get_threshold()\n"
        "assert not any(one is host for one in gc.get_objects())\n"
        "gc.set_threshold(50_000)\n"
        "host.freeze()\n"
        "assert gc.get_threshold()[0] == 50_000\n"
        "gc.set_threshold(0)\n"
        "host.freeze()\n"
        "assert gc.get_threshold()[0] == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
