"""Threads that use a host first, all at once, find the host as one thread would: each part of it is made once, and whole."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from skillkit_core import EventBus, Host, hookimpl
from skillkit_core.descriptors import Factory, Provider, load_object
from skillkit_core.host.memory import MemoryStore
from skillkit_core.testing import ScriptedModel

SECRETS = [f"secret-{number}-of-a-thread" for number in range(6)]


class Kept(MemoryStore):
    """A store that a plugin brings."""


class Many:
    """A plugin that brings something of every kind that is made when first asked for."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def make(self, kind: Any) -> Callable[..., Any]:
        def made(host: Any = None, **_: Any) -> Any:
            self.made.append(kind)
            return kind(["hello"]) if kind is ScriptedModel else kind()

        return made

    @hookimpl
    def register_session_stores(self, register: Any) -> None:
        register(Factory("kept", self.make(Kept)))

    @hookimpl
    def register_adapters(self, register: Any) -> None:
        register(Provider("says", {"scripted": self.make(ScriptedModel)}, default_model="m"))

    @hookimpl
    def before_tool_call(self, event: Any) -> None: ...


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Let threads change as often as Python allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any], threads: int = 6) -> list[Any]:
    barrier, found = threading.Barrier(threads), []

    def start(number: int) -> None:
        barrier.wait()
        found.append(work(number))

    running = [threading.Thread(target=start, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(found) == threads
    return found


def test_six_threads_on_a_cold_host_get_one_store_one_adapter_and_the_handlers_of_every_plugin() -> None:
    for _ in range(30):
        many = Many()
        host = Host(discover=False, plugins=[(f"before{n}", object()) for n in range(8)] + [("many", many)])

        def use(number: int, host: Host = host) -> Any:
            host.remember_secret(SECRETS[number])
            guarded = EventBus(host).has("before_tool_call")
            return host.session_store(), host.adapters.get("says"), host.secrets, host.skills, host.config, guarded

        found = at_once(use)
        assert all(one[:5] == found[0][:5] for one in found) and all(guarded for *_, guarded in found)
        assert isinstance(found[0][0], Kept) and sorted(map(str, many.made)) == sorted(map(str, (Kept, ScriptedModel)))
        assert set(host.secrets.known) == set(SECRETS) and host.problems == []


def test_without_a_store_of_a_plugin_all_threads_share_the_one_in_memory() -> None:
    for _ in range(30):
        host = Host(discover=False)

        def use(_: int, host: Host = host) -> Any:
            return host.session_store()

        assert len({id(store) for store in at_once(use)}) == 1


def test_a_thread_that_comes_while_plugins_are_loaded_waits_until_the_last_is_there() -> None:
    asked, stores = threading.Event(), []

    class First:
        @hookimpl
        def register_hookspecs(self, host: Any) -> None:
            def ask() -> None:
                asked.set()
                stores.append(host.session_store())

            self.thread = threading.Thread(target=ask)
            self.thread.start()
            asked.wait()

    first = First()
    host = Host(discover=False, plugins=[("first", first), ("many", Many())])
    assert isinstance(host.session_store(), Kept)
    first.thread.join()
    assert stores == [host.session_store()]


def test_an_import_string_waits_for_a_module_that_another_thread_still_imports(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "slow_module_of_a_plugin"
    (tmp_path / f"{name}.py").write_text(
        "import time\ndef tools(): return _TOOLS\ntime.sleep(0.05)\n_TOOLS = ('read',)\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importing = threading.Thread(target=load_object, args=(f"{name}:tools",))
    importing.start()
    while not hasattr(sys.modules.get(name), "tools"):
        pass
    assert load_object(f"{name}:tools")() == ("read",)
    importing.join()
    sys.modules.pop(name)
