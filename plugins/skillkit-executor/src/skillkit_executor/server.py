"""The side that runs tools: a low-level MCP server, whoever carries its messages."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from skillkit_core import (
    IN_PROCESS,
    AbortSignal,
    SkillKitError,
    Tool,
    ToolError,
    ToolOutput,
    UserInterface,
    __version__,
    freeze,
    thaw,
)
from skillkit_core.descriptors import load_object
from skillkit_core.errors import in_words

from .wire import META, result_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from skillkit_core import AgentMessage, Answers, AssistantMessage, Host, Survey
    from skillkit_core.contracts.user_interface import NoticeLevel

__all__ = ["RemoteContext", "ToolServer"]

_GRACE = 5.0  # seconds that a cancelled tool has to end by itself


class RemoteContext:
    """The context of a tool that runs here (:class:`~skillkit_core.ToolContext`).

    Attributes:
        host: the host of this process.
        call: what the other side said of the call.
    """

    def __init__(self, host: Host, name: str, call: Mapping[str, Any]) -> None:
        self.host = host
        self.call = call
        self.tool_name = name
        self.tool_call_id: str = call["tool_call_id"]
        self.signal = AbortSignal()
        self.cwd = Path(call["cwd"])
        self.session_id: str | None = call.get("session")
        self.run_id: str | None = call.get("run_id")
        self.idempotency_key: str = call.get("idempotency_key", "")
        self.below: tuple[str, ...] = ()  # no agent runs in this process
        self.agent_path: tuple[str, ...] = tuple(call["agent_path"])
        self.answer: Mapping[str, Any] | None = freeze(call["answer"]) if call.get("answer") is not None else None
        self.ui: UserInterface | None = _Person(self) if call.get("ui") else None
        self.told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.asked: dict[int, asyncio.Future[Any]] = {}
        self._loop = asyncio.get_running_loop()
        carrier = call.get("carrier")
        self.carrier = load_object(carrier) if carrier else None
        self._agent = self.carrier.stand_in(call.get("packed") or {}, self) if self.carrier is not None else None

    @property
    def agent(self) -> Any:
        """What stands for the agent."""
        if self._agent is None:
            raise ToolError(f"the tool {self.tool_name!r} asks for its agent, which is in another process")
        return self._agent

    async def complete(self, messages: Sequence[AgentMessage], **asked: Any) -> AssistantMessage:
        """Refuse: the models and the books are in the process of the agent."""
        raise ToolError(
            f"the tool {self.tool_name!r} asks a model, which is in another process; let it run in the agent's"
        )

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Show output while the tool runs, from any thread."""
        if output:
            self._loop.call_soon_threadsafe(self.told.put_nowait, {"output": output, "stream": stream})

    async def ask(self, survey: Survey, *, wait: bool = True) -> Answers | None:
        """Ask on the other side, where the question is kept; the call is cancelled here when it has to wait there."""
        given = await self.request("survey", {"survey": survey.to_dict(), "wait": wait})
        return survey.answer(given) if given is not None else None

    async def request(self, what: Literal["carrier", "ui", "notify", "survey"], body: Any) -> Any:
        """Ask the other side, and return its answer.

        Raises:
            ToolError: the other side could not answer.
        """
        number = len(self.asked) + 1
        answer = self.asked[number] = self._loop.create_future()
        self.told.put_nowait({"ask": number, "what": what, "body": body})
        return await answer

    def ask_from_thread(self, body: Any) -> Any:
        """Ask the carrier on the other side, in a thread of a tool."""
        return asyncio.run_coroutine_threadsafe(self.request("carrier", body), self._loop).result()


class _Person(UserInterface):
    """The person on the other side."""

    def __init__(self, ctx: RemoteContext) -> None:
        self._ctx = ctx

    async def ask(self, survey: Survey) -> Answers | None:
        given = await self._ctx.request("ui", survey.to_dict())
        return survey.answer(given) if given is not None else None

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        await self._ctx.request("notify", {"text": text, "level": level})


