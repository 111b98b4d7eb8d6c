"""As ``by-hand``, with the durability of a SkillKit session: a file, its lock, ``fsync`` per user message and per turn."""

import asyncio
import json
import os
import secrets
import tempfile
from contextlib import contextmanager

from runner_by_hand import Peer as ByHand


def sync(fd, directory):
    os.fsync(fd)
    if directory is not None:
        names = os.open(directory, os.O_RDONLY)
        os.fsync(names)
        os.close(names)


class Log:
    """A session's file; :meth:`close` gives its lock back."""

    def __init__(self, directory, owner):
        self.directory = directory
        self.name = os.path.join(directory, secrets.token_hex(8))
        os.link(owner, self.name + ".lock")
        self.fd = os.open(self.name + ".jsonl", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self.named = False
        self.write({"type": "session", "version": 1, "id": self.name})

    def write(self, entry):
        os.write(self.fd, json.dumps(entry).encode() + b"\n")

    async def sync(self):
        await asyncio.to_thread(sync, self.fd, None if self.named else self.directory)
        self.named = True

    def close(self):
        os.close(self.fd)
        os.unlink(self.name + ".lock")


class Peer(ByHand):
    NOTE = "no host; a session file as durable as SkillKit's"

    async def setup(self):
        await super().setup()
        self.home = tempfile.TemporaryDirectory(prefix="by-hand-")
        self.owner = os.path.join(self.home.name, "owner")
        with open(self.owner, "w") as file:
            file.write(str(os.getpid()))

    async def close(self):
        await super().close()
        self.home.cleanup()

    @contextmanager
    def log(self):
        log = Log(self.home.name, self.owner)
        try:
            yield log
        finally:
            log.close()

    async def said(self, log, history):
        log.write({"type": "message", "message": history[-1]})
        await log.sync()

    @staticmethod
    def answered(log, answer):
        log.write({"type": "usage", "input": 1, "output": 1})
        log.write({"type": "message", "message": answer})

    async def turn(self, model):
        with self.log() as log:
            history = self.begun()
            await self.said(log, history)
            answer = await self.ask(model, history)
            self.answered(log, answer)
            await log.sync()
            return answer["content"]

    async def session(self, model):
        log, history = Log(self.home.name, self.owner), self.begun()
        await self.said(log, history)
        while True:
            answer = await self.ask(model, history, tools=True)
            history.append(json.dumps(answer))
            self.answered(log, answer)
            for call in answer.get("tool_calls") or ():
                result = self.result(call)
                history.append(json.dumps(result))
                log.write({"type": "message", "message": result})
            await log.sync()
            if not answer.get("tool_calls"):
                return log, history
