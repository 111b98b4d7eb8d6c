"""The items of an isolated plugin, as the host has them: tools, providers, runtimes, compactors, models, settings and others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from skillkit_core import (
    AbortSignal,
    CompactionRequest,
    CompactionResult,
    Compactor,
    ConfigSection,
    ContextProvider,
    ErrorKind,
    ExecutionResult,
    Factory,
    LLMAdapter,
    LLMRequest,
    ModelDefinition,
    PluginError,
    Provider,
    ProviderError,
    SkillRuntime,
    StreamEvent,
    Survey,
    Suspended,
    Tool,
    ToolError,
    ToolOutput,
    TurnStartResult,
    thaw,
)
from skillkit_core.events.results import Unset

from .connection import Asked, Call, Connection, Gone, TooLate
from .values import pack

__all__ = ["MAKERS", "Plugin", "with_own_tools"]


class Plugin(Protocol):
    """The isolated plugin of an item.

    Attributes:
        secrets: the names of the variables that the plugin declares.
        hook_seconds: for one registration.
    """

    name: str
    secrets: Sequence[str]
    hook_seconds: float
    connection: Connection

    def asked(self, agent: Any, more: Callable[[str, Any], Any] | None = None) -> Asked:
        """Return what answers the questions of a request that an agent makes."""

    def asked_now(self, agent: Any) -> Asked:
        """Return what answers them without a loop."""

    def where(self, agent: Any, event: Any = None) -> dict[str, Any]:
        """Return what the process is told of an agent."""


def with_own_tools(answer: Any, event: Any) -> Any:
    """Return an answer whose tools are those of the event by the same names, with their bodies.

    Raises:
        PluginError: the answer names a tool that the event does not have.
    """
    if not isinstance(answer, TurnStartResult) or isinstance(answer.tools, Unset):
        return answer
    own = {tool.name: tool for tool in event.tools}
    if unknown := [tool.name for tool in answer.tools if tool.name not in own]:
        raise PluginError(f"an isolated plugin cannot offer the tool {unknown[0]!r} for one turn", hint="register it")
    return replace(answer, tools=[own[tool.name] for tool in answer.tools])


# --- tools ------------------------------------------------------------------------------------------------------------


def _tool(plugin: Plugin, tool: Tool) -> Tool:
    """Return a tool whose body the process runs."""

    async def execute(args: Mapping[str, Any], ctx: Any) -> ToolOutput | str:
        waits: list[Suspended] = []

        async def asked(what: str, body: Any) -> Any:
            if what != "survey":
                raise PluginError(f"nobody answers {what!r} here")
            try:
                given = await ctx.ask(Survey.from_dict(thaw(body[0])), wait=bool(body[1]))
            except Suspended as waiting:
                waits.append(waiting)
                call.abort("the call waits for an answer")
                raise
            return {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()} if given is not None else None

        facts = {
            "tool_name": ctx.tool_name,
            "tool_call_id": ctx.tool_call_id,
            "cwd": str(ctx.cwd),
            "session_id": ctx.session_id,
            "run_id": ctx.run_id,
            "idempotency_key": ctx.idempotency_key,
            "agent_path": list(ctx.agent_path),
            "answer": thaw(ctx.answer) if ctx.answer is not None else None,
        }
        message = {"do": "tool", "name": tool.name, "args": pack(args), "call": facts, "ctx": plugin.where(ctx.agent)}
        call = Call(plugin.connection, message, plugin.asked(ctx.agent, asked))
        remove = ctx.signal.add_callback(lambda: call.abort(ctx.signal.reason or "aborted"))
        try:
            async with aclosing(call.__aiter__()) as pieces:
                async for output, stream in pieces:
                    ctx.on_output(output, stream)
        except asyncio.CancelledError:
            await call.settled()  # the tool ends its processes before the call is over
            raise
        except Gone as gone:
            raise ToolError(
                f"the process of plugin {plugin.name!r} ended while {tool.name!r} ran: {gone.message}. Nobody knows how far the "
                "call came, and it was not made again: look at what it did before you repeat it."
            ) from None
        except Exception as error:  # noqa: BLE001 - what the plugin raises is the result of the call
            if waits:
                raise waits[0] from None
            raise ToolError(str(error)) from None
        finally:
            remove()
        if waits:
            raise waits[0]
        found: ToolOutput | str = call.value
        return found

    return replace(tool, execute=execute)


# --- providers --------------------------------------------------------------------------------------------------------


class IsolatedAdapter(LLMAdapter):
    """An adapter that the process has. A process that ends is a connection that breaks."""

    def __init__(self, plugin: Plugin, name: str, api: str, options: Mapping[str, Any]) -> None:
        self.provider = name
        self._plugin = plugin
        self._about = {"provider": name, "api": api, "options": dict(options)}

    def _message(self, do: str, request: LLMRequest | None = None) -> dict[str, Any]:
        if request is None:
            return {"do": do, **self._about}
        told = {
            "model": request.model,
            "messages": list(request.messages),
            "tools": request.tools,
            "system": request.system,
            "settings": request.settings,
            "stream": request.stream,
            "session_id": request.session_id,
        }
        watched = request.on_request is not None or request.on_response is not None
        return {"do": do, **self._about, "request": pack(told), "watched": watched}

    def _call(self, do: str, request: LLMRequest | None = None) -> Call:
        async def asked(what: str, body: Any) -> Any:
            if what == "on_request" and request is not None:
                if request.on_request is None:
                    return body
                return list(await request.on_request(body[0], body[1]))
            if what == "on_response" and request is not None:
                if request.on_response is not None:
                    await request.on_response(body[0], body[1])
                return None
            raise PluginError(f"nobody answers {what!r} here")

        return Call(self._plugin.connection, self._message(do, request), self._plugin.asked(None, asked))

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Ask the model, in the process."""
        call = self._call("stream", request)
        remove = request.signal.add_callback(lambda: call.abort(request.signal.reason or "aborted"))
        try:
            async with aclosing(call.__aiter__()) as pieces:
                async for event in pieces:
                    yield event
                    if event.terminal:
                        return
            raise ProviderError("the stream of an isolated plugin has no end", kind=ErrorKind.protocol)
        except Exception as error:  # noqa: BLE001 - a stream never raises
            kind = ErrorKind.connection if isinstance(error, Gone) else ErrorKind.unknown
            failed = error if isinstance(error, ProviderError) else ProviderError(str(error), kind=kind)
            yield StreamEvent("error", error=failed)
        finally:
            remove()

    async def _value(self, do: str, request: LLMRequest | None = None) -> Any:
        call = self._call(do, request)
        async for _ in call:
            pass
        return call.value

    async def list_models(self) -> Sequence[ModelDefinition]:
        """Return the models that the endpoint lists."""
        found: Sequence[ModelDefinition] = await self._value("list_models")
        return found

    async def count_tokens(self, request: LLMRequest) -> int | None:
        """Return the input tokens as the endpoint counts them."""
        found: int | None = await self._value("count_tokens", request)
        return found


