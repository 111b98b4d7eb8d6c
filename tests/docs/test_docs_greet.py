"""The skill of the README does what its own example says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "plugins/skillkit-skills/README.md"


@pytest.mark.parametrize(
    ("request_text", "said"),
    [("greet Ana", "Hello, Ana!"), ("Greet Bob", "Hello, Bob!"), ("greet Ana and Bob", None), ("greet", None)],
)
def test_greet_ana_works(skillkit_cli, skillkit_home, request_text, said):
    for name, text in re.findall(r"cat > (demo/greet/\S+) <<'EOF'\n(.*?)\nEOF", README.read_text("utf-8"), re.S):
        file = skillkit_home.cwd / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    done = skillkit_cli("run", "--skills-dir", "demo", request_text)
    assert (done.exit_code, done.stdout.strip()) == (0, said) if said else done.exit_code == 1
