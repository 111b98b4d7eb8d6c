"""Methods of dataclasses and named tuples are compiled once for all processes. A file that does not count changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.smoke

COUNT = """
import sys
compiled, made = [], (b"def __create_fn__(", b"lambda _cls, ")
hear = lambda event, args: event == "compile" and bytes(args[0] or b"").startswith(made) and compiled.append(1)
sys.addaudithook(hear)
sys.argv[1:] = ["--only-default-plugins", "skills", "list", "--json"]
from skillkit_core.cli import entry
before = len(compiled)
try:
    entry()
finally:
    print(len(compiled) - before, file=sys.stderr)
"""


def test_a_second_process_compiles_no_method_and_a_broken_file_is_made_again(skillkit_home, tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")

    def count(**more: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-c", COUNT], env=env | more, capture_output=True, text=True, check=True)
        return int(done.stderr.split()[-1]), done.stdout

    first, listed = count()
    kept = [*(tmp_path / "bytecode").rglob("methods.*.*.*")]
    assert first > 150 and len(kept) == 2
    again, same = count()
    assert again < 10 and same == listed  # the few that are made before the files are read

    short, zeroed = kept
    short.write_bytes(short.read_bytes()[:1000])
    whole = zeroed.read_bytes()  # the machine went down before all of it was on the disk
    zeroed.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
    assert count() == (first, listed) and count() == (again, listed)
    kept[0].parent.chmod(0o777)  # everybody could have put the file there
    assert count(PYTHONDONTWRITEBYTECODE="1") == (first, listed)
