"""Telling callers of their tasks: where to, which a guard screens, and what, which is signed and sent again after a failure."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from a2a.server.tasks import PushNotificationConfigStore, PushNotificationSender
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types import TaskPushNotificationConfig
from a2a.utils.proto_utils import to_stream_response
from google.protobuf import json_format
from skillkit_web_tools import is_named, is_public
from yarl import URL

from skillkit_core import SkillKitError, thaw

from ..errors import PeerError
from ..guard import guarded_client
from .tasks import session_of

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.server.tasks import PushNotificationEvent

    from skillkit_core import SessionEntry

    from .sessions import Sessions

__all__ = ["PUSH", "PushConfigs", "Pusher"]

log = logging.getLogger("skillkit.a2a")
PUSH = "a2a.push"  # the note that holds where a task's caller wants to be told
_AGAIN = (1.0, 5.0, 30.0)  # seconds before another try
_SECONDS, _LARGEST = 5.0, 2**20
_MOST = 10  # addresses of a task


class PushConfigs(PushNotificationConfigStore):
    """Where callers want to be told, in the sessions of their tasks.

    Args:
        sessions: the sessions.
        allow: hosts that may be private, and without TLS.
    """

    def __init__(self, sessions: Sessions, allow: Collection[str]) -> None:
        self._sessions, self._allow = sessions, tuple(allow)
        self._kept: dict[str, tuple[str, dict[str, TaskPushNotificationConfig]]] = {}  # by task: whose, and by id

    async def may_be_told(self, url: str) -> bool:
        """Return whether an address may be told, by its words; where its name leads is looked at with each request."""
        try:
            found = URL(url)
        except ValueError:
            return False
        host = (found.host or "").rstrip(".")
        if found.scheme not in ("http", "https") or not host or found.user is not None:
            return False
        if is_named(found, self._allow):
            return True
        written = all(letter in "0123456789abcdefx.:" for letter in host.lower()) and any(c.isdigit() for c in host)
        local = host.lower() == "localhost" or host.lower().endswith((".localhost", ".local", ".internal"))
        return found.scheme == "https" and not local and (not written or is_public(host))

    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Keep an address of a task."""
        stored = normalize_push_notification_config(task_id, notification_config)
        kept = await self._of(task_id, context.user.user_name)
        kept[stored.id] = stored
        while len(kept) > _MOST:
            del kept[next(iter(kept))]
        await self._write(task_id)
        return stored

    async def get_info(self, task_id: str, context: ServerCallContext) -> list[TaskPushNotificationConfig]:
        """Return the addresses of a task of the caller."""
        return list((await self._of(task_id, context.user.user_name)).values())

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """Return the addresses of a task."""
        if task_id not in self._kept:
            entries = await self._sessions.entries(session_of(task_id))
            if (note := _note_in(entries, task_id)) is None:
                return []
            self._kept[task_id] = str(note["owner"]), _read(note)
        return list(self._kept[task_id][1].values())

    async def delete_info(self, task_id: str, context: ServerCallContext, config_id: str | None = None) -> None:
        """Forget an address of a task, or all of them."""
        kept = await self._of(task_id, context.user.user_name)
        gone = [config_id] if config_id is not None else list(kept)
        if any(kept.pop(name, None) is not None for name in gone):
            await self._write(task_id)

    async def drop(self, task_id: str, config_id: str) -> None:
        """Forget an address that cannot be told."""
        if task_id in self._kept and self._kept[task_id][1].pop(config_id, None) is not None:
            await self._write(task_id)

    async def _of(self, task_id: str, principal: str) -> dict[str, TaskPushNotificationConfig]:
        await self.get_info_for_dispatch(task_id)
        owner, kept = self._kept.setdefault(task_id, (principal, {}))
        return kept if owner == principal else {}

    async def _write(self, task_id: str) -> None:
        owner, kept = self._kept[task_id]
        told = [json_format.MessageToDict(one) for one in kept.values()]
        live = await self._sessions.live(session_of(task_id), owner)
        await live.agent.session.note(PUSH, {"owner": owner, "task": task_id, "configs": told})


