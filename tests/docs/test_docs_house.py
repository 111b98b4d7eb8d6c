"""The page of the house names what is there, and its drawing shows the imports of today."""

import importlib.util
import re

import pytest
from markdown_blocks import ROOT

PAGE = ROOT / "docs" / "explanation" / "house.md"


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("generate_house", ROOT / "docs" / "generate_house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_package_is_of_exactly_one_kind(generator):
    listed = [name for names in generator.kinds(PAGE.read_text("utf-8")).values() for name in names]
    there = sorted(path.parent.name.removeprefix("skillkit-") for path in ROOT.glob("plugins/*/pyproject.toml"))
    assert sorted(listed) == there


def test_the_drawing_is_what_the_imports_say(generator):
    wanted = generator.drawing(generator.kinds(PAGE.read_text("utf-8")), generator.uses())
    assert generator.DRAWING.read_text("utf-8") == wanted, "run 'python docs/generate_house.py' to draw it again"


def test_every_file_that_the_page_follows_a_request_through_exists():
    named = re.findall(r"`((?:skillkit_core|plugins)/[^`]+)`", PAGE.read_text("utf-8"))
    assert len(named) >= 12
    assert [path for path in named if not (ROOT / path).is_file()] == []
