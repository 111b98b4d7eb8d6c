"""The worker: it imports the plugin, registers it with a host of its own, and does what the other process asks.

A thread reads the socket, so that a handler may wait for an answer of the other side without a loop. What the plugin does, also
to this process, ends at the socket.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from skillkit_core import (
    IN_PROCESS,
    AbortSignal,
    EventBus,
    Host,
    LLMRequest,
    ModelSettings,
    SkillKitError,
    Tool,
    hookimpl,
)
from skillkit_core.descriptors import load_object
from skillkit_core.errors import in_words
from skillkit_core.host.discovery import EntryPoint
from skillkit_core.host.loading import Failure, import_plugin

from .standing_in import Asking, Context, ToolCall
from .values import pack, unpack
from .wire import Frames, Message, encoded

__all__ = ["KINDS", "serve"]

KINDS = ("adapters", "compactors", "config", "context_providers", "credentials", "models", "runtimes", "tools")
"""The kinds of items that an isolated plugin may register."""
_request: ContextVar[int] = ContextVar("isolation_request", default=0)
_HOST_HOOKS = frozenset(("host_closing", "host_configure", "host_shutdown", "host_started"))


class Worker:
    """Does the requests of the other process, one task each.

    Attributes:
        ready: what the other process is told first.
    """

    def __init__(self, channel: socket.socket, confined: bool) -> None:
        self.loop = asyncio.new_event_loop()
        self.ready: Message = {"id": 0, "value": {"pid": os.getpid(), "confined": confined}}
        self._channel = channel
        self._sending = threading.Lock()
        self._asked: dict[tuple[int, int], Future[Any]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._aborts: dict[int, Any] = {}
        self._name = ""
        self._host: Host | None = None
        self._records: list[Any] = []
        self._states: dict[Any, dict[str, dict[str, Any]]] = {}
        self._adapters: dict[str, Any] = {}
        self._told = 0

    def send(self, message: Message) -> None:
        """Send a message, from any thread.

        Raises:
            TypeError, ValueError: it is no message.
        """
        data = encoded(message)
        with self._sending:
            self._channel.sendall(data)

    def read(self) -> None:
        """Read until the other side is gone. The process ends then, whatever the plugin does."""
        frames = Frames()
        try:
            while data := self._channel.recv(1 << 16):
                for message in frames.feed(data):
                    self._take(message)
        finally:
            os._exit(0)

    def _take(self, message: Message) -> None:
        if "ask" in message:
            future = self._asked.pop((message["id"], message["ask"]), None)
            if future is None:
                return
            if "error" in message:
                future.set_exception(SkillKitError(message["error"]))
            else:
                future.set_result(unpack(message.get("value")))
        elif "abort" in message:
            self.loop.call_soon_threadsafe(self._abort, message)
        else:
            self.loop.call_soon_threadsafe(self._begin, message)

    def ask(self, request: int, what: str, body: Any) -> Future[Any]:
        """Ask the other side, and return its answer to come; any thread but that of :meth:`read` may wait for it."""
        future: Future[Any] = Future()
        number = id(future)
        self._asked[request, number] = future
        self.send({"id": request, "ask": number, "what": what, "body": pack(body)})
        return future

    def _begin(self, message: Message) -> None:
        task = self.loop.create_task(self._answer(message))
        self._tasks[message["id"]] = task
        task.add_done_callback(lambda task: self._ended(message["id"], task))

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        self._tasks.pop(number, None)
        if task.cancelled():  # before it began
            self.send({"id": number, "value": None})

    def _abort(self, message: Message) -> None:
        number = message["id"]
        signal, task = self._aborts.get(number), self._tasks.get(number)
        if signal is not None:
            signal.abort(message["abort"])
        if task is not None and (signal is None or message.get("cancel")):
            task.cancel()
        elif task is None and message.get("cancel"):  # it has ended, and who cancels may not have read the answer
            self.send({"id": number, "value": None})

    async def _answer(self, message: Message) -> None:
        number = message["id"]
        _request.set(number)
        try:
            value = getattr(self, f"_do_{message['do']}")(message)
            if inspect.isawaitable(value):
                value = await value
            answer = {"id": number, "value": pack(value)}
        except BaseException as error:  # noqa: BLE001 - whatever the plugin raises is its answer
            answer = {"id": number, "error": pack(error)}
        finally:
            self._aborts.pop(number, None)
        if problems := self._problems():
            answer["problems"] = problems
        try:
            self.send(answer)
        except (TypeError, ValueError) as error:
            self.send({"id": number, "error": pack(error)})

    def _problems(self) -> list[dict[str, Any]]:
        """Return the problems of the plugin that were not told yet."""
        found = self._host.problems[self._told :] if self._host is not None else []
        self._told += len(found)
        return [{k: v for k, v in problem._asdict().items() if k != "traceback"} for problem in found]

    # --- the plugin ----------------------------------------------------------------------------------------------------

    def _do_load(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Import the plugin and let it register. Return its hooks, and what it does that is not offered."""
        entry, self._name = EntryPoint(*about["entry"]), about["entry"][1]
        sys.path += [place for place in about["path"] if place not in sys.path]
        try:
            plugin = import_plugin(entry, about["seconds"])
        except Failure as failure:
            return {"failed": {k: v for k, v in failure.diagnostic._asdict().items() if k != "traceback"}}
        self._host = Host(
            plugins=[(self._name, plugin), ("isolation-secrets", _Secrets(self))], discover=False, cwd=about["cwd"],
            settings=about["settings"],
        )  # fmt: skip
        loaded = self._host.load().loaded.get(self._name)
        if loaded is None:
            (*_, refused) = (problem for problem in self._problems() if problem["plugin"] == self._name)
            return {"failed": refused}
        bus = EventBus(self._host)
        bus.arm("*")
        self._records, hooks = [], list[dict[str, Any]]()
        seen: set[str] = set()
        for event, records in bus.table.items():
            for record in records:
                hook = record.hook or event
                if record.plugin != self._name or (hook == "event" and record.label in seen):
                    continue  # an observer of all events stands with each of them
                seen.update((record.label,) if hook == "event" else ())
                self._records.append(record)
                hooks.append(_facts(hook, record))
        kinds = [kind for kind in KINDS if f"register_{kind}" in loaded.hooks]
        known = {*_HOST_HOOKS, *(f"register_{kind}" for kind in kinds), *(hook["hook"] for hook in hooks)}
        return {"hooks": hooks, "kinds": kinds, "left_out": [hook for hook in loaded.hooks if hook not in known]}

    @property
    def host(self) -> Host:
        """The host of the plugin."""
        assert self._host is not None
        return self._host

    def _do_configure(self, about: Mapping[str, Any]) -> None:
        self.host.configure(about["settings"])

    def _do_register(self, about: Mapping[str, Any]) -> list[Any]:
        """Return what the plugin registers of a kind, as far as it is no code."""
        kind, told = about["kind"], list[Any]()
        for entry in self.host.registry(kind).entries():
            item = entry.item
            if entry.source != self._name:
                continue
            if kind == "adapters" and hasattr(item, "apis"):
                classes = {api: load_object(target) for api, target in item.apis.items()}
                apis = {api: {"progressive": getattr(cls, "progressive", True)} for api, cls in classes.items()}
                plain = {k: v for k, v in item._asdict().items() if k != "apis"}
                told.append({**plain, "apis": apis})
            elif kind == "config":
                told.append({"name": item.name, "fields": _settings(load_object(item.model))})
            elif kind == "context_providers":
                told.append({"name": item.name, "order": item.order})
            elif kind in ("compactors", "credentials", "runtimes"):
                told.append({"name": item.name, "description": item.description})
            elif kind == "models" or isinstance(item, Tool):
                told.append(item)
            else:
                words = f"{type(item).__name__} {entry.name!r} is left out: an isolated plugin cannot register it"
                self.host.note(self._name, words, stage=f"register_{kind}", remedy="run it without isolation")
        return told

    async def _do_close(self, about: Mapping[str, Any]) -> None:
        await self.host.aclose()

    # --- what it is asked for ------------------------------------------------------------------------------------------

    def _context(self, about: Mapping[str, Any]) -> Context:
        """Return the context of a handler. What the plugin keeps for an agent lives as long as this process."""
        ctx = about.get("ctx") or {}
        state = self._states.setdefault((ctx.get("session"), *ctx.get("agent_path", ())), {})
        return Context(Asking(self, about["id"]), self.host, ctx, state)

    def _do_hook(self, about: Mapping[str, Any]) -> Any:
        record, event = self._records[about["hook"]], unpack(about["event"])
        return record.function(event, self._context(about)) if record.takes_ctx else record.function(event)

    def _do_context(self, about: Mapping[str, Any]) -> Any:
        found = next(e.item for e in self.host.context_providers.entries() if e.name == about["name"])
        return load_object(found.provide)(self._context(about).agent)

    async def _do_tool(self, about: Mapping[str, Any]) -> Any:
        tool = next(e.item for e in self.host.tools.entries() if e.name == about["name"] and e.source == self._name)
        ctx = ToolCall(Asking(self, about["id"]), self._context(about), about["call"])
        self._aborts[about["id"]] = ctx.signal
        return await IN_PROCESS.execute(tool, unpack(about["args"]), ctx)

    async def _do_run(self, about: Mapping[str, Any]) -> Any:
        signal = self._aborts[about["id"]] = AbortSignal()
        given = dict(unpack(about["given"]))
        for name in about["outputs"]:
            given[name] = lambda text, name=name: self.send({"id": about["id"], "item": [name, text]})
        return await self.host.runtimes.get(about["name"]).execute(**given, signal=signal)

    async def _do_compact(self, about: Mapping[str, Any]) -> Any:
        from skillkit_core import CompactionRequest

        asking, told = Asking(self, about["id"]), unpack(about["request"])
        numbers = {id(message): number for number, message in enumerate(told["messages"])}

        def named(messages: Any) -> list[Any]:
            """Return messages of which the other side has those of the request, by number."""
            return [numbers.get(id(message), message) for message in messages]

        async def complete(prompt: str, messages: Any) -> Any:
            return await asking.wait("complete", [prompt, named(messages)])

        request = CompactionRequest(
            **told, signal=AbortSignal(), complete=complete, estimate=lambda messages: asking.now("estimate", named(messages))
        )  # fmt: skip
        self._aborts[about["id"]] = request.signal
        return await self.host.compactors.get(about["name"]).compact(request)

    def _do_credential(self, about: Mapping[str, Any]) -> Any:
        return self.host.registry("credentials").get(about["name"]).get(about["secret"])

    def _adapter(self, about: Mapping[str, Any]) -> Any:
        """Return the adapter that the other side made, by what it was made with."""
        key = json.dumps([about["provider"], about["api"], about["options"]], sort_keys=True)
        if key not in self._adapters:
            item = self.host.adapters.provider(about["provider"])
            assert item is not None
            options = {**about["options"], **item.options}
            self._adapters[key] = load_object(item.apis[about["api"]])(self.host, provider=item.name, **options)
        return self._adapters[key]

    def _request(self, about: Mapping[str, Any]) -> LLMRequest:
        asking, told = Asking(self, about["id"]), unpack(about["request"])

        async def on_request(payload: Any, headers: Any) -> Any:
            return await asking.wait("on_request", [payload, headers])

        async def on_response(status: int, headers: Any) -> None:
            await asking.wait("on_response", [status, dict(headers)])

        request = LLMRequest(
            told["model"], told["messages"], told["tools"], told["system"], told["settings"] or ModelSettings(), told["stream"],
            on_request=on_request if about["watched"] else None, on_response=on_response if about["watched"] else None,
            session_id=told["session_id"],
        )  # fmt: skip
        self._aborts[about["id"]] = request.signal
        return request

    async def _do_stream(self, about: Mapping[str, Any]) -> None:
        async for event in self._adapter(about).stream(self._request(about)):
            self.send({"id": about["id"], "item": pack(event)})

    async def _do_count_tokens(self, about: Mapping[str, Any]) -> Any:
        return await self._adapter(about).count_tokens(self._request(about))

    async def _do_list_models(self, about: Mapping[str, Any]) -> Any:
        return list(await self._adapter(about).list_models())