def _note_in(entries: Collection[SessionEntry], task_id: str) -> Mapping[str, Any] | None:
    found = None
    for entry in entries:
        if entry.type == "custom" and entry.data.get("custom_type") == PUSH and entry.data.get("task") == task_id:
            found = entry.data
    return found


def _read(note: Mapping[str, Any]) -> dict[str, TaskPushNotificationConfig]:
    configs = [json_format.ParseDict(thaw(one), TaskPushNotificationConfig()) for one in note["configs"]]
    return {one.id: one for one in configs}


class Pusher(PushNotificationSender):
    """Sends what happens to a task, in order for each address, beside the work on it.

    Args:
        configs: the addresses.
        allow: hosts that may be private, and without TLS.
        sleep: waits before another try.
    """

    def __init__(
        self, configs: PushConfigs, allow: Collection[str], sleep: Callable[[float], Any] = asyncio.sleep
    ) -> None:
        self._configs, self._sleep = configs, sleep
        self._client = guarded_client(allow, max_bytes=_LARGEST, timeout=_SECONDS, silence=_SECONDS)
        self._queues: dict[tuple[str, str], asyncio.Queue[Mapping[str, Any]]] = {}
        self._senders: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def send_notification(self, task_id: str, event: PushNotificationEvent) -> None:
        """Put an event into the queue of each address of a task."""
        for config in await self._configs.get_info_for_dispatch(task_id):
            place = task_id, config.id
            queue = self._queues.setdefault(place, asyncio.Queue())
            queue.put_nowait(json_format.MessageToDict(to_stream_response(event)))
            if place not in self._senders:
                self._senders[place] = asyncio.get_running_loop().create_task(self._send_all(place, config))

    async def _send_all(self, place: tuple[str, str], config: TaskPushNotificationConfig) -> None:
        """Send what is in a queue; forget the address when an event cannot be delivered."""
        queue = self._queues[place]
        try:
            while not queue.empty():
                if not await self._deliver(config, queue.get_nowait()):
                    log.warning("%s is told of task %s no more", urlsplit(config.url).netloc, place[0])
                    await self._configs.drop(*place)
                    return
        except SkillKitError as error:
            log.warning("%s", error)
        finally:
            del self._queues[place], self._senders[place]

    async def _deliver(self, config: TaskPushNotificationConfig, event: Mapping[str, Any]) -> bool:
        """Send an event, and again after 1, 5 and 30 seconds; return whether it was taken."""
        body = json.dumps(event).encode()
        for seconds in (*_AGAIN, None):
            try:
                response = await self._client.post(config.url, content=body, headers=_headers(config, body))
                if response.status_code < 300:
                    return True
                why = f"HTTP {response.status_code}"
            except PeerError as error:
                log.warning("a push notification was not sent: %s", error)
                return False
            except Exception as error:  # noqa: BLE001 - of any server, in any way
                why = type(error).__name__
            log.info("%s was not told: %s", urlsplit(config.url).netloc, why)
            if seconds is not None:
                await self._sleep(seconds)
        return False

    async def aclose(self) -> None:
        """Send nothing more."""
        for sender in list(self._senders.values()):
            sender.cancel()
        await asyncio.gather(*self._senders.values(), return_exceptions=True)
        await self._client.aclose()


def _headers(config: TaskPushNotificationConfig, body: bytes) -> dict[str, str]:
    """Return the headers of a push: who it is for, and a signature that only who knows the token can make."""
    headers = {"Content-Type": "application/json"}
    if config.authentication.scheme and config.authentication.credentials:
        headers["Authorization"] = f"{config.authentication.scheme} {config.authentication.credentials}"
    if config.token:
        now = str(int(time.time()))
        signed = hmac.new(config.token.encode(), f"{now}.".encode() + body, sha256).hexdigest()
        headers |= {"X-A2A-Notification-Token": config.token, "X-A2A-Signature": f"t={now},sha256={signed}"}
    return headers
