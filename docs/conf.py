"""Builds the site from these pages and the README of each package.

    uv run --isolated --only-group site sphinx-build -E -W -b dirhtml -c docs . build/site

The source folder is the checkout, so that a link between pages is the same on the site, in an editor and on a code host. The
sections of ``index.md`` are the navigation: a page that no section links is a warning, and with ``-W`` an error.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = "docs/index"
SECTION = re.compile(r"^## (.+)\n", re.M)
LINK = re.compile(r"\]\(([\w./-]+\.md)\)")

project = "SkillKit"
author = "the SkillKit authors"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = INDEX
include_patterns = [
    "docs/*.md", "docs/**/*.md", "*.md", "plugins/*/*.md", "skills/*.md", "clients/*/*.md", "tests/benchmarks/*.md",
]  # fmt: skip
exclude_patterns = ["**/.*"]
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_ambiguous"]
html_theme = "furo"
html_title = f"SkillKit {version}"
html_extra_path = ["site"]
html_show_copyright = html_show_sphinx = False


def navigation(app, docname, source):
    """Add to the index, for each of its sections, the pages that the section links. Changelogs are linked by their READMEs."""
    if docname.endswith("CHANGELOG"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"
    if docname != INDEX:
        return
    _, *rest = SECTION.split(source[0])
    seen = set()
    for caption, text in zip(rest[::2], rest[1::2], strict=True):
        pages = [page for page in dict.fromkeys(LINK.findall(text)) if page not in seen]
        seen.update(pages)
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def setup(app):
    """Register what this file adds."""
    app.connect("source-read", navigation)
