"""Programs at a pseudo-terminal."""

import sys

import pytest
from skillkit_testkit import Terminal, screen_text

ASKS = """
import os, sys
name = input("name? ")
print("hello", name, os.get_terminal_size().columns, sys.stdin.isatty())
input("again? ")
sys.stdout.write("x" * 200000 + "end")
sys.exit(3)
"""


@pytest.mark.smoke
def test_a_program_is_answered_and_everything_that_it_wrote_is_seen():
    with Terminal([sys.executable, "-c", ASKS], columns=72) as terminal:
        terminal.wait_for("name? ")
        terminal.send("Ada\n")
        terminal.wait_for("hello Ada 72 True")
        terminal.send("\n")
        assert terminal.wait() == 3
        assert terminal.text.endswith("x" * 200000 + "end")


def test_what_is_never_written_fails_with_what_was_written_instead():
    with Terminal([sys.executable, "-c", "print('other')"]) as terminal:
        with pytest.raises(AssertionError, match="'this' was never written after byte 0 of:\nother"):
            terminal.wait_for("this")


def test_a_text_is_waited_for_after_the_last_one():
    with Terminal([sys.executable, "-c", "print('one two one')"]) as terminal:
        terminal.wait_for("one")
        terminal.wait_for("one")
        with pytest.raises(AssertionError):
            terminal.wait_for("one")


def test_a_program_that_is_silent_too_long_is_given_up_and_killed():
    with Terminal([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2) as terminal:
        with pytest.raises(AssertionError, match="did not end"):
            terminal.wait()
    assert terminal.process.returncode == -9


def test_the_text_on_an_emulated_screen_is_that_of_its_display():
    pyte = pytest.importorskip("pyte")
    screen = pyte.Screen(20, 6)
    pyte.Stream(screen).feed(
        "wide 日本 e\u0301nd  \r\n\r\n\x1b[4;15Hfar away\x1b[1;1H\x1b[41m \x1b[0m\x1b[2;3Hx\x1b[2K"
    )
    assert screen_text(screen) == "\n".join(line.rstrip() for line in screen.display).rstrip()
    assert screen_text(pyte.Screen(20, 6)) == ""
