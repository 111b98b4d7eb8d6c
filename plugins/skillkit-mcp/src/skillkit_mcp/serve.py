"""SkillKit as an MCP server over stdio: each call runs as a run of an agent, with every guard, limit and event.

No model is asked. The agent's adapter hands the client's call on as if a model had made it, so that a call comes through the
one door that tools have. What a guard asks goes to the client's person, where the client can ask; otherwise the answer is no.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextvars import Context
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    ImageBlock,
    Limits,
    LLMAdapter,
    LLMRequest,
    StopReason,
    StreamEvent,
    Survey,
    TextBlock,
    TokenUsage,
    Tool,
    ToolExecutionUpdateEvent,
    ToolResultMessage,
    UserInterface,
    __version__,
    thaw,
)

from .names import PREFIX
from .text import shortened

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from skillkit_core import Answers, Host
    from skillkit_core.contracts.user_interface import NoticeLevel

__all__ = ["serve"]

_WAITING = 600.0  # seconds for an answer to a question
_ASKED_AT_ONCE = 100
_SHOWN = 4000


class _Relay(LLMAdapter):
    """Makes one call in place of a model, and then ends the run.

    Attributes:
        tools: what the agent offers.
        said: the text of the request, as the agent's plugins made it.
    """

    api = "relay"
    provider = "relay"
    progressive = False

    def __init__(self, name: str | None = None, args: Mapping[str, Any] | None = None) -> None:
        self.tools: tuple[Tool, ...] = ()
        self.said = ""
        self._call = name
        self._args = args or {}

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        self.tools = request.tools
        self.said = next((m.text for m in reversed(request.messages) if m.role == "user"), "")
        name, self._call = self._call, None
        if name is None:
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", "done", index=0)
            yield StreamEvent("text_end", index=0)
            yield StreamEvent("done", stop_reason=StopReason.stop, usage=TokenUsage())
            return
        about: dict[str, Any] = {"index": 0, "tool_name": name, "tool_call_id": f"call_{secrets.token_hex(6)}"}
        yield StreamEvent("tool_call_start", **about)
        yield StreamEvent("tool_call_delta", json.dumps(self._args), **about)
        yield StreamEvent("tool_call_end", **about)
        yield StreamEvent("done", stop_reason=StopReason.tool_calls, usage=TokenUsage())


class _Asked:
    """A question for the client's person, and the answer when it comes."""

    def __init__(self, message: str, schema: dict[str, Any]) -> None:
        self.params = types.ElicitRequestFormParams(message=message[:_SHOWN], requested_schema=schema)
        self.answer: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()

    def settle(self, result: Any) -> None:
        """Take the answer. Whatever is not an acceptance is a refusal."""
        content = result.content if isinstance(result, types.ElicitResult) and result.action == "accept" else None
        if not self.answer.done():
            self.answer.set_result(dict(content) if content is not None else None)


