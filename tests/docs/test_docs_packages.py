"""The table of what comes with which package is that of today's packages."""

import importlib.util

from markdown_blocks import ROOT

FOLDER = ROOT / "plugins" / "skillkit-plugin-packages"


def test_the_table_is_what_entry_points_and_items_say():
    spec = importlib.util.spec_from_file_location("generate_packages", FOLDER / "generate.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)

    assert generator.FILE.read_text() == generator.text(), f"run 'python {FOLDER.name}/generate.py' to write it again"
