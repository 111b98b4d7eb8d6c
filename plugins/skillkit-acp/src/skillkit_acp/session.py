"""One conversation of the editor: a live session, told to the editor, which asks, decides, chooses and cancels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from acp import RequestError, schema as s
from skillkit_commands import Prompt, SlashCommands, context_tokens
from skillkit_live import FellBehind

from skillkit_core import (
    AgentError,
    AgentResponse,
    Origin,
    RunAborted,
    SkillKitError,
    StopReason,
    Survey,
    TokenUsage,
    UsageError,
    message_from_dict,
)

from .choices import choose, commands_of, mode_now, options_of, set_mode
from .forms import answers_of, can_be_asked, form_for, message_of
from .permissions import decision_of, options_for
from .prompts import Said
from .telling import Telling, message_updates

if TYPE_CHECKING:
    from acp.interfaces import Client
    from skillkit_live import Live, Message

    from .servers import Servers

__all__ = ["EditorSession"]

log = logging.getLogger("skillkit.acp")
_EDITORS = {"/new": "begin another conversation in the editor", "/resume": "open a conversation of the editor's list"}


class EditorSession:
    """A session that the editor has open.

    Args:
        client: the editor.
        live: the session.
        origin: who speaks and decides there.
        answers: the kinds of questions that the editor answers.
        servers: the MCP servers of the editor.

    Attributes:
        id: the name under which the editor knows it.
    """

    def __init__(
        self, client: Client, live: Live, origin: Origin, answers: Sequence[str], servers: Servers | None
    ) -> None:
        self.id, self.live, self.servers = live.id, live, servers
        self._client, self._origin, self._answers = client, origin, tuple(answers)
        self.telling = Telling(live.agent)
        self._follows = live.attach(live.last, answers=self._answers)
        self._told, self._progress = live.last, asyncio.Event()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._work: asyncio.Task[Any] | None = None
        self._cancelled = False
        self._mode = mode_now(live.agent)
        self._title = ""

    # --- telling ----------------------------------------------------------------------------------------------

    def begin(self, problems: Sequence[str] = ()) -> None:
        """Tell the editor of problems, which commands there are, what waits for an answer, and what happens from now on."""
        self._pump = asyncio.get_running_loop().create_task(self._follow(problems))

    async def replay(self) -> None:
        """Tell the editor everything that was said."""
        session = self.live.agent.session
        messages = [
            message_from_dict(entry.data["message"], entry.ts)
            for entry in session.path()
            if entry.type in ("message", "custom_message") and "message" in entry.data
        ]
        for update in message_updates(self.telling, messages, self._waiting_calls()):
            await self._tell(update)
        await self._tell_books()

    def _waiting_calls(self) -> list[str]:
        return [str(question.get("tool_call_id")) for question in self.live.waiting()]

    async def _follow(self, problems: Sequence[str]) -> None:
        """Tell messages of the session as fast as the editor reads them."""
        try:
            for problem in problems:
                await self.note(problem)
            await self._tell(
                s.AvailableCommandsUpdate(
                    session_update="available_commands_update", available_commands=commands_of(self.live.agent)
                )
            )
            for question in self.live.waiting():
                await self._question(question)
            while True:
                try:
                    async for message in self._follows:
                        await self._show(message)
                        self._told = message.id
                        self._progress.set()
                    return
                except FellBehind as behind:
                    self._follows = self.live.attach(behind.after, answers=self._answers)
        except ConnectionError:
            return  # the editor is gone
        finally:
            self._told = ""
            self._progress.set()

    async def _show(self, message: Message) -> None:
        match message.type:
            case "event":
                event = message.data["event"]
                for update in self.telling.updates(event):
                    await self._tell(update)
                if tuple(event["agent_path"]) == ("main",):
                    await self._noticed(event["type"])
            case "question":
                await self._question(message.data["question"])
            case "question_answered" | "question_withdrawn":
                if (task := self._asking.pop(message.data["question"], None)) is not None:
                    task.cancel()
            case "notice":
                await self.note(message.data["text"])
            case "snapshot":
                for question in message.data["questions"]:
                    await self._question(question)

    async def _noticed(self, kind: str) -> None:
        """Do what follows from an event of the agent itself."""
        if kind == "agent_start" and self._cancelled:
            self.live.agent.abort("the person cancelled it")
        elif kind == "turn_end":
            await self._tell_books()
        elif kind == "agent_settled":
            for update in self.telling.left(self._waiting_calls()):
                await self._tell(update)
            await self._tell_books()

    async def _tell_books(self) -> None:
        """Tell what the session used, its title, and the mode where it is another one."""
        agent = self.live.agent
        window = agent.target.model.context_window if agent.target is not None else 0
        if window and agent.session.messages:
            cost = s.Cost(amount=agent.session.cost, currency="USD") if agent.session.cost else None
            used = context_tokens(agent)
            await self._tell(s.UsageUpdate(session_update="usage_update", used=used, size=window, cost=cost))
        titles = [
            str(e.data["title"]) for e in agent.session.entries if e.type == "session_info" and e.data.get("title")
        ]
        if titles and titles[-1] != self._title:
            self._title = titles[-1]
            await self._tell(s.SessionInfoUpdate(session_update="session_info_update", title=self._title))
        await self.tell_mode()

    async def tell_mode(self) -> None:
        """Tell the editor the mode where it is another one than it knows."""
        if (mode := mode_now(self.live.agent)) != self._mode:
            self._mode = mode
            await self._tell(s.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))
            options = await options_of(self.live.agent)
            await self._tell(s.ConfigOptionUpdate(session_update="config_option_update", config_options=options))

    async def note(self, text: str) -> None:
        """Show a text that no model said: a line as a quotation, several as they stand."""
        text = text.strip("\n")
        await self._say(f"```text\n{text}\n```\n\n" if "\n" in text else f"> {text}\n\n")

    async def _say(self, text: str) -> None:
        block = s.TextContentBlock(type="text", text=text)
        await self._tell(s.AgentMessageChunk(session_update="agent_message_chunk", content=block))

    async def _tell(self, update: Any) -> None:
        await self._client.session_update(session_id=self.id, update=update)

    async def _caught_up(self) -> None:
        """Wait until the editor was told what has happened up to now."""
        number = int(self.live.last.rpartition(".")[2])
        while self._pump is not None and not self._pump.done() and self._told:
            if int(self._told.rpartition(".")[2]) >= number:
                return
            self._progress.clear()
            await self._progress.wait()

    async def show_terminal(self, call: str, terminal: str) -> None:
        """Show the terminal in which a call runs, once the call is shown."""
        await self._caught_up()
        await self._tell(self.telling.in_terminal(call, terminal))

    # --- questions --------------------------------------------------------------------------------------------

    async def _question(self, question: Mapping[str, Any]) -> None:
        """Ask the person, beside what goes on."""
        if question["id"] in self._asking or question["kind"] not in self._answers:
            return
        work: Awaitable[None]
        if question["kind"] == "approval":
            told, call = self.telling.asked(question)
            for update in told:
                await self._tell(update)
            work = self._approve(question, call)
        else:
            work = self._survey(question["id"], Survey.from_dict(question["survey"]))
        self._asking[question["id"]] = asyncio.ensure_future(self._answered(question, work))

    async def _answered(self, question: Mapping[str, Any], work: Awaitable[None]) -> None:
        try:
            await work
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the editor answers: nobody waits for ever
            log.warning("the editor did not answer a question: %s", error)
            with suppress(SkillKitError):
                given = decision_of(s.DeniedOutcome(outcome="cancelled")) if question["kind"] == "approval" else None
                await self.live.answer(question["id"], given, self._origin)

    async def _approve(self, question: Mapping[str, Any], call: s.ToolCallUpdate) -> None:
        answer = await self._client.request_permission(
            session_id=self.id, tool_call=call, options=options_for(question)
        )
        await self.live.answer(question["id"], decision_of(answer.outcome), self._origin)

    async def _survey(self, question: str, survey: Survey) -> None:
        """Ask the questions of a survey until the answers fit, or the person declines them."""
        problem = ""
        while True:
            content = await self._form(survey, problem) if can_be_asked(survey) else None
            if content is None:
                if not can_be_asked(survey):
                    await self.note(f"{survey.title}: a secret is asked for, which no form of an editor may ask.")
                await self.live.answer(question, None, self._origin)
                return
            try:
                await self.live.answer(question, answers_of(survey, content), self._origin)
                return
            except UsageError as error:
                problem = str(error)

    async def _form(self, survey: Survey, problem: str) -> Mapping[str, Any] | None:
        mode = s.ElicitationFormSessionMode(session_id=self.id, requested_schema=form_for(survey))
        answer = await self._client.create_elicitation(message=message_of(survey, problem), mode=mode)
        return answer.content or {} if isinstance(answer, s.AcceptElicitationResponse) else None

    # --- what a person does -----------------------------------------------------------------------------------

    async def prompt(self, said: Said) -> s.PromptResponse:
        """Do what a person says: call a command, or let the model answer; return how it ended.

        Raises:
            RequestError: something goes on already, or the run failed.
        """
        if self._work is not None and not self._work.done():
            raise RequestError(-32600, "the session answers another prompt; cancel it first")
        self._cancelled, self.telling.spoken = False, False
        self._work = asyncio.ensure_future(self._do(said))
        try:
            ended: s.PromptResponse = await self._work
            return ended
        except (RunAborted, asyncio.CancelledError):
            if not self._cancelled and self._work.cancelled():
                raise
            return s.PromptResponse(stop_reason="cancelled")
        except AgentError as error:
            if self._cancelled:
                return s.PromptResponse(stop_reason="cancelled")
            raise RequestError(-32603, str(error), error.to_dict()) from None
        finally:
            await self._caught_up()

    async def _do(self, said: Said) -> s.PromptResponse:
        agent = self.live.agent
        commands = SlashCommands(agent)
        try:
            invocation = commands.match(said.text.strip())
            if invocation is None:
                return await self._ended(await self.live.prompt(said.text, images=said.blocks, origin=self._origin))
            if (instead := _EDITORS.get(f"/{invocation.command.name}")) is not None:
                raise UsageError(f"/{invocation.command.name} is for terminals", hint=instead)
            answer = await commands.run(invocation)
        except AgentError:
            raise
        except SkillKitError as error:
            await self.note(str(error))
            return s.PromptResponse(stop_reason="end_turn")
        if isinstance(answer, Prompt):
            return await self._ended(await self.live.prompt(answer.text, origin=self._origin))
        if answer is not None:
            told = answer if isinstance(answer, str) else f"Edit {answer.path}; what is in it counts from then on."
            await self.note(told)
        await self._tell_books()
        return s.PromptResponse(stop_reason="end_turn")

    async def _ended(self, response: AgentResponse) -> s.PromptResponse:
        """Tell what a run says beside what the editor has seen; return how it ended."""
        await self._caught_up()
        if response.content and not self.telling.spoken:
            await self._say(response.content)  # a handler answered
        reason: Any = "end_turn"
        if response.outcome == "aborted" or self._cancelled:
            reason = "cancelled"
        elif response.outcome == "limit":
            reason = "max_turn_requests"
            await self.note(response.reason)
        elif response.outcome == "suspended":
            where = f"skillkit sessions resume {self.live.id}"
            await self.note(f"A call waits for a decision. Open the conversation again to decide, or: {where}")
        elif response.stop_reason == StopReason.length:
            reason = "max_tokens"
        elif response.stop_reason == StopReason.refusal:
            reason = "refusal"
        return s.PromptResponse(stop_reason=reason, usage=_usage(response.usage))

    async def cancel(self) -> None:
        """End what goes on; its prompt is answered ``cancelled``."""
        if self._work is None or self._work.done():
            self.live.agent.abort("the person cancelled it")  # a run that somebody else began
            return
        self._cancelled = True
        if self.live.agent.running:
            self.live.agent.abort("the person cancelled it")
        else:
            self._work.cancel()

    async def set_mode(self, mode: str) -> None:
        """Let another mode count; raise as :func:`~skillkit_acp.choices.set_mode`."""
        await set_mode(self.live.agent, mode)
        await self.tell_mode()

    async def choose(self, option: str, value: str | bool) -> list[Any]:
        """Choose a value of an option; return all options as they are then."""
        await choose(self.live.agent, option, value)
        await self.tell_mode()
        return await options_of(self.live.agent)

    # --- the end ----------------------------------------------------------------------------------------------

    async def leave(self, *, close: bool = False) -> None:
        """Tell and ask the editor nothing more. A question stays in the session; anything else that goes on ends.

        Args:
            close: the session ends, too, unless somebody else is there.
        """
        for task in [*self._asking.values(), *([self._pump] if self._pump is not None else [])]:
            task.cancel()
        if self.live.state == "running" and (self.live.clients <= 1 or not close):
            self.live.agent.abort("the editor is gone")
        self._follows.close()
        if self.servers is not None:
            await self.servers.close()
        if close and not self.live.clients:
            await self.live.aclose()


def _usage(used: TokenUsage) -> s.Usage:
    return s.Usage(
        total_tokens=used.total,
        input_tokens=used.input,
        output_tokens=used.output,
        thought_tokens=used.reasoning or None,
        cached_read_tokens=used.cache_read or None,
        cached_write_tokens=used.cache_write or None,
    )
