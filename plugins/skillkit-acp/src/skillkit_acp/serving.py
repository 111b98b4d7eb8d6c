"""The process of ``skillkit acp``: the sessions of one editor, until it ends stdin."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acp import AgentSideConnection
from skillkit_live import Lives

from skillkit_core.cli.output import stdout

from .agent import EditorAgent
from .lines import open_lines

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, Host

__all__ = ["serve"]


async def serve(host: Host, make_host: Callable[[Path], Host], config: AgentConfig, *, asks: bool) -> None:
    """Serve the editor on stdin and the command's stdout until it sends nothing more.

    Args:
        host: the host of the folder in which the command was started; it is closed at the end.
        make_host: returns the host of another folder.
        config: the agents of sessions.
        asks: the person at the editor is asked where a guard asks.
    """
    lines = await open_lines(os.fdopen(os.dup(stdout().fileno()), "wb", 0))
    try:
        async with Lives(host, make_host=make_host, idle=math.inf, listen=True) as lives:
            agent = EditorAgent(lives, config, asks=asks)
            lines.answered = agent.answered
            connection = AgentSideConnection(agent, lines, listening=False, use_unstable_protocol=True)
            try:
                await connection.listen()
            finally:
                await agent.leave()
                with suppress(OSError):
                    await asyncio.shield(connection.close())
    finally:
        await host.aclose()
