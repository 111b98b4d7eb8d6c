"""An agent elsewhere of the SDK: its own server on loopback, JSON-RPC and HTTP+JSON."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, Self


class SdkPeer:
    """Echoes; ``ask`` asks first. ``with SdkPeer("HTTP+JSON") as peer``."""

    def __init__(self, *bindings: str) -> None:
        self._bindings = bindings or ("JSONRPC",)
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.answers: list[str] = []

    def __enter__(self) -> Self:
        import uvicorn

        config = uvicorn.Config(self._app(), log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._socket.listen()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([self._socket])), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    def _app(self) -> Any:
        from a2a.server.request_handlers import DefaultRequestHandler
        from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
        from a2a.server.tasks import InMemoryTaskStore
        from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
        from starlette.applications import Starlette

        card = AgentCard(
            name="sdk", description="Echoes.", version="1",
            capabilities=AgentCapabilities(streaming=True),
            supported_interfaces=[
                AgentInterface(url=self.base, protocol_binding=one, protocol_version="1.0") for one in self._bindings
            ],
            default_input_modes=["text/plain"], default_output_modes=["text/plain"],
            skills=[AgentSkill(id="echo", name="Echo", description="Echoes.", tags=["echo"])],
        )  # fmt: skip
        handler = DefaultRequestHandler(agent_executor=_executor(self), task_store=InMemoryTaskStore(), agent_card=card)
        routes = [*create_agent_card_routes(card), *create_rest_routes(handler)]
        return Starlette(routes=[*routes, *create_jsonrpc_routes(handler, "/")])


def _executor(peer: SdkPeer) -> Any:
    from a2a.helpers import new_task_from_user_message
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.tasks import TaskUpdater
    from a2a.types import Part

    class Echo(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            text = context.get_user_input()
            if context.current_task is None:
                await event_queue.enqueue_event(new_task_from_user_message(context.message))
            updater = TaskUpdater(event_queue, context.task_id, context.context_id)
            if context.current_task is None and text.startswith("ask"):
                await updater.requires_input(updater.new_agent_message([Part(text="Which colour?")]))
                return
            if context.current_task is not None:
                peer.answers.append(text)
            await updater.start_work()
            said = "answered: " if context.current_task is not None else "echo: "
            await updater.add_artifact([Part(text=said)], artifact_id="a", append=False)
            await updater.add_artifact([Part(text=text)], artifact_id="a", append=True, last_chunk=True)
            await updater.complete()

        async def cancel(self, context: Any, event_queue: Any) -> None:
            await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    return Echo()
