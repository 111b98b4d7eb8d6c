"""Whose skills count where several distributions are installed in one environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillkit_core import Host

SKILL = "---\nname: {name}\ndescription: Says what {name} says.\n---\nSay it.\n"


@pytest.fixture
def products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skillkit_home: Any) -> Any:
    """``acme`` and ``more``, which extends it, and ``globex``, each a package with skills of its own; two packages of skills."""
    site = tmp_path / "site"

    def install(package: str, *, requires: str = "", text: str = "") -> None:
        name = package.removeprefix("skillkit-")
        info, module = site / f"{package.replace('-', '_')}-1.dist-info", site / package.replace("-", "_")
        for folder in (info, module / "skills" / name):
            folder.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n{f'Requires-Dist: {requires}' if requires else ''}\n"
        )
        points = f"[skillkit.skills]\n{name} = {module.name}\n"
        (module / "skills" / name / "SKILL.md").write_text(SKILL.format(name=name))
        if text:
            points += f"[skillkit.distributions]\n{name} = {module.name}\n"
            (module / "distribution.yaml").write_text(f"schema_version: 1\nname: {name}\n{text}")
        (info / "entry_points.txt").write_text(points)

    install("skillkit-acme", requires="acme-lib>=1", text="plugins: [skills]\npolicy: {only_listed: true}\n")
    install("skillkit-more", requires="skillkit-acme", text="extends: acme\n")
    install("skillkit-globex", text="plugins: [skills]\n")
    install("acme-lib")
    install("strangers")
    monkeypatch.syspath_prepend(str(site))

    def found(distribution: str) -> set[str]:
        host = Host(distribution, cwd=skillkit_home.cwd)
        try:
            return {e.name for e in host.skill_sources.entries()} & {"acme", "more", "globex", "acme-lib", "strangers"}
        finally:
            host.close()

    found.file = tmp_path / "mine.yaml"
    return found


def test_the_skills_of_a_distribution_are_not_those_of_another_one(products: Any) -> None:
    assert products("globex") == {"globex", "acme-lib", "strangers"}
    assert products("default") == {"acme-lib", "strangers"}


def test_who_runs_only_what_is_listed_has_the_skills_of_what_is_required(products: Any) -> None:
    assert products("acme") == {"acme", "acme-lib"}
    assert products("more") == {"acme", "more", "acme-lib"}, "those of what it extends, too"


def test_a_distribution_that_is_a_file_requires_nothing_and_has_all_packages_of_skills(products: Any) -> None:
    products.file.write_text("schema_version: 1\nname: mine\nplugins: [skills]\npolicy: {only_listed: true}\n")
    assert products(str(products.file)) == {"acme-lib", "strangers"}
