"""What pages say about the order of plugins is the order of the standard distribution."""

import re
from pathlib import Path

from skillkit_core.host.distribution import read_distribution

ROOT = Path(__file__).parents[2]


def test_the_readme_lists_the_plugins_in_the_order_in_which_the_standard_distribution_runs_them():
    table = (ROOT / "README.md").read_text().partition("| plugin | package |")[2].partition("`skillkit-default`")[0]
    shown = [name for name in re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) if name != "recorder"]
    file = ROOT / "plugins/skillkit-default/src/skillkit_default/distribution.yaml"
    assert shown == list(read_distribution(file).plugins)