class _Secrets:
    """Asks the other side for what is not in the environment of this process."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @hookimpl
    def resolve_secret(self, name: str) -> str | None:
        """Return a secret that the plugin declares."""
        found: str | None = self._worker.ask(_request.get(), "secret", name).result()
        return found


def _facts(hook: str, record: Any) -> dict[str, Any]:
    return {
        "hook": hook,
        "label": getattr(record.function, "__qualname__", hook),
        "phase": record.phase,
        "timeout": record.timeout,
        "tools": sorted(record.tools) if record.tools is not None else None,
        "while_": sorted(record.while_),
    }


def _settings(model: Any) -> list[tuple[str, Any, str]]:
    """Return the names of a section's settings, with defaults and descriptions."""
    if is_dataclass(model):
        known = [
            (f.name, f.default if f.default_factory is MISSING else f.default_factory(), f.metadata)
            for f in fields(model)
        ]
        told = [
            (name, None if default is MISSING else default, facts.get("description")) for name, default, facts in known
        ]
    else:
        told = [
            (name, None if f.is_required() else f.get_default(call_default_factory=True), f.description)
            for name, f in model.model_fields.items()
        ]
    found = []
    for name, default, description in told:
        try:
            json.dumps(default)
        except (TypeError, ValueError):
            default = str(default)
        found.append((name, default, description or ""))
    return found


def serve(channel: socket.socket, confined: bool) -> None:
    """Answer until the other side is gone."""
    worker = Worker(channel, confined)
    asyncio.set_event_loop(worker.loop)
    threading.Thread(target=worker.read, daemon=True, name="isolation-wire").start()
    worker.send(worker.ready)
    while True:
        try:
            worker.loop.run_forever()
        except BaseException as error:  # noqa: BLE001 - what a plugin raises past its call ends no other call
            sys.stderr.write(f"{in_words(error)}\n")