def _provider(plugin: Plugin, told: Mapping[str, Any]) -> Provider:
    """Return a provider whose adapters the process has.

    Raises:
        PluginError: its keys or its address are beyond what the plugin declares.
    """
    given = {key: value for key, value in told.items() if key != "apis"}
    for name in filter(None, (*given["api_key_env"], given["base_url_env"])):
        if name not in plugin.secrets:
            hint = f"an isolated plugin needs 'needs: {{secrets: [{name}]}}' in its plugin.yaml"
            raise PluginError(
                f"the variable {name} of provider {given['name']!r} is beyond what it declares", hint=hint
            )
    apis = {api: _maker(plugin, given["name"], api, facts) for api, facts in told["apis"].items()}
    return Provider(apis=apis, **{**given, "options": {}})  # its options stay in the process


def _maker(plugin: Plugin, name: str, api: str, facts: Mapping[str, Any]) -> Callable[..., LLMAdapter]:
    cls = type("IsolatedAdapter", (IsolatedAdapter,), {"api": api, "progressive": bool(facts["progressive"])})

    def make(host: Any, *, provider: str, **options: Any) -> LLMAdapter:
        made: LLMAdapter = cls(plugin, name, api, options)
        return made

    return make


# --- compactors and credentials ---------------------------------------------------------------------------------------


class IsolatedCompactor(Compactor):
    """A compactor that the process has. It counts tokens and asks the model by way of the host."""

    def __init__(self, plugin: Plugin, name: str) -> None:
        self._plugin = plugin
        self._name = name

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """Shorten a history, in the process."""

        def named(messages: Sequence[Any]) -> list[Any]:
            """Return messages of which those of the request are said by number."""
            return [request.messages[m] if isinstance(m, int) else m for m in messages]

        failed: list[Exception] = []

        async def asked(what: str, body: Any) -> Any:
            try:
                if what == "estimate":
                    return request.estimate(named(body))
                if what == "complete":
                    return await request.complete(str(body[0]), named(body[1]))
            except Exception as error:
                failed.append(error)
                raise
            raise PluginError(f"nobody answers {what!r} here")

        fields = ("messages", "model", "reason", "tokens", "window", "budget")
        told = {name: pack(getattr(request, name)) for name in fields}
        message = {"do": "compact", "name": self._name, "request": told}
        call = Call(self._plugin.connection, message, self._plugin.asked(None, asked))
        remove = request.signal.add_callback(lambda: call.abort(request.signal.reason or "aborted"))
        try:
            async for _ in call:
                pass
        except Exception:
            if failed:
                raise failed[-1] from None  # what the model's request failed of, as it was here
            raise
        finally:
            remove()
        if call.value is not None and not isinstance(call.value, CompactionResult):
            raise PluginError(f"the compactor {self._name!r} answered with a {type(call.value).__name__}")
        return call.value


