"""How a front end ends."""

import asyncio
import os
import signal

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
