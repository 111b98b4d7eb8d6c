"""Start-up of the standard distribution, counted in modules: a number that no busy machine changes."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.smoke

COUNT = """
import contextlib, io, sys
from skillkit_core.cli.main import run
with contextlib.redirect_stdout(io.StringIO()):
    code = run(["--only-default-plugins", *sys.argv[1:]])
print(code, len(sys.modules), *sorted(m for m in sys.modules if "." not in m))
"""
HEAVY = {"anthropic", "openai", "aiohttp", "httpx2", "pydantic", "asyncio", "watchdog", "pint", "jmespath"}


@pytest.mark.parametrize(
    ("argv", "most"),
    [(["--help"], 132), (["plugins", "list"], 130), (["skills", "list"], 256)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_listing_imports_few_modules_and_nothing_heavy(skillkit_home, argv, most):
    for _ in range(6):  # the first run fills the caches, that of commands once the installed code is two seconds old
        done = subprocess.run([sys.executable, "-c", COUNT, *argv], capture_output=True, text=True, check=True)
        code, count, *top = done.stdout.split()
        if int(count) <= most:
            break
    assert code == "0"
    assert not HEAVY & set(top)
    assert int(count) <= most, f"skillkit {' '.join(argv)} imports {count} modules"


@pytest.mark.parametrize(
    ("argv", "most", "not_needed"),
    [
        (["run", "--no-session", "what is 15% of 80"], 460, HEAVY | {"yaml"}),
        (["sessions", "list"], 330, HEAVY | {"yaml"}),
        (["doctor"], 480, HEAVY | {"yaml"}),
    ],
    ids=["run", "sessions list", "doctor"],
)
def test_a_command_imports_only_what_it_needs(skillkit_home, argv, most, not_needed):
    """At its end as well: closing imports nothing that was never used. The first run fills the caches."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", COUNT, *argv], capture_output=True, text=True, check=True)
    code, count, *top = done.stdout.split()
    assert code == "0"
    assert not {*not_needed, "mcp", "prompt_toolkit", "rich", "re2", "pathspec"} & set(top) - {"asyncio"}
    assert int(count) <= most, f"skillkit {' '.join(argv)} imports {count} modules"


def test_settings_of_plain_values_are_checked_without_pydantic(skillkit_home):
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    (skillkit_home.config_dir / "config.yaml").write_text(
        "model: offline\nprovider: offline\nlimits: {turns: 20}\nbash: {timeout: 60}\npermissions: {allow: ['Bash(ls:*)']}\n"
        "skills: {disabled: [nothing], entries: {weather: {enabled: false}}}\nusage: {budgets: {day: {cost: 5}}}\n"
        "sessions: {fsync: never}\n"
    )
    for _ in range(2):
        command = [sys.executable, "-c", COUNT, "run", "--no-session", "what is 15% of 80"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, count, *top = done.stdout.split()
    assert code == "0" and not {"pydantic", "pydantic_core"} & set(top)
    assert int(count) <= 530
