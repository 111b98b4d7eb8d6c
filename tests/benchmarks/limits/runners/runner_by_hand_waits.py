"""As ``by-hand``, and the process sleeps as often as a session file makes it wait for the disk, without any file.

What it costs more than ``by-hand`` is what the machine takes for going to sleep and waking up with cold caches.
"""

import asyncio

from runner_by_hand import Peer as ByHand

WAIT = 0.0003  # seconds, about what an fsync takes on a fast disk


class Peer(ByHand):
    NOTE = "no host, nothing written; sleeps where a session file waits for the disk"

    async def turn(self, model):
        await asyncio.sleep(WAIT)
        answer = await super().turn(model)
        await asyncio.sleep(WAIT)
        return answer

    async def ask(self, model, history, *, tools=False):
        if not tools:
            return await super().ask(model, history)
        if len(history) == len(self.begun()):
            await asyncio.sleep(WAIT)
        answer = await super().ask(model, history, tools=True)
        await asyncio.sleep(WAIT)
        return answer
