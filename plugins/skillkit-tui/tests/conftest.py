"""A stage for the UI: an agent whose model answers by script, the UI without a terminal, and what a person would see."""

import asyncio
import contextlib
import html
import os
import re
import time
from pathlib import Path

import pytest
import skillkit_commands.plugin
import skillkit_tui.plugin
from skillkit_tui.app import TerminalUI
from textual.color import Color

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import ScriptedModel

WRITES = os.environ.get("SKILLKIT_SNAPSHOTS") == "write"
PICTURES = os.environ.get("SKILLKIT_PICTURES")
SNAPSHOTS = Path(__file__).parent / "snapshots"
PATIENCE = 30.0
_TEXT = re.compile(r'<text class="\S+-r\d+" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"[^>]*>(.*?)</text>')
_CELL, _ROW = 12.2, 24.4
_SPINS = re.compile("[◐◓◑◒](?= )")
_FRAMES = set("─│╭╮╰╯▌▾▸ ▁▂▃▄▅▆▇█▔")
READABLE = 3.0
"""Contrast that large text needs by the guidelines for accessible content of the web; a terminal's is not small."""


def screen_of(ui):
    """The rows of the screen, as a person sees them, from the exported screenshot."""
    rows = {}
    for x, y, _, text in _TEXT.findall(ui.export_screenshot()):
        row, column = round((float(y) - 20) / _ROW), round(float(x) / _CELL)
        now = rows.get(row, "")
        rows[row] = now.ljust(column) + html.unescape(text).replace("\xa0", " ")
    return "\n".join(rows.get(row, "").rstrip() for row in range(ui.size.height))


def contrast(one, other):
    """The contrast of two colours, from 1 to 21, as the guidelines for accessible content of the web define it."""

    def light(colour):
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def soon(seconds, call):
    """A moment that has passed once nothing else is to be done."""
    return asyncio.get_running_loop().call_soon(call)


class Stage:
    """A UI that runs, and a pilot who presses keys."""

    def __init__(self, ui, pilot, model):
        self.ui, self.pilot, self.model, self.agent = ui, pilot, model, ui.agent

    @property
    def screen(self):
        return _SPINS.sub("◐", screen_of(self.ui))

    @property
    def faint(self):
        """Texts that hardly differ from what is behind them, with the contrast."""
        found = {}
        for strip in self.ui.screen._compositor.render_strips():
            for text, style, _ in strip:
                if text.strip() and style and style.color and style.bgcolor and not set(text) <= _FRAMES:
                    front, back = (Color.from_rich_color(colour) for colour in (style.color, style.bgcolor))
                    ratio = contrast(front, back)
                    if ratio < READABLE:
                        found[text] = f"{ratio:.1f}: {style}"
        return found

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text):
        for character in text:
            await self.pilot.press("enter" if character == "\n" else character)
        await self.pilot.pause()

    async def until(self, condition):
        """Wait until a text stands on the screen, or something is true."""
        holds = (lambda: condition in self.screen) if isinstance(condition, str) else condition
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, f"{condition!r} never held on:\n{self.screen}"
            await self.pilot.pause(0.02)

    async def idle(self):
        """Wait until nothing goes on."""
        await self.until(lambda: not self.ui.talk.busy)
        await self.pilot.pause(0.05)


@pytest.fixture
def stage(skillkit_home):
    """``stage(turns, plugins=(), size=(80, 24), ...)`` is an async context manager that gives a :class:`Stage`.

    ``leader`` are the seconds that the leader key waits: more than a busy machine takes between two keys.
    """

    @contextlib.asynccontextmanager
    async def open_(
        turns=(), plugins=(), size=(80, 24), session=None, kept=False, tools=(), theme="dark", model="any", after=None,
        leader=60.0,
    ):  # fmt: skip
        names = [("commands", skillkit_commands.plugin), ("tui", skillkit_tui.plugin), *plugins]
        host = Host(plugins=names, discover=False, cwd=skillkit_home.cwd, settings={"tui.leader_timeout": leader})
        agent = AgentRunner(AgentConfig(model=model, tools=tools), host=host, session=session)
        script = ScriptedModel(turns)
        agent.set_adapter(script)
        await agent.open()
        ui = TerminalUI(agent, kept=kept, theme=theme, after=after or soon)
        try:
            async with ui.run_test(size=size) as pilot:
                yield Stage(ui, pilot, script)
                await ui.talk.close()
        finally:
            await agent.aclose()
            await host.aclose()

    return open_


@pytest.fixture
def snapshot():
    """``snapshot(name, text)`` compares with the kept one; ``SKILLKIT_SNAPSHOTS=write`` keeps a new one."""

    def compare(name, text):
        file = SNAPSHOTS / name
        if WRITES:
            file.write_text(text)
        assert text == file.read_text(), f"{name} looks otherwise; SKILLKIT_SNAPSHOTS=write keeps it"

    return compare


@pytest.fixture
def picture():
    """``picture(ui, name)`` draws the screen into the folder that ``SKILLKIT_PICTURES`` names, for somebody to look at."""

    def draw(ui, name):
        if PICTURES:
            ui.save_screenshot(f"{name.replace(' ', '-').replace(',', '')}.svg", PICTURES)

    return draw


@pytest.fixture
def play():
    """Run a coroutine."""
    return asyncio.run
