"""Output arrives whole and live, in bounded memory, and is text whatever the bytes are."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from skillkit_bash import BashRuntime, Lines
from skillkit_bash.config import BashConfig
from skillkit_bash.spill import KEEP_SECONDS, SpillDirectory, SpillFile
from skillkit_process import Capture

PYTHON = sys.executable


def test_output_arrives_while_the_command_runs(runtime, go, tmp_path, no_leaks):
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    seen: list[str] = []

    def take(text: str) -> None:
        seen.append(text)
        if "question" in text:  # the command goes on only after it was heard
            with open(answer, "w") as f:
                f.write("heard\n")

    result = go(runtime.execute(f"echo question; cat {answer}", on_output=take))
    assert result.stdout == "".join(seen) == "question\nheard\n"
    assert seen[0] == "question\n"


def test_stdout_and_stderr_have_subscribers_of_their_own(runtime, go):
    out: list[str] = []
    err: list[str] = []
    go(runtime.execute("echo o; echo e >&2", on_output=out.append, on_error_output=err.append))
    assert ("".join(out), "".join(err)) == ("o\n", "e\n")


def test_one_subscriber_gets_both(runtime, go):
    seen: list[str] = []
    go(runtime.execute("echo o; echo e >&2", on_output=seen.append))
    assert sorted("".join(seen).split()) == ["e", "o"]


@pytest.mark.spec("13.10")
def test_a_line_of_five_megabytes_is_one_line(runtime, go):
    lines: list[str] = []
    with Lines(lines.append) as subscriber:
        result = go(runtime.execute("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo -n end", on_output=subscriber))
    assert [len(line) for line in lines] == [5_000_000, 3]
    assert result.stdout_bytes == 5_000_004


@given(st.text(alphabet="ab\n", max_size=40), st.lists(st.integers(1, 5), max_size=40))
def test_lines_are_the_same_however_the_text_is_cut(text, sizes):
    lines: list[str] = []
    with Lines(lines.append) as subscriber:
        rest = text
        for size in sizes:
            subscriber(rest[:size])
            rest = rest[size:]
        subscriber(rest)
    expected = text.split("\n")
    assert lines == (expected if expected[-1] else expected[:-1])


def capture(limit: int = 1000, callback=None, directory: Path | None = None) -> Capture:
    return Capture(limit, callback, lambda: SpillDirectory(directory).open("stdout") if directory else None)


@given(st.lists(st.binary(max_size=12) | st.text(max_size=6).map(lambda t: t.encode("utf-8", "surrogatepass"))))
def test_any_bytes_in_any_chunks_decode_as_if_they_came_at_once(chunks):
    seen: list[str] = []
    sink = capture(callback=seen.append)
    for chunk in chunks:
        sink.feed(chunk)
    sink.end()
    whole = b"".join(chunks).decode("utf-8", "replace")
    assert "".join(seen) == whole
    assert sink.finish() == (whole, False, None)
    "".join(seen).encode("utf-8")  # no lone surrogates


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(0, 20))
def test_the_result_keeps_head_and_tail_of_any_text(chunks, limit):
    sink = capture(limit)
    for chunk in chunks:
        sink.feed(chunk.encode("utf-8", "replace"))
    whole = "".join(chunks).encode("utf-8", "replace").decode()
    text, cut, _ = sink.finish()
    assert cut == (len(whole) > limit)
    if not cut:
        assert text == whole
    else:
        head, note, tail = text.partition("\n[... the middle of ")
        assert note and head == whole[: limit // 2]
        last = limit - limit // 2
        assert tail.partition("...]\n")[2] == (whole[-last:] if last else "")


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=40), st.integers(1, 10))
def test_the_file_has_every_byte_once_the_result_has_not(tmp_path_factory, chunks, limit):
    directory = tmp_path_factory.mktemp("spill")
    sink = capture(limit, directory=directory)
    for chunk in chunks:
        sink.feed(chunk)
    _, cut, path = sink.finish()
    assert (path is not None) == cut
    if path is not None:
        assert path.read_bytes() == b"".join(chunks)


def test_memory_stays_bounded_whatever_arrives():
    sink = capture(1000)
    for size in (1, 7, 100, 5000, 100_000):
        for _ in range(1000):
            sink.feed(b"x" * size)
            assert len(sink._head) + len(sink._tail) <= 6000


def test_the_host_stays_small_while_a_command_writes_a_hundred_megabytes(tmp_path):
    code = """
import asyncio, resource, sys
from pathlib import Path
from skillkit_bash import BashRuntime
def peak():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1])
async def main():
    runtime = BashRuntime(spill_dir=Path(sys.argv[1]))
    await runtime.execute("head -c 3000000 /dev/zero", on_output=len)
    before = peak()
    result = await runtime.execute("head -c 100000000 /dev/zero; printf end", on_output=len)
    assert result.stdout_bytes == 100_000_003 and result.stdout.endswith("end"), result.stdout_bytes
    assert result.stdout_path.stat().st_size == 100_000_003
    print(peak() - before)
