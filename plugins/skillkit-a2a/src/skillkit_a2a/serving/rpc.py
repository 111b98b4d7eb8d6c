"""The same handler over gRPC, behind the same keys and limits. ``grpc`` is there with the extra."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
from a2a.extensions.common import HTTP_EXTENSION_HEADER
from a2a.server.request_handlers import GrpcHandler
from a2a.server.request_handlers.grpc_handler import GrpcServerCallContextBuilder
from a2a.types import a2a_pb2_grpc

from skillkit_core import SkillKitError

from .gate import Rates, context_for, found_by
from .keys import ANYONE, Caller

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.server.request_handlers.request_handler import RequestHandler

    from .keys import Keys

__all__ = ["serving"]

_VERSION = "1.0"
_ALONE = (("grpc.so_reuseport", 0),)  # no other process shares the port


@asynccontextmanager
async def serving(
    handler: RequestHandler, port: int, *, keys: Keys | None, rates: Rates, largest: int
) -> AsyncIterator[int]:
    """Serve on a port of this machine while the context lasts; yield the port.

    Args:
        handler: the handler.
        port: the port; 0: any free one.
        keys: the keys; ``None``: callers need none.
        rates: how often a caller may ask.
        largest: bytes of a request.
    """
    gate = _Gate(keys, rates)
    server = grpc.aio.server(interceptors=[gate], options=[*_ALONE, ("grpc.max_receive_message_length", largest)])
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler, _Contexts(gate)), server)  # type: ignore[no-untyped-call]
    try:
        found = server.add_insecure_port(f"127.0.0.1:{port}")
    except RuntimeError:
        raise SkillKitError(f"port {port} cannot be used for gRPC", hint="name another one with --grpc-port") from None
    await server.start()
    try:
        yield found
    finally:
        await server.stop(1)


class _Gate(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Lets calls through, or refuses them."""

    def __init__(self, keys: Keys | None, rates: Rates) -> None:
        self._keys, self._rates = keys, rates

    def caller(self, metadata: Any) -> Caller | None:
        """Return who calls by the metadata of a call."""
        given = {key.lower(): value for key, value in metadata or () if isinstance(value, str)}
        if self._keys is None:
            return ANYONE
        return found_by(self._keys, given.get("authorization", ""), given.get("x-api-key", ""))

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return what serves a call."""
        found = await continuation(details)
        refused = self._refused(details.invocation_metadata)
        return found if refused is None or found is None else _refusing(found, *refused)

    def _refused(self, metadata: Any) -> tuple[grpc.StatusCode, str] | None:
        version = {key.lower(): value for key, value in metadata or ()}.get("a2a-version", "")
        if str(version).split(".")[:2] != _VERSION.split("."):
            return grpc.StatusCode.FAILED_PRECONDITION, f"version {version or '0.3'} of A2A is not served here"
        if (caller := self.caller(metadata)) is None:
            return grpc.StatusCode.UNAUTHENTICATED, "a key is needed"
        if self._rates.wait(caller.name) > 0:
            return grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests"
        return None


def _refusing(found: Any, code: grpc.StatusCode, why: str) -> Any:
    """Return what refuses a call in the place of what would serve it."""

    async def one(request: object, context: grpc.aio.ServicerContext) -> None:
        await context.abort(code, why)

    async def stream(request: object, context: grpc.aio.ServicerContext) -> AsyncIterator[None]:
        await context.abort(code, why)
        yield

    readers = {"request_deserializer": found.request_deserializer, "response_serializer": found.response_serializer}
    if found.response_streaming:
        return grpc.unary_stream_rpc_method_handler(stream, **readers)
    return grpc.unary_unary_rpc_method_handler(one, **readers)


class _Contexts(GrpcServerCallContextBuilder):
    """Tells the handler who calls."""

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate

    def build(self, context: grpc.aio.ServicerContext) -> ServerCallContext:
        """Return the context of a call."""
        metadata = context.invocation_metadata() or ()
        headers = {key.lower(): value for key, value in metadata if isinstance(value, str)}
        wanted = [value for key, value in metadata if key.lower() == HTTP_EXTENSION_HEADER.lower()]
        caller = self._gate.caller(metadata)
        assert caller is not None
        return context_for(caller, headers, [str(one) for one in wanted], lambda why: None)
