"""Output has limits, and within them nothing is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st
from skillkit_process import HARMLESS, Child, LineReader, LineTooLong, Pipe, Tail, environment

pytestmark = pytest.mark.usefixtures("no_leaks")
MB = 1 << 20


async def lines_of(script: str, **limits: int) -> list[bytes]:
    lines = LineReader(**limits)
    async with await Child.start(["sh", "-c", script], lines, Tail(100), env=environment()):
        return [line async for line in lines]


def test_a_line_of_ten_megabytes_without_an_end_arrives_whole(go):
    [line] = go(lines_of("head -c 10000000 /dev/zero | tr '\\0' x"))
    assert line == b"x" * 10_000_000


@pytest.mark.smoke
def test_a_line_over_64_kib_is_not_lost_among_others(go):
    script = "echo first; head -c 70000 /dev/zero | tr '\\0' x; echo; echo last"
    assert go(lines_of(script)) == [b"first", b"x" * 70_000, b"last"]


def test_a_line_beyond_the_limit_is_an_error_after_those_before_it(go, gone):
    async def scenario():
        lines = LineReader(limit=1000)
        script = "echo $$; yes | tr -d '\\n'"
        async with await Child.start(["sh", "-c", script], lines, Tail(100), env=environment()):
            first = await lines.readline()
            with pytest.raises(LineTooLong, match="1,000"):
                await lines.readline()
        return first

    assert gone(int(go(scenario())))


def test_who_is_not_read_is_held_back_and_loses_nothing(go):
    async def scenario():
        read, write = os.pipe()
        os.set_blocking(write, False)
        lines = LineReader(ahead=MB)
        pipe = Pipe(read, lines)
        sent = refused = 0
        line = b"y" * 1023 + b"\n"
        while refused < 100:
            try:
                sent += os.write(write, line)
                refused = 0
            except BlockingIOError:
                refused += 1
                await asyncio.sleep(0)
        os.close(write)
        held_back = sent
        found = [line async for line in lines]
        pipe.close()
        return held_back, found

    held_back, found = go(scenario())
    assert MB < held_back < 2 * MB
    assert len(found) * 1024 == held_back and set(found) == {b"y" * 1023}


def test_what_waits_when_the_program_exits_is_read(go):
    async def scenario():
        lines = LineReader(ahead=1000)
        script = "sleep 1000 & yes | head -n 100000"
        async with await Child.start(["sh", "-c", script], lines, Tail(100), env=environment()) as child:
            first = await lines.readline()
            found = [line async for line in lines]
            assert child.exited.is_set()
        return [first, *found]

    assert go(scenario()) == [b"y"] * 100_000


@given(st.lists(st.binary(max_size=20)), st.integers(1, 50))
def test_chunks_make_no_difference(chunks, limit):
    async def scenario():
        lines = LineReader(limit)
        for chunk in chunks:
            lines.feed(chunk)
        lines.end()
        found = []
        try:
            async for line in lines:
                found.append(line)
        except LineTooLong:
            found.append(None)
        return found

    whole = b"".join(chunks).split(b"\n")
    if not whole[-1]:
        whole.pop()
    wanted = []
    for line in whole:
        wanted.append(line if len(line) <= limit else None)
        if len(line) > limit:
            break
    assert asyncio.run(scenario()) == wanted


def test_the_tail_of_a_stream_is_text_from_a_whole_character_on():
    tail = Tail(5)
    for piece in ("ab", "cd", "€", "ü"):
        tail.feed(piece.encode())
    assert tail.text == "€ü"
    tail.feed(b"x")
    assert tail.text == "üx"


def test_the_environment_has_no_key():
    host = {"PATH": "/bin", "LC_ALL": "C", "API_KEY": "k", "CI": "1", "HOME": "/root"}
    assert environment(["CI"], host) == {"PATH": "/bin", "LC_ALL": "C", "CI": "1", "HOME": "/root"}
    assert "PATH" in HARMLESS


def test_a_keeper_starts_without_what_costs():
    code = "import sys; sys.path.append(sys.argv[1]); from skillkit_process import keeper; print(*sys.modules)"
    folder = os.path.dirname(os.path.dirname(sys.modules["skillkit_process"].__file__))
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, folder], capture_output=True, text=True, check=True)
    assert not {"typing", "contextlib", "enum", "signal", "re", "asyncio", "subprocess"} & set(done.stdout.split())
