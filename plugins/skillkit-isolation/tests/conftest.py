"""Installed plugins, as packages in a folder of the test, and hosts that isolate them."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from skillkit_core import Selection

HEAD = """
import asyncio, os, signal, sys, threading, time
from skillkit_core import *
from skillkit_core.events.results import *
"""


@pytest.fixture
def install(skillkit_home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """``install("acme", code, needs="{secrets: [A]}")`` installs a package with a plugin of that name and code."""
    site = skillkit_home.path / "packages"
    site.mkdir()
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), known))))
    monkeypatch.syspath_prepend(str(site))

    def add(name: str, code: str, needs: str | None = None) -> str:
        package, info = site / f"isolated_{name}", site / f"isolated_{name}-1.0.dist-info"
        for folder in (package, info):
            folder.mkdir()
        (package / "__init__.py").write_text(HEAD + textwrap.dedent(code))
        if needs is not None:
            (package / "plugin.yaml").write_text(f"needs: {needs}\n")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: isolated-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[skillkit.plugins]\n{name} = isolated_{name}\n")
        return name

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
