"""The site: every page has a place in it, and its pictures are made from real runs and load nothing from elsewhere."""

import re
import runpy
import shutil
import subprocess
import sys

import pytest
from markdown_blocks import ROOT

CONF = runpy.run_path(str(ROOT / "docs" / "conf.py"))
PICTURES = ROOT / "docs" / "pictures"


def test_every_page_is_linked_from_a_section_of_the_index():
    index = ROOT / "docs" / "index.md"
    source = [index.read_text(encoding="utf-8")]
    CONF["navigation"](None, "docs/index", source)
    navigation = source[0].partition("```{toctree}")[2]
    linked = {(index.parent / page).resolve() for page in re.findall(r"^(\S+\.md)$", navigation, re.M)}
    found = {page for pattern in CONF["include_patterns"] for page in ROOT.glob(pattern)}
    assert {page for page in found if page.name != "CHANGELOG.md"} - linked - {index} == set()


def test_pictures_load_nothing_from_elsewhere():
    for picture in PICTURES.glob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        assert "url(http" not in text and "href=" not in text and "@font-face" not in text


@pytest.mark.slow
def test_pictures_are_made_from_real_runs(tmp_path):
    if shutil.which("tmux") is None:
        pytest.skip("tmux draws the terminal")
    subprocess.run([sys.executable, str(ROOT / "docs" / "generate_pictures.py"), str(tmp_path)], check=True)
    for name in ("conversation", "terminal-ui"):
        assert "edit" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