asyncio.run(main())
"""
    grown = subprocess.run([PYTHON, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 8 * 1024  # KiB


def test_long_output_is_cut_in_the_middle_and_kept_in_a_private_file(runtime, go, tmp_path, no_leaks):
    result = go(runtime.execute("seq 1 200000; seq 1 5 >&2", max_output=1000))
    whole = "".join(f"{i}\n" for i in range(1, 200_001))
    assert result.truncated and result.stdout_bytes == len(whole)
    assert result.stdout.startswith(whole[:500]) and result.stdout.endswith(whole[-500:])
    assert f"[... the middle of {len(whole):,} bytes is left out ...]" in result.stdout
    assert result.stdout_path.read_text() == whole
    assert result.stderr == "1\n2\n3\n4\n5\n" and result.stderr_path is None
    assert stat.S_IMODE(result.stdout_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(result.stdout_path.parent.stat().st_mode) == 0o700


def test_short_output_leaves_no_file(runtime, go, tmp_path):
    assert go(runtime.execute("echo short")).stdout_path is None
    assert not (tmp_path / "spill").exists()


def test_a_cancelled_command_leaves_no_file(runtime, go, tmp_path):
    async def scenario() -> None:
        many = asyncio.Event()

        def take(text: str) -> None:
            many.set()

        task = asyncio.create_task(runtime.execute("yes", on_output=take, max_output=10))
        await many.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    go(scenario())
    assert list((tmp_path / "spill").iterdir()) == []


def test_a_disk_that_refuses_costs_the_file_and_not_the_command(tmp_path, go):
    (tmp_path / "file").write_text("")
    result = go(BashRuntime(spill_dir=tmp_path / "file").execute("seq 1 100000", max_output=100))
    assert result.ok and result.truncated and result.stdout_path is None


def test_a_write_that_fails_removes_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_text("")
    file = SpillFile(path, os.open("/dev/full", os.O_WRONLY))
    file.write(b"data")
    assert file.path is None and not path.exists()
    file.write(b"more")
    file.close()


def test_a_file_ends_at_its_limit(tmp_path):
    path = tmp_path / "x"
    file = SpillFile(path, os.open(path, os.O_WRONLY | os.O_CREAT), max_bytes=5)
    for _ in range(3):
        file.write(b"abc")
    file.close()
    assert path.read_bytes() == b"abcab"


def test_files_are_removed_a_day_after_the_last_write(tmp_path):
    now = 1_000_000.0
    directory = SpillDirectory(tmp_path, clock=lambda: now)
    for name, age in (("old.out", KEEP_SECONDS + 1), ("young.out", KEEP_SECONDS - 1), ("other.txt", KEEP_SECONDS * 2)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (now - age, now - age))
    file = directory.open("stdout")
    assert file is not None and file.path is not None
    file.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["young.out", "other.txt", file.path.name])


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "spill").symlink_to(tmp_path / "elsewhere")
    assert SpillDirectory(tmp_path / "spill").open("stdout") is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_directory_that_others_could_read_is_closed_first(tmp_path):
    (tmp_path / "spill").mkdir(mode=0o755)
    file = SpillDirectory(tmp_path / "spill").open("stdout")
    assert file is not None
    file.close()
    assert stat.S_IMODE((tmp_path / "spill").stat().st_mode) == 0o700


def test_all_files_together_stay_below_a_bound_and_the_oldest_go_first(tmp_path, go):
    """Also within one command: its second stream makes room while it grows."""
    config = BashConfig(max_kept_output=30 << 20)
    host = SimpleNamespace(
        config=SimpleNamespace(section=lambda name, default=None: config),
        kinds=(),
        cache_dir=tmp_path,
        secrets=SimpleNamespace(known={}),
    )
    runtime, kept, most = BashRuntime(host), [], 0
    for _ in range(5):
        result = go(runtime.execute("head -c 9000000 /dev/zero | tr '\\0' x", max_output=100))
        assert result.ok and result.stdout_path.stat().st_size == 9_000_000
        kept.append(result.stdout_path)
        total = sum(path.stat().st_size for path in (tmp_path / "output").iterdir())
        most = max(most, total)
    assert most <= 30 << 20
    assert [path.exists() for path in kept] == [False, False, False, True, True], "room is made in steps of 16 MiB"
    big = go(runtime.execute("head -c 99000000 /dev/zero | tr '\\0' y", max_output=100))
    assert [path.name for path in (tmp_path / "output").iterdir()] == [big.stdout_path.name]
    assert big.stdout_path.stat().st_size == 30 << 20 and big.stdout_bytes == 99_000_000
