"""Writes the pictures of the README: a conversation and the terminal UI, as SVG, from real runs in a terminal (tmux).

    uv run python docs/generate_pictures.py [FOLDER]

The commands run as a person runs them, in an empty home, against a scripted model server on loopback. Look at a new picture
before it is kept.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from skillkit_testkit import Call, LLMServer, Reply

from skillkit_core import TokenUsage

FOLDER = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parent / "pictures"
WIDTH, HEIGHT = 92, 30
SOURCE = "def average(rows):\n    return sum(rows) / len(rows)\n"
BEFORE, AFTER = "sum(rows) / len(rows)", "sum(rows) / len(rows) if rows else None"
SCRIPT = (
    Reply(tool_calls=[Call("read", {"path": "sales.py"})], usage=TokenUsage(input=2_911, output=61)),
    Reply(
        text="`average()` divides by the **number of rows**, so it fails without any. I return `None` there:",
        tool_calls=[Call("edit", {"path": "sales.py", "old": BEFORE, "new": AFTER})],
        usage=TokenUsage(input=212, cache_read=2_870, output=118),
    ),
)
READY = "edit?"  # the question, in both front ends
FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.S)  # a picture loads nothing from elsewhere


class Terminal:
    """A terminal of its own, in tmux, that runs one command."""

    def __init__(self, folder: Path, command: list[str], env: dict[str, str]) -> None:
        self.tmux = ["tmux", "-S", str(folder / "tmux"), "-f", os.devnull]
        variables = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        self("new-session", "-d", *size, *variables, "-c", str(folder / "shop"), shlex.join(command))

    def __call__(self, *words: str) -> str:
        """Run a command of tmux and return what it prints."""
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True, text=True).stdout

    def wait_for(self, text: str) -> str:
        """Return what is on the screen, with its colours, once ``text`` stands there and nothing moves any more."""
        last, end = "", time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.7)
            seen = self("capture-pane", "-p", "-e")
            if text in seen and seen == last:
                return seen
            last = seen
        sys.exit(f"the screen never showed {text!r}:\n{last}")


def draw(name: str, title: str, screen: str) -> None:
    """Write a screen as SVG."""
    lines = Text.from_ansi(screen.rstrip("\n"))
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(lines)
        template = FONTS.sub("", CONSOLE_SVG_FORMAT)
        svg = console.export_svg(title=title, theme=MONOKAI, code_format=template, unique_id=name)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


def play(name: str, command: str) -> None:
    """Run one front end until it asks about the edit, and draw it."""
    with tempfile.TemporaryDirectory() as place, LLMServer() as server:
        folder = Path(place)
        (folder / "shop").mkdir()
        (folder / "shop" / "sales.py").write_text(SOURCE)
        server.script(*SCRIPT)
        env = {
            "HOME": place,
            "SKILLKIT_HOME": str(folder / "home"),
            "ANTHROPIC_API_KEY": "key",
            "COLORTERM": "truecolor",
        }
        program = [str(Path(sys.executable).with_name("skillkit")), command, "--provider", "anthropic"]
        program += ["--base-url", server.url, "--model", "claude-sonnet-5"]
        terminal = Terminal(folder, [*program, "make average() cope with no rows"], env)
        try:
            draw(name, f"skillkit {command}", terminal.wait_for(READY))
        finally:
            terminal("kill-server")


if __name__ == "__main__":
    play("conversation", "chat")
    play("terminal-ui", "tui")