def _compactor(plugin: Plugin, told: Mapping[str, Any]) -> Factory:
    name = str(told["name"])
    return Factory(name, lambda host: IsolatedCompactor(plugin, name), str(told["description"]))


class IsolatedCredentials:
    """A source of secrets that the process has. Whoever asks waits for it, at most as long as for any hook of the host."""

    def __init__(self, plugin: Plugin, name: str) -> None:
        self._plugin = plugin
        self._name = name

    def get(self, name: str) -> str | None:
        """Return a secret, or ``None``."""
        message = {"do": "credential", "name": self._name, "secret": name}
        found = self._plugin.connection.ask(message, self._plugin.hook_seconds, self._plugin.asked_now(None))
        if found is not None and not isinstance(found, str):
            raise PluginError(f"the source {self._name!r} answered with a {type(found).__name__}")
        return found


def _credentials(plugin: Plugin, told: Mapping[str, Any]) -> Factory:
    name = str(told["name"])
    return Factory(name, lambda host: IsolatedCredentials(plugin, name), str(told["description"]))


# --- the rest ---------------------------------------------------------------------------------------------------------


class IsolatedRuntime(SkillRuntime):
    """A runtime that the process has."""

    def __init__(self, plugin: Plugin, name: str) -> None:
        self._plugin = plugin
        self._name = name

    async def execute(
        self,
        command: str | Sequence[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: Callable[[str], None] | None = None,
        *,
        on_error_output: Callable[[str], None] | None = None,
        signal: AbortSignal | None = None,
        stdin: bytes | None = None,
        max_output: int = 256 * 1024,
    ) -> ExecutionResult:
        """Run a command, in the process."""
        shows = {"on_output": on_output, "on_error_output": on_error_output}
        given = {
            "command": command if isinstance(command, str) else tuple(command),
            "cwd": cwd,
            "env": env,
            "timeout": timeout,
            "stdin": stdin,
            "max_output": max_output,
        }
        outputs = [name for name, show in shows.items() if show is not None]
        message = {"do": "run", "name": self._name, "given": pack(given), "outputs": outputs}
        call = Call(self._plugin.connection, message, self._plugin.asked(None))
        remove = signal.add_callback(lambda: call.abort("aborted")) if signal is not None else None
        try:
            async with aclosing(call.__aiter__()) as pieces:
                async for name, text in pieces:
                    if (show := shows.get(name)) is not None:
                        show(text)
        except asyncio.CancelledError:
            await call.settled()
            raise
        except Gone as gone:
            raise ToolError(f"the process of plugin {self._plugin.name!r} ended: {gone.message}") from None
        finally:
            if remove is not None:
                remove()
        found: ExecutionResult = call.value
        return found


def _runtime(plugin: Plugin, told: Mapping[str, Any]) -> Factory:
    name = str(told["name"])
    return Factory(name, lambda host: IsolatedRuntime(plugin, name), str(told["description"]))


def _section(plugin: Plugin, told: Mapping[str, Any]) -> ConfigSection:
    """Return a section that knows the names of its settings. Their values are checked in the process."""
    from pydantic import ConfigDict, Field, create_model

    settings: dict[str, Any] = {
        name: (Any, Field(default, description=words)) for name, default, words in told["fields"]
    }
    strict = ConfigDict(extra="forbid", frozen=True)
    return ConfigSection(told["name"], create_model("IsolatedConfig", __config__=strict, **settings))


def _part(plugin: Plugin, told: Mapping[str, Any]) -> ContextProvider:
    """Return a part of the system prompt, which the run waits for."""

    def provide(agent: Any) -> str | None:
        message = {"do": "context", "name": told["name"], "ctx": plugin.where(agent)}
        try:
            found: str | None = plugin.connection.ask(message, plugin.hook_seconds, plugin.asked_now(agent))
        except (Gone, TooLate) as error:
            raise PluginError(f"no part of the prompt came of plugin {plugin.name!r}: {error.message}") from None
        return found

    return ContextProvider(told["name"], provide, int(told["order"]))


MAKERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "adapters": _provider,
    "compactors": _compactor,
    "config": _section,
    "context_providers": _part,
    "credentials": _credentials,
    "models": lambda plugin, told: told,
    "runtimes": _runtime,
    "tools": _tool,
}
"""For each kind what makes an item of what the process tells."""
