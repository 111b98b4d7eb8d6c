"""Callers of a server, through the client of the protocol's library."""

import socket
from uuid import uuid4


def free_port():
    """Return a port that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Caller:
    """Somebody who calls, over one of the bindings."""

    def __init__(self, url, http, binding):
        self.url, self.http, self.binding = url, http, binding

    async def client(self, **how):
        """Return a client of the protocol's library."""
        from a2a.client import ClientConfig, create_client

        config = ClientConfig(httpx_client=self.http, supported_protocol_bindings=[self.binding], **how)
        return await create_client(self.url, config)

    async def events(self, text, *, data=None, task="", context="", metadata=None, stream=True, message=None, parts=()):
        """Say something; return what comes."""
        client = await self.client(streaming=stream)
        request = said(text, data=data, task=task, context=context, metadata=metadata, message=message, parts=parts)
        return [event async for event in client.send_message(request)]

    async def say(self, text, **how):
        """Say something; return the task, or the message."""
        (event,) = await self.events(text, stream=False, **how)
        return event.task if event.HasField("task") else event.message

    async def task(self, name):
        """Return a task as it stands."""
        from a2a.types import GetTaskRequest

        return await (await self.client()).get_task(GetTaskRequest(id=name))

    async def cancel(self, name):
        """Cancel a task."""
        from a2a.types import CancelTaskRequest

        return await (await self.client()).cancel_task(CancelTaskRequest(id=name))

    async def rpc(self, method, params, **headers):
        """Post a request as it is."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self.http.post(f"{self.url}/a2a/jsonrpc", json=body, headers={"A2A-Version": "1.0", **headers})


def said(text, *, data=None, task="", context="", metadata=None, message=None, parts=()):
    """Return a request to say something."""
    from a2a.types import Message, Part, Role, SendMessageRequest
    from google.protobuf.json_format import ParseDict
    from google.protobuf.struct_pb2 import Value

    every = [*([Part(text=text)] if text else []), *parts]
    if data is not None:
        every.append(Part(data=ParseDict(data, Value())))
    made = Message(
        message_id=message or uuid4().hex, role=Role.ROLE_USER, parts=every, task_id=task, context_id=context
    )
    made.metadata.update(metadata or {})
    return SendMessageRequest(message=made)
