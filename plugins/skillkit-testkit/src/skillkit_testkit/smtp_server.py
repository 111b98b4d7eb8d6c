"""A mail server on loopback that takes every mail, for tests of what sends some. It needs the package ``aiosmtpd``."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Any

__all__ = ["SMTPServer", "Taken"]


@dataclass(frozen=True)
class Taken:
    """A mail that was taken.

    Attributes:
        sender, to: of the envelope.
        message: what was sent, read.
    """

    sender: str
    to: tuple[str, ...]
    message: EmailMessage


class SMTPServer:
    """Listens on 127.0.0.1 while its ``with`` block runs.

    Attributes:
        port: where it listens.
        taken: every mail, in order.
        says: the answer to a mail; ``554 no`` refuses it.
    """

    def __init__(self) -> None:
        from importlib import import_module

        self._smtp = import_module("aiosmtpd.smtp").SMTP
        self.port = 0
        self.taken: list[Taken] = []
        self.says = "250 taken"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Take a mail; aiosmtpd calls this."""
        if self.says.startswith("2"):
            message = BytesParser(policy=policy.default).parsebytes(envelope.content.replace(b"\r\n", b"\n"))
            assert isinstance(message, EmailMessage)
            self.taken.append(Taken(envelope.mail_from, tuple(envelope.rcpt_tos), message))
        return self.says

    def __enter__(self) -> SMTPServer:
        async def listen() -> Any:
            loop = asyncio.get_running_loop()
            return await loop.create_server(lambda: self._smtp(self, hostname="localhost", loop=loop), "127.0.0.1", 0)

        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        async def close() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