class ToolServer:
    """Runs the tools of plugins.

    Args:
        host: whose plugins; ``None``: the other side names them as it starts.
    """

    def __init__(self, host: Host | None = None) -> None:
        self._given = host
        self._host = host
        self._calls: dict[str, RemoteContext] = {}
        self._left: set[asyncio.Task[ToolOutput]] = set()
        self.server: Server[Any] = Server(
            "skillkit-executor", version=__version__, on_list_tools=self.list_tools, on_call_tool=self.call_tool
        )

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        """List the tools that plugins of this process registered for it."""
        found = [tool for tool in self._registered().values() if tool.annotations.get("remote")]
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=t.name, description=t.description, input_schema={**thaw(t.parameters), "type": "object"}
                )
                for t in found
            ]
        )

    def _registered(self) -> dict[str, Tool]:
        if self._host is None:
            return {}
        return {e.item.name: e.item for e in reversed(self._host.tools.entries()) if isinstance(e.item, Tool)}

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run a tool, or do what the other side asks."""
        args = params.arguments or {}
        match params.name:
            case "skillkit.start":
                try:
                    return self._start(args)
                except Exception as error:
                    raise MCPError(types.INTERNAL_ERROR, in_words(error)) from error
            case "skillkit.answer":
                self._settle(args)
            case "skillkit.abort":
                if (call := self._calls.get(args["id"])) is not None:
                    call.signal.abort(args.get("reason"))
            case name:
                meta: Mapping[str, Any] = params.meta or {}
                return await self._run(ctx, name, args, meta[META])
        return types.CallToolResult(content=[])

    def _start(self, about: Mapping[str, Any]) -> types.CallToolResult:
        """Make the host. Return the number of the process, and the plugins that could not be loaded."""
        if self._given is None:
            from skillkit_core import Host

            if about["held"]:
                # the folders of SkillKit are hidden in a sandbox or not to be written; what counts was told
                os.environ["SKILLKIT_HOME"] = tempfile.mkdtemp(prefix="skillkit-")
            sys.path += [entry for entry in about["path"] if entry not in sys.path]
            self._host = Host(discover=False, cwd=about["cwd"], settings=about["settings"])
            problems = [text for name, module in about["plugins"] if (text := self._add(name, module))]
        else:
            problems = []
        return types.CallToolResult(content=[], structured_content={"pid": os.getpid(), "problems": problems})

    def _add(self, name: str, module: str) -> str | None:
        """Load a plugin, unless it is there; return what went wrong."""
        assert self._host is not None
        if name in self._host.plugins:
            return None
        try:
            self._host.add_plugin(import_module(module), name=name)
        except Exception as error:  # noqa: BLE001 - told to the other side, which refuses the plugin's tools
            return f"plugin {name!r} cannot be loaded: {in_words(error)}"
        return None

    def _settle(self, args: Mapping[str, Any]) -> None:
        call = self._calls.get(args["id"])
        answer = call.asked.get(args["ask"]) if call is not None else None
        if answer is None or answer.done():
            return
        if args.get("error") is not None:
            answer.set_exception(ToolError(args["error"]))
        else:
            answer.set_result(args.get("value"))

    def _tool(self, name: str, call: Mapping[str, Any]) -> Tool:
        """Return the tool, from its import string or from its plugin.

        Raises:
            ToolError: this process does not have it.
        """
        plugin, module = call.get("plugin") or (None, "")
        problem = self._add(plugin, module) if self._given is None and plugin is not None else None
        if call.get("run") and problem is None:
            return Tool(name, "", call["run"])
        found = self._registered().get(name)
        if found is None:
            raise ToolError(problem or f"the plugin {plugin!r} offers no tool {name!r} in the process that runs tools")
        return replace(found, timeout=None)

    async def _run(
        self, ctx: ServerRequestContext[Any, Any], name: str, args: Mapping[str, Any], call: Mapping[str, Any]
    ) -> types.CallToolResult:
        """Run a tool. What the tool raises is its output. A cancelled request aborts the tool."""
        assert self._host is not None
        count = 0
        try:
            tool, running = self._tool(name, call), RemoteContext(self._host, name, call)
        except Exception as error:  # noqa: BLE001 - the model reads it
            return result_of(_failed(error), count=0)
        self._calls[call["id"]] = running
        loop = asyncio.get_running_loop()
        work = loop.create_task(_body(tool, freeze(args), running), context=Context())
        work.add_done_callback(lambda _: running.told.put_nowait(None))
        try:
            while (told := await running.told.get()) is not None:
                count += 1
                await ctx.session.report_progress(count, message=_json(_joined(told, running.told)))
            changes = running.carrier.changes(running.agent) if running.carrier is not None else None
            return result_of(work.result(), count=count, changes=changes)
        finally:
            self._calls.pop(call["id"], None)
            if not work.done():
                self._end(work, running)

    def _end(self, work: asyncio.Task[ToolOutput], running: RemoteContext) -> None:
        """Abort a tool whose caller is gone, and cancel it when it does not listen."""
        self._left.add(work)
        work.add_done_callback(self._left.discard)
        asyncio.get_running_loop().call_later(_GRACE, work.cancel)
        running.signal.abort("the caller is gone")
        for question in running.asked.values():
            question.cancel()

    async def close(self) -> None:
        """Abort what runs, and wait for its end."""
        for running in self._calls.values():
            running.signal.abort("the executor ends")
        while self._left:
            await asyncio.wait(set(self._left), timeout=_GRACE)
        if self._given is None and self._host is not None:
            await self._host.aclose()


def _joined(told: dict[str, Any], queue: asyncio.Queue[dict[str, Any] | None]) -> dict[str, Any]:
    """Return an item with the output of the same stream that waits behind it."""
    waiting: Any = getattr(queue, "_queue")  # noqa: B009 - asyncio has no way to look at the next item
    while "output" in told and waiting and waiting[0] and waiting[0].get("stream") == told["stream"]:
        told = {**told, "output": told["output"] + queue.get_nowait()["output"]}  # type: ignore[index]
    return told


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=True)


async def _body(tool: Tool, args: Mapping[str, Any], ctx: RemoteContext) -> ToolOutput:
    try:
        return await IN_PROCESS.execute(tool, args, ctx)
    except Exception as error:  # noqa: BLE001 - a tool's failure is a result (spec, section 9.20)
        return _failed(error)


def _failed(error: Exception) -> ToolOutput:
    return ToolOutput(str(error) if isinstance(error, SkillKitError) else in_words(error), is_error=True)
