"""The public names of the three packages about skills: a module of the same name would hide one once it is imported."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(
    "package", ["skillkit_markdown", "skillkit_skills", "skillkit_skill_packages", "skillkit_skill_tools"]
)
def test_every_public_name_is_there_and_none_is_called_like_a_module(package):
    root = import_module(package)
    modules = {module.name for module in iter_modules(root.__path__)}
    assert modules.isdisjoint(root.__all__)
    assert all(getattr(root, name) is not None for name in root.__all__)
