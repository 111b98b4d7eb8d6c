"""How a front end ends."""

import asyncio
import errno
import os
import pty
import signal
import sys

import pytest
from skillkit_frontend import lived

from skillkit_core import Host


def test_an_interrupt_from_outside_is_blamed_on_no_plugin(skillkit_home):
    async def interrupted():
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        return 0

    with pytest.raises(KeyboardInterrupt):
        lived(interrupted(), Host(discover=False, cwd=skillkit_home.cwd))


def test_who_writes_to_a_terminal_that_went_away_ends_as_by_its_signal(monkeypatch):
    async def writes(then):
        then()
        raise OSError(errno.EIO, "what was written last came to nobody")

    leader, follower = pty.openpty()
    with open(follower) as screen:
        monkeypatch.setattr(sys, "__stdin__", screen)
        with pytest.raises(OSError, match="came to nobody"):
            lived(writes(lambda: None))  # the terminal is there: a disk failed
        assert lived(writes(lambda: os.close(leader))) == 128 + signal.SIGHUP
