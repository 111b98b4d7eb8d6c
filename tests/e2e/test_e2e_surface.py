"""The public surface is what the files in .ci/surface say: a change of a name, a signature or a field is never unnoticed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def surface() -> Any:
    if not (ROOT / ".ci" / "surface.py").is_file():
        pytest.skip("the files of the surface are in the checkout")
    spec = importlib.util.spec_from_file_location("surface", ROOT / ".ci" / "surface.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.always
def test_the_public_surface_is_as_the_files_say(surface: Any) -> None:
    assert not (changes := surface.changes()), changes


def test_a_change_is_told_with_the_command_that_renews_the_files(
    surface: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme.txt").write_text("acme.greet(name: str) -> str\nacme.Kept\n")
    (tmp_path / "gone.txt").write_text("gone.Thing\n")
    monkeypatch.setattr(surface, "FILES", tmp_path)
    monkeypatch.setattr(
        surface, "surfaces", lambda: {"acme": "acme.greet(name: str, *, loud: bool) -> str\nacme.Kept\n"}
    )
    told = surface.changes()
    assert "-acme.greet(name: str) -> str\n+acme.greet(name: str, *, loud: bool) -> str" in told
    assert "-gone.Thing" in told
    assert "acme.Kept" not in told
    assert told.endswith("if that is meant: python .ci/surface.py update, and a line in the changelog")


def test_fields_methods_and_members_are_part_of_it(surface: Any) -> None:
    core = (surface.FILES / "skillkit_core.txt").read_text().splitlines()
    for line in (
        "skillkit_core.Tool = skillkit_core.tools.Tool",
        "skillkit_core.tools.Tool.timeout: Seconds | None = None",
        "skillkit_core.messages.StopReason.length = 'length'",
        "skillkit_core.errors.ProviderError.retryable(self) -> bool @property",
        "skillkit_core.hookspecs.registration.register_config(register: Callable[[ConfigSection], None]) -> None",
    ):
        assert line in core, line