class _Person(Approver, UserInterface):
    """The person at the client: approvals and surveys become questions of the server."""

    def __init__(self, can_ask: bool) -> None:
        self.can_ask = can_ask
        self.questions: asyncio.Queue[_Asked] = asyncio.Queue()

    async def _ask(self, message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        asked = _Asked(message, schema)
        self.questions.put_nowait(asked)
        return await asked.answer

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        why = "; ".join(question.text for question in request.questions)
        if not self.can_ask:
            return ApprovalDecision("deny", f"it would be asked, and this MCP client cannot ask: {why}")
        args = json.dumps(thaw(request.args), ensure_ascii=False, indent=1, default=str)
        choice = {"type": "string", "title": "Decision", "enum": ["allow", "deny"]}
        schema = {"type": "object", "properties": {"decision": choice}, "required": ["decision"]}
        answer = await self._ask(f"{why}\n{request.tool_name} {args}", schema)
        if answer is not None and answer.get("decision") == "allow":
            return ApprovalDecision("allow")
        return ApprovalDecision("deny", "a person at the MCP client said no")

    async def ask(self, survey: Survey) -> Answers | None:
        kinds = {question.kind for question in survey.questions}
        if not self.can_ask or "secret" in kinds:
            return None  # a secret does not belong into a form of another program
        properties = {question.id: _property(question) for question in survey.questions}
        required = [question.id for question in survey.questions if question.required and question.default is None]
        schema = {"type": "object", "properties": properties, "required": required}
        answer = await self._ask(f"{survey.title}\n{survey.text}".strip(), schema)
        return survey.answer(answer) if answer is not None else None

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        return None  # the protocol of today has nothing for it


def _property(question: Any) -> dict[str, Any]:
    """Return a question as a field of a form."""
    found: dict[str, Any] = {"title": shortened(question.text, 200)}
    values = [option.value for option in question.options]
    if question.kind == "confirm":
        found |= {"type": "boolean"}
    elif question.kind == "choice":
        found |= {"type": "string", "enum": values, "enumNames": [option.label for option in question.options]}
    elif question.kind == "choices":
        found |= {"type": "array", "items": {"type": "string", "enum": values}}
    else:
        found |= {"type": "string"}
    if question.default is not None:
        found["default"] = list(question.default) if isinstance(question.default, tuple) else question.default
    return found


class _Running:
    """A call that runs: the task, and the question that it waits for."""

    def __init__(
        self, name: str, args: Mapping[str, Any], person: _Person, task: asyncio.Task[types.CallToolResult]
    ) -> None:
        self.of = (name, json.dumps(args, sort_keys=True))
        self.person = person
        self.task = task
        self.asked: _Asked | None = None
        self.timer: asyncio.TimerHandle | None = None

    async def next(self) -> _Asked | types.CallToolResult:
        """Return the next question, or the result."""
        question = asyncio.ensure_future(self.person.questions.get())
        try:
            await asyncio.wait({question, self.task}, return_when=asyncio.FIRST_COMPLETED)
            if question.done() and not self.task.done():
                self.asked = question.result()
                return self.asked
            return self.task.result()
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        finally:
            question.cancel()


class SkillKitServer:
    """Offers the tools of a host's agents, and its skills as prompts.

    Args:
        host: whose tools.
        patterns: which tools; empty: all but those of other MCP servers.
    """

    def __init__(self, host: Host, patterns: tuple[str, ...] = ()) -> None:
        self.host = host
        self._patterns = patterns
        self._waiting: dict[str, _Running] = {}
        self.server: Server[Any] = Server(
            "skillkit",
            version=__version__,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    def _offers(self, name: str) -> bool:
        if self._patterns:
            return any(fnmatchcase(name, pattern) for pattern in self._patterns)
        return not name.startswith(PREFIX)

    async def _relay(self, text: str) -> _Relay:
        """Return a relay that has seen a request with this text."""
        relay = _Relay()
        async with AgentRunner(AgentConfig(limits=Limits(turns=1)), host=self.host) as agent:
            agent.set_adapter(relay)
            await agent.chat(text)
        return relay

    async def list_tools(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        relay = await self._relay("List the tools.")
        tools = [_as_mcp(tool) for tool in relay.tools if self._offers(tool.name)]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        name, args = params.name, params.arguments or {}
        if not self._offers(name):
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {name!r}")
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        running = (
            self._resumed(params, args) if modern and params.request_state is not None else self._begin(ctx, name, args)
        )
        while True:
            found = await running.next()
            if isinstance(found, types.CallToolResult):
                return found
            if modern:
                return self._suspend(running, found)
            try:
                found.settle(
                    await ctx.session.elicit_form(found.params.message, found.params.requested_schema, ctx.request_id)
                )
            except MCPError:
                found.settle(None)

    def _begin(self, ctx: ServerRequestContext[Any, Any], name: str, args: dict[str, Any]) -> _Running:
        offers = ctx.session.client_capabilities
        person = _Person(offers is not None and offers.elicitation is not None)
        task = asyncio.get_running_loop().create_task(self._run(ctx, name, args, person), context=Context())
        return _Running(name, args, person, task)

    def _suspend(self, running: _Running, asked: _Asked) -> types.InputRequiredResult:
        """Return the question as a result: the client calls again with the answer."""
        if len(self._waiting) >= _ASKED_AT_ONCE:
            running.task.cancel()
            raise MCPError(types.INTERNAL_ERROR, "too many calls wait for an answer")
        state = secrets.token_urlsafe(24)
        self._waiting[state] = running

        def give_up() -> None:
            if self._waiting.pop(state, None) is not None:
                running.task.cancel()

        running.timer = asyncio.get_running_loop().call_later(_WAITING, give_up)
        request = types.ElicitRequest(params=asked.params)
        return types.InputRequiredResult(input_requests={"question": request}, request_state=state)

    def _resumed(self, params: types.CallToolRequestParams, args: dict[str, Any]) -> _Running:
        """Return the call that waits for the answer in a request."""
        running = self._waiting.pop(params.request_state or "", None)
        if running is None or running.of != (params.name, json.dumps(args, sort_keys=True)):
            raise MCPError(types.INVALID_PARAMS, "no call waits for this answer")
        if running.timer is not None:
            running.timer.cancel()
        if running.asked is not None:
            running.asked.settle((params.input_responses or {}).get("question"))
        return running

    async def _run(
        self, ctx: ServerRequestContext[Any, Any], name: str, args: dict[str, Any], person: _Person
    ) -> types.CallToolResult:
        """Run one call as a run of an agent."""
        config = AgentConfig(limits=Limits(turns=2), approver=person, ui=person)
        async with AgentRunner(config, host=self.host) as agent:
            agent.set_adapter(_Relay(name, args))
            told = 0

            async def progress(event: ToolExecutionUpdateEvent) -> None:
                nonlocal told
                told += 1
                await ctx.session.report_progress(told, message=shortened(event.output, 2000))

            agent.events.on("tool_execution_update", progress)
            try:
                await agent.chat(f"Call {name}.")
            except AgentError as error:
                return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
            result = next((m for m in reversed(agent.messages) if isinstance(m, ToolResultMessage)), None)
        if result is None:
            return types.CallToolResult(content=[types.TextContent(text="the call has no result")], is_error=True)
        return types.CallToolResult(content=_content(result), is_error=result.is_error)

    async def list_prompts(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        argument = types.PromptArgument(name="arguments", description="What follows the skill's name.", required=False)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=skill.name, description=shortened(skill.description, 1000), arguments=[argument])
                for skill in map(self.host.skills.get, self.host.skills)
            ]
        )

    async def get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if not self.host.skills.has(params.name):
            raise MCPError(types.INVALID_PARAMS, f"there is no skill {params.name!r}")
        relay = await self._relay(f"/{params.name} {(params.arguments or {}).get('arguments', '')}".strip())
        return types.GetPromptResult(
            messages=[types.PromptMessage(role="user", content=types.TextContent(text=relay.said))]
        )

    def close(self) -> None:
        """Cancel the calls that wait for an answer."""
        while self._waiting:
            _, running = self._waiting.popitem()
            running.task.cancel()


def _as_mcp(tool: Tool) -> types.Tool:
    mutates = tool.annotations.get("mutates")
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema={**thaw(tool.parameters), "type": "object"},
        annotations=types.ToolAnnotations(read_only_hint=True) if mutates == "none" else None,
    )


def _content(result: ToolResultMessage) -> list[types.ContentBlock]:
    parts: list[types.ContentBlock] = []
    for block in result.content:
        if isinstance(block, TextBlock):
            parts.append(types.TextContent(text=block.text))
        elif isinstance(block, ImageBlock) and block.data:
            parts.append(types.ImageContent(data=block.data, mime_type=block.mime_type))
        else:
            parts.append(types.TextContent(text=f"[{block.type}, not shown]"))
    return parts


async def serve(host: Host, patterns: tuple[str, ...] = ()) -> None:
    """Serve on stdin and stdout until the client ends the connection."""
    offered = SkillKitServer(host, patterns)
    server = offered.server
    try:
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
    finally:
        offered.close()
        await host.aclose()
