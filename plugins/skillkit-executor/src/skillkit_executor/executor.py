"""The executors: which tool runs where, the process that runs them, and a call from its arguments to its one output."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from contextvars import Context
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import mcp_types as types
import skillkit_process
from mcp import MCPError
from pydantic_core import to_jsonable_python

from skillkit_core import (
    IN_PROCESS,
    Deferred,
    SkillKitError,
    Survey,
    Tool,
    ToolContext,
    ToolError,
    ToolExecutor,
    ToolOutput,
    thaw,
)
from skillkit_core.descriptors import load_object
from skillkit_core.errors import Suspended, in_words

from .config import ExecutorConfig
from .connection import Connection, Transport
from .escalation import explained
from .sandboxed import Held, Sandboxed, users
from .server import ToolServer
from .wire import ABORT, ANSWER, META, output_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["Place", "RemoteExecutor", "http", "local", "place_of", "stdio"]

_OWN = (
    "PYTHONPATH", "SKILLKIT_HOME", "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
)  # fmt: skip
_WITHIN = 60.0  # seconds in which restarts are counted
_LATE = 5.0  # seconds that an aborted tool has to end by itself, and live output to arrive


class Place(NamedTuple):
    """Where a tool runs.

    Attributes:
        remote: the executor runs it.
        why: one line.
        run: import string of the function; ``None``: the plugin brings the tool.
        plugin: name and module of the plugin.
        carrier: import string of what stands for the agent.
    """

    remote: bool
    why: str
    run: str | None = None
    plugin: tuple[str, str] | None = None
    carrier: str | None = None


def place_of(tool: Tool, host: Host, source: str | None) -> Place:
    """Return where a tool that ``source`` offers runs, and why. Rules offer tools that another plugin brings."""
    fact = tool.annotations.get("remote")
    if not fact:
        return Place(False, "it does not declare 'remote'")
    for entry in host.tools.entries():
        if isinstance(entry.item, Tool) and (entry.item.name, entry.item.execute) == (tool.name, tool.execute):
            source = entry.source
    carrier = fact if isinstance(fact, str) else None
    loaded = host.plugins.get(source) if source is not None else None
    module = loaded.plugin.__name__ if loaded is not None and isinstance(loaded.plugin, ModuleType) else None
    plugin = (source, module) if source is not None and module is not None else None
    why = "it declares 'remote'" + (f", {carrier} stands for its agent" if carrier else "")
    if isinstance(tool.execute, str):
        return Place(True, why, tool.execute, plugin, carrier)
    if plugin is None:
        whose = "an object, no module" if loaded is not None else "a function of this process"
        return Place(False, f"it declares 'remote', but it comes from {whose}")
    return Place(True, why, None, plugin, carrier)


class RemoteExecutor(ToolExecutor):
    """Runs tools that declare ``remote`` over the wire, and all others in this process.

    Args:
        host: whose tools.
        transport: ``local``, ``stdio`` or ``http``.

    Attributes:
        calling: the agent of each call that runs, from the choice of its sandbox on.
    """

    def __init__(self, host: Host, transport: Transport) -> None:
        self.host = host
        self.transport = transport
        self.sandboxed = Sandboxed(host, transport)
        self._connections: dict[tuple[str, ...], Connection] = {}
        self._running: Counter[Connection] = Counter()
        self.calling: list[AgentRunner] = []
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._starts: list[float] = []
        self._plugins: dict[str, str] = {}

    @property
    def pid(self) -> int | None:
        """The process that was started last and runs tools now. In a sandbox, that is the process that made the sandbox."""
        alive = [one.pid for one in self._connections.values() if not one.gone.is_set()]
        return alive[-1] if alive else None

    def holds(self, agent: AgentRunner, tool: Tool | None = None) -> str | None:
        """Return the name of the sandbox in which an agent's tools that declare ``remote`` run now; ``None``: in none.

        Args:
            tool: return ``None`` for a tool that runs in this process.

        Raises:
            SkillKitError: the sandbox that is asked for does not hold here.
        """
        if tool is not None and not place_of(tool, self.host, agent.toolbox.source(tool.name)).remote:
            return None
        held = self.sandboxed.now(agent)
        return held.name if held is not None else None

    async def list_tools(self) -> list[str] | None:
        """Return the names of the tools that plugins registered for the other process, but for those of tool sets."""
        connection = await self._connected(self.sandboxed.now())
        assert connection.client is not None
        return [tool.name for tool in (await connection.client.list_tools()).tools]

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """Run a tool where it runs; see :func:`place_of`."""
        agent = ctx.agent
        place = place_of(tool, self.host, agent.toolbox.source(tool.name))
        if not place.remote:
            return await IN_PROCESS.execute(tool, args, ctx)
        self.calling.append(agent)
        try:
            return await self._elsewhere(place, tool, args, ctx)
        finally:
            self.calling.remove(agent)

    async def _elsewhere(self, place: Place, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        held = self.sandboxed.now(ctx.agent)
        for again in (tool.replay == "safe", False):
            connection = await self._connected(held, place)
            self._running[connection] += 1
            try:
                output = await _Call(connection, tool, args, ctx, place).run()
                return output if held is None else explained(output, tool, args, ctx, held, self.sandboxed.wider)
            except _Gone:
                await connection.settled()
                if not again:
                    raise ToolError(self._lost(connection, tool)) from None
            finally:
                self._running[connection] -= 1
                if self._running[connection] <= 0:
                    del self._running[connection]
        raise AssertionError("unreachable")

    async def once(self, policy: str, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """Run a tool in a process of its own, in the sandbox of a policy. When this returns, the process has ended.

        Raises:
            ToolError: the process did not start, or ended too early.
            SkillKitError: no sandbox holds the policy here.
        """
        place = place_of(tool, self.host, ctx.agent.toolbox.source(tool.name))
        if not place.remote:
            raise ToolError(f"{tool.name!r} runs in no sandbox: {place.why}")
        if place.plugin is not None:
            self._plugins.setdefault(*place.plugin)
        connection = self._process(self.sandboxed.named(policy, ctx.agent))
        try:
            await connection.ready()
            return await _Call(connection, tool, args, ctx, place).run()
        except _Gone:
            await connection.settled()
            raise ToolError(self._lost(connection, tool)) from None
        finally:
            await connection.close()

    def _lost(self, connection: Connection, tool: Tool) -> str:
        if tool.replay == "safe":
            return f"the process that runs tools ended twice while {tool.name!r} ran: {connection.why()}"
        return (
            f"the process that runs tools ended while {tool.name!r} ran: {connection.why()}. "
            "Nobody knows how far the call came, and it was not made again: look at what it did before you repeat it."
        )

    async def _connected(self, held: Held | None, place: Place | None = None) -> Connection:
        """Return a connection to a process that runs in the sandbox, and start one if there is none."""
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        key = held.key if held is not None else ()
        found = self._connections.get(key)
        if found is None or found.loop is not loop or found.gone.is_set():
            async with self._lock[1]:
                found = self._connections.get(key)
                if found is None or found.loop is not loop or found.gone.is_set():
                    if place is not None and place.plugin is not None:
                        self._plugins.setdefault(*place.plugin)
                    for old in [old for old in self._connections if old[:1] == key[:1]]:
                        if old == key or not self._running[self._connections[old]]:
                            await self._drop(self._connections.pop(old))
                    found = self._connections[key] = self._start(found, held)
        await found.ready()
        return found

    async def _drop(self, connection: Connection) -> None:
        if connection.loop is asyncio.get_running_loop():
            await connection.close()

    def _start(self, before: Connection | None, held: Held | None) -> Connection:
        """Start a process, but not for ever again.

        Raises:
            ToolError: it ended too often.
        """
        now = monotonic()
        self._starts = [at for at in self._starts if now - at < _WITHIN]
        if before is not None:
            if len(self._starts) >= self._config().restarts:
                raise ToolError(
                    f"the process that runs tools ended {len(self._starts) + 1} times within a minute, the last time so: "
                    f"{before.why()}"
                )
            self._starts.append(now)
        return self._process(held)

    def _process(self, held: Held | None) -> Connection:
        env = environment(self.host)
        if held is not None:
            env["LANGUAGE"] = "en"  # what the kernel refuses is found by words
        names = sorted(env)
        return Connection(
            self.transport,
            (lambda argv: held.command(argv, names)) if held is not None else (lambda argv: argv),
            env,
            os.fspath(self.host.cwd),
            self._about(self._config(), held),
            lambda: ToolServer(self.host),
            self._config().start_timeout,
            held is not None,
        )

    def _config(self) -> ExecutorConfig:
        return self.host.config.section("executor") or ExecutorConfig()

    def _about(self, config: ExecutorConfig, held: Held | None) -> dict[str, Any]:
        """Return what the process is told: its plugins and their settings, those of tools that may be called later, too."""
        tools = ((entry.item, entry.source) for entry in self.host.tools.entries() if isinstance(entry.item, Tool))
        places = (place_of(tool, self.host, source) for tool, source in tools)
        plugins = self._plugins | dict(place.plugin for place in places if place.remote and place.plugin is not None)
        for name in config.plugins:
            plugins[name] = self._module(name, "executor.plugins names")
        settings: dict[str, Any] = {}
        runtime = self.host.config.get("runtime")
        source = next((e.source for e in self.host.runtimes.entries() if e.name == runtime), None)
        if source is not None and not (held is not None and runtime == "sandbox"):
            # no other runtime takes the place of the one that was chosen
            plugins[source] = self._module(source, f"the runtime {runtime!r} comes from")
            settings["runtime"] = runtime
        for name in plugins:
            section = self.host.config.section(name)
            given = self.host.config.raw(name)
            if section is not None and isinstance(given, Mapping):
                values = {key: getattr(section, key) for key in given if hasattr(section, key)}
                settings |= {f"{name}.{key}": value for key, value in to_jsonable_python(values).items()}
        path = [os.path.abspath(entry) for entry in sys.path if entry]  # noqa: PTH100
        cwd = os.fspath(self.host.cwd)
        plugin_list = list(plugins.items())
        return {"cwd": cwd, "plugins": plugin_list, "settings": settings, "path": path, "held": held is not None}

    def _module(self, plugin: str, who: str) -> str:
        loaded = self.host.plugins.get(plugin)
        if loaded is None or not isinstance(loaded.plugin, ModuleType):
            raise ToolError(f"{who} {plugin!r}, which is no module of a plugin that runs")
        return loaded.plugin.__name__

    async def close(self) -> None:
        """End the processes."""
        found, self._connections = self._connections, {}
        await asyncio.gather(*(self._drop(one) for one in found.values()))


def environment(host: Host) -> dict[str, str]:
    """Return the variables of the process that runs tools: harmless ones, where Python and SkillKit are, and ``executor.env``."""
    return skillkit_process.environment((*_OWN, *users(host, "env")), host.environ)


class _Gone(Exception):
    """The process ended before the call had its output."""


class _Call:
    """One call over the wire. It has one output, or raises."""

    def __init__(
        self, connection: Connection, tool: Tool, args: Mapping[str, Any], ctx: ToolContext, place: Place
    ) -> None:
        self._connection = connection
        self._tool = tool
        self._args = thaw(args)
        self._ctx = ctx
        self._place = place
        self._agent: AgentRunner = ctx.agent
        self._carrier: Any = load_object(place.carrier) if place.carrier else None
        # an id of the model may be there twice
        self._id = f"{ctx.session_id}/{ctx.tool_call_id}/{id(self):x}"
        self._told: dict[int, Mapping[str, Any]] = {}
        self._shown = 0
        self._more = asyncio.Event()
        self._side: set[asyncio.Task[Any]] = set()
        self._waits: asyncio.Future[Any] = asyncio.get_running_loop().create_future()  # fails when the call has to wait

    async def run(self) -> ToolOutput:
        """Make the call.

        Raises:
            _Gone: the process ended meanwhile.
            ToolError: the call could not be made.
        """
        loop = asyncio.get_running_loop()
        work = loop.create_task(self._send(), context=Context())
        self._connection.carry(work)
        gone = loop.create_task(self._connection.gone.wait(), context=Context())
        remove = self._ctx.signal.add_callback(lambda: loop.call_soon_threadsafe(self._abort))
        try:
            await asyncio.wait({work, gone, self._waits}, return_when=asyncio.FIRST_COMPLETED)
            if self._waits.done():
                self._waits.result()  # raises Suspended; the tool there is cancelled while it asks
            if not work.done():
                raise _Gone
            return await self._output(work.result())
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or self._connection.gone.is_set():
                raise _Gone from None
            raise ToolError(f"{self._tool.name!r} cannot be run elsewhere: {error.message}") from None
        except asyncio.CancelledError:
            # the tool ends its processes before the call is over
            self._abort()
            await asyncio.wait({work, gone}, timeout=_LATE, return_when=asyncio.FIRST_COMPLETED)
            raise
        except (SkillKitError, _Gone):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is this call's failure
            lost = work.done() and not work.cancelled() and work.exception() is error
            if lost and not self._connection.gone.is_set():
                await asyncio.wait({gone}, timeout=_LATE)
            if self._connection.gone.is_set():
                raise _Gone from None
            raise ToolError(f"{self._tool.name!r} cannot be run elsewhere: {in_words(error)}") from None
        finally:
            remove()
            for task in (work, gone, *self._side):
                task.cancel()

    async def _send(self) -> types.CallToolResult:
        ctx, place = self._ctx, self._place
        call = {
            "id": self._id,
            "tool_call_id": ctx.tool_call_id,
            "cwd": os.fspath(ctx.cwd),
            "session": ctx.session_id,
            "run_id": ctx.run_id,
            "idempotency_key": ctx.idempotency_key,
            "agent_path": list(ctx.agent_path),
            "answer": thaw(ctx.answer) if ctx.answer is not None else None,
            "ui": ctx.ui is not None,
            "run": place.run,
            "plugin": place.plugin,
            "carrier": place.carrier,
        }
        if self._carrier is not None:
            packed = self._carrier.pack(self._agent, self._tool.name, self._args)
            call["packed"] = await packed if inspect.isawaitable(packed) else packed
        meta: Any = {META: call}
        return await self._connection.call(self._tool.name, self._args, self._progress, meta)

    async def _output(self, result: types.CallToolResult) -> ToolOutput:
        """Return the output, after all that the tool told before."""
        data = result.structured_content
        if not isinstance(data, dict) or "count" not in data:
            text = " ".join(part.text for part in result.content if isinstance(part, types.TextContent))
            raise ToolError(f"{self._tool.name!r} cannot be run elsewhere: {text or 'the answer has no output'}")
        try:
            async with asyncio.timeout(_LATE):
                while self._shown < data["count"]:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            pass  # the output has all that a model reads
        if self._carrier is not None and data.get("changes") is not None:
            self._carrier.merge(self._agent, data["changes"])
        return output_of(data)

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Take what the tool tells, each once and in order."""
        number = int(progress)
        if number > self._shown:
            self._told.setdefault(number, json.loads(message or "{}"))
        while (told := self._told.pop(self._shown + 1, None)) is not None:
            self._shown += 1
            if "output" in told:
                self._ctx.on_output(told["output"], told["stream"])
            elif "ask" in told:
                self._beside(self._answer(told))
        self._more.set()

    def _beside(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._side.add(task)
        task.add_done_callback(self._side.discard)
        task.add_done_callback(lambda t: t.cancelled() or t.exception())

    async def _answer(self, asked: Mapping[str, Any]) -> None:
        """Answer a question of the tool."""
        answer: dict[str, Any] = {"id": self._id, "ask": asked["ask"]}
        try:
            answer["value"] = await self._answered(asked["what"], asked["body"])
        except Exception as error:  # noqa: BLE001 - the tool is told
            answer["error"] = str(error) if isinstance(error, SkillKitError) else in_words(error)
        await self._connection.call(ANSWER, answer)

    async def _answered(self, what: str, body: Any) -> Any:
        ui = self._ctx.ui
        if what == "carrier":
            if self._carrier is None:
                raise ToolError("the tool has nothing that stands for its agent")
            return await self._carrier.asked(self._agent, self._ctx, body)
        if what == "survey":
            try:
                given = await self._ctx.ask(Survey.from_dict(body["survey"]), wait=body["wait"])
            except Suspended as waiting:
                self._waits.set_exception(waiting)
                return await asyncio.Event().wait()  # nothing is answered: the tool must do nothing any more
        elif ui is None:
            return None
        elif what == "notify":
            await ui.notify(str(body["text"]), body["level"])
            return None
        else:
            try:
                given = await ui.ask(Survey.from_dict(body))
            except Deferred:
                return None
        return {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()} if given is not None else None

    def _abort(self) -> None:
        reason = self._ctx.signal.reason or "the call was cancelled"
        self._beside(self._connection.call(ABORT, {"id": self._id, "reason": reason}))


def local(host: Host) -> RemoteExecutor:
    """Make the executor that runs tools in this process, over the wire."""
    return RemoteExecutor(host, "local")


def stdio(host: Host) -> RemoteExecutor:
    """Make the executor that runs tools in a child process."""
    return RemoteExecutor(host, "stdio")


def http(host: Host) -> RemoteExecutor:
    """Make the executor that runs tools in a child process that serves on 127.0.0.1."""
    return RemoteExecutor(host, "http")
