"""Installed plugins, as packages in a folder of the test, and hosts that isolate them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from isolation_kit import write_package

from skillkit_core import Selection


@pytest.fixture
def install(skillkit_home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """``install("acme", code, needs="{secrets: [A]}")`` installs a package with a plugin of that name and code."""
    site = skillkit_home.path / "packages"
    site.mkdir()
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), known))))
    monkeypatch.syspath_prepend(str(site))

    def add(name: str, code: str, needs: str | None = None) -> str:
        return write_package(site, name, code, needs)

    yield add
    assert not [name for name in sys.modules if name.startswith("isolated_")]  # nothing of it was imported here


@pytest.fixture
def isolated(make_host: Callable[..., Any]) -> Callable[..., Any]:
    """``isolated("acme")`` makes a host with plugins of :func:`install`, each in a process of its own."""

    def make(*names: str, beside: tuple[Any, ...] = (), settings: Any = None, **options: Any) -> Any:
        given = {"plugins.isolate": list(names), **(settings or {})}
        only = Selection(only=("isolation", *names))
        return make_host(*beside, discover=True, selection=only, settings=given, **options)

    return make
