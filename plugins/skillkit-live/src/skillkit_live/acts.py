"""What a client can ask of a live session, by the names of the protocol: each with JSON in and out."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from pydantic import ValidationError

from skillkit_core import (
    AgentError,
    AgentResponse,
    ApprovalDecision,
    Block,
    DocumentBlock,
    ImageBlock,
    Origin,
    SkillKitError,
    UnknownName,
    UsageError,
    message_to_dict,
)

from . import protocol as p
from .shown import blob_name, entry_json

if TYPE_CHECKING:
    import asyncio

    from skillkit_core import AgentRunner, QueueItem

    from .questions import Given, Outcome, Questions

__all__ = ["Delivery", "RunFailed", "State", "Working", "act", "checked", "state_of"]

Delivery = Literal["auto", "steer", "follow_up"]
State = Literal["idle", "running", "asking", "suspended", "closed"]
T = TypeVar("T")


class Working(Protocol):
    """A live session, as the methods of the protocol need it; :class:`~skillkit_live.Live` says what each part does."""

    agent: AgentRunner
    questions: Questions

    @property
    def state(self) -> State:
        """Return what the session does now."""

    @property
    def endpoint(self) -> str | None:
        """Return the socket at which other processes attach; ``None``: there is none."""

    async def say(self, text: str, *, images: Sequence[Block], origin: Origin, delivery: Delivery) -> str:
        """Say something; return the id of the queued message, empty where a run began."""

    async def prompt(self, text: str, *, images: Sequence[Block] = (), origin: Origin) -> AgentResponse:
        """Say something, and wait for the end of the run."""

    async def resume(
        self, decisions: Mapping[str, ApprovalDecision | Literal["allow", "deny"]], *, origin: Origin
    ) -> AgentResponse:
        """Decide calls that wait, and wait for the end of the run."""

    async def answer(self, question: str, answer: Given, origin: Origin) -> Outcome:
        """Answer a question."""

    async def abort(self, reason: str, origin: Origin) -> list[QueueItem]:
        """End the active run; return the messages that were not said."""

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do something that may begin a run, whoever waits for it."""


class RunFailed(SkillKitError):
    """A run failed after it said something.

    Attributes:
        error: why.
        result: what was said until then.
    """

    def __init__(self, error: AgentError, result: p.RunResult) -> None:
        super().__init__(str(error))
        self.error, self.result = error, result


def checked(method: str, known: Mapping[str, p.Method], params: Any) -> Any:
    """Return the parameters of a method as its type.

    Raises:
        UnknownName: there is no such method. UsageError: the parameters do not fit.
    """
    found = known.get(method)
    if found is None:
        raise UnknownName("method", method, sorted(known))
    try:
        return found.params.model_validate({} if params is None else params)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise UsageError(f"{method}: {place}: {first['msg']}") from None


async def act(live: Working, method: str, params: Any, origin: Origin) -> dict[str, Any]:
    """Do what a method asks; see :meth:`Live.act`."""
    given = checked(method, p.ACTS, params)
    work: Callable[[Working, Any, Origin], Awaitable[p.Result]] = globals()[f"_{method}"]
    return (await work(live, given, origin)).model_dump(mode="json")


# --- speak --------------------------------------------------------------------------------------------------------


async def _prompt(live: Working, params: p.PromptParams, origin: Origin) -> p.RunResult:
    images = [_image(live, image) for image in params.images]
    return await _run(live, live.prompt(params.text, images=images, origin=origin))


async def _say(live: Working, params: p.SayParams, origin: Origin) -> p.QueuedResult:
    images = [_image(live, image) for image in params.images]
    item = await live.say(params.text, images=images, origin=origin, delivery=params.delivery)
    return p.QueuedResult(item=item)


async def _steer(live: Working, params: p.TextParams, origin: Origin) -> p.QueuedResult:
    return p.QueuedResult(item=await live.agent.steer(params.text, origin=origin))


async def _follow_up(live: Working, params: p.TextParams, origin: Origin) -> p.QueuedResult:
    return p.QueuedResult(item=await live.agent.follow_up(params.text, origin=origin))


async def _cancel(live: Working, params: p.CancelParams, origin: Origin) -> p.CancelResult:
    return p.CancelResult(status=live.agent.cancel(params.item))


async def _abort(live: Working, params: p.AbortParams, origin: Origin) -> p.AbortResult:
    unsaid = await live.abort(params.reason or "the client ended it", origin)
    return p.AbortResult(unsaid=[p.QueuedMessage(id=i.id, kind=i.kind, text=i.text) for i in unsaid])


async def _resume(live: Working, params: p.ResumeParams, origin: Origin) -> p.RunResult:
    return await _run(live, live.resume(dict(params.decisions), origin=origin))


async def _answer(live: Working, params: p.AnswerParams, origin: Origin) -> p.AnswerResult:
    given: ApprovalDecision | Mapping[str, Any] | None = params.answers
    if params.decision is not None:
        given = ApprovalDecision(params.decision, params.reason, params.remember, params.answers)
    outcome = await live.answer(params.question, given, origin)
    by = live.questions.by(params.question)
    return p.AnswerResult(outcome=outcome, by=by.to_dict() if by is not None else None)


async def _run(live: Working, work: Awaitable[AgentResponse]) -> p.RunResult:
    """Wait for the end of a run; one that failed after it said something is an error that carries the response."""
    try:
        response = await work
    except AgentError as error:
        if error.response is None:
            raise
        raise RunFailed(error, _ended(live, error.response)) from error
    return _ended(live, response)


def _ended(live: Working, response: AgentResponse) -> p.RunResult:
    return p.RunResult(**response.to_dict(), reason=response.reason, waiting=_waiting(live))


def _image(live: Working, image: p.Image) -> ImageBlock:
    from skillkit_frontend import image_from_file

    if (image.path is None) == (image.data is None):
        raise UsageError("an image needs either 'path' or 'data'")
    if image.path is not None:
        return image_from_file(live.agent.cwd / image.path)
    try:
        base64.b64decode(image.data or "", validate=True)
    except (ValueError, binascii.Error):
        raise UsageError("the data of an image must be base64") from None
    return ImageBlock(data=image.data or "", mime_type=image.media_type or "image/png")


# --- look ---------------------------------------------------------------------------------------------------------


def state_of(live: Working) -> p.State:
    """Return where the agent of a session stands."""
    agent, session, target = live.agent, live.agent.session, live.agent.target
    model = agent.config.model
    named = model if isinstance(model, str) or model is None else str(model.id)
    return p.State(
        running=agent.running,
        state=live.state,
        session=session.id,
        session_path=session.location,
        endpoint=live.endpoint,
        messages=len(session.messages),
        model=target.model.id if target is not None else named,
        provider=target.model.provider if target is not None else agent.config.provider,
        cwd=str(agent.cwd),
        tools=[tool.name for tool in agent.tools],
        waiting=_waiting(live),
        usage=p.Usage(**session.usage.to_dict()),
        cost=session.cost,
    )


def _waiting(live: Working) -> list[p.WaitingCall]:
    now = live.agent.suspension
    calls = now.calls if now is not None else ()
    return [
        p.WaitingCall(
            id=call.id,
            tool=call.name,
            args=json.loads(json.dumps(call.args, default=dict)),
            questions=[p.AskedBy(text=q.text, plugin=q.plugin, rule=q.rule) for q in call.questions],
        )
        for call in calls
    ]


async def _state(live: Working, params: p.Nothing, origin: Origin) -> p.State:
    return state_of(live)


async def _messages(live: Working, params: p.Nothing, origin: Origin) -> p.MessagesResult:
    return p.MessagesResult(messages=[message_to_dict(m) for m in live.agent.messages])


async def _entries(live: Working, params: p.Nothing, origin: Origin) -> p.EntriesResult:
    session = live.agent.session
    return p.EntriesResult(leaf=session.leaf_id, entries=[entry_json(entry) for entry in session.entries])


async def _blob(live: Working, params: p.BlobParams, origin: Origin) -> p.BlobResult:
    for message in reversed(live.agent.messages):
        for block in message.content:
            if isinstance(block, (ImageBlock, DocumentBlock)) and block.data and blob_name(block) == params.blob:
                return p.BlobResult(data=block.data, media_type=block.mime_type)
    raise UsageError(f"the conversation holds no {params.blob!r}")


async def _models(live: Working, params: p.ModelsParams, origin: Origin) -> p.ModelsResult:
    models = live.agent.host.models
    found = models.find(params.query) if params.query else models.items()
    return p.ModelsResult(models=[m.to_dict() for m in found])


# --- change -------------------------------------------------------------------------------------------------------


async def _fork(live: Working, params: p.EntryParams, origin: Origin) -> p.State:
    await (live.agent.fork(params.entry) if params.entry is not None else live.agent.fork())
    return state_of(live)


async def _move(live: Working, params: p.EntryParams, origin: Origin) -> p.State:
    await live.agent.move_to(params.entry)
    return state_of(live)


async def _set_model(live: Working, params: p.ModelParams, origin: Origin) -> p.State:
    live.agent.set_model(params.model, params.provider)
    return state_of(live)


async def _compact(live: Working, params: p.Nothing, origin: Origin) -> p.CompactResult:
    return p.CompactResult(compacted=await live.begin(live.agent.compact()))


async def _commands(live: Working, params: p.Nothing, origin: Origin) -> p.CommandsResult:
    from skillkit_commands import SlashCommands

    found = SlashCommands(live.agent).all()
    return p.CommandsResult(
        commands=[p.CommandInfo(name=c.name, arguments=c.arguments, help=c.help, origin=c.origin) for c in found]
    )


async def _complete(live: Working, params: p.LineParams, origin: Origin) -> p.CompletionsResult:
    from skillkit_commands import SlashCommands

    found = SlashCommands(live.agent).complete(params.line)
    return p.CompletionsResult(completions=[p.CompletionInfo(text=c.text, label=c.label, help=c.help) for c in found])


async def _command(live: Working, params: p.LineParams, origin: Origin) -> p.CommandResult:
    from skillkit_commands import Edit, Prompt, SlashCommands

    commands = SlashCommands(live.agent)
    invocation = commands.match(params.line)
    if invocation is None:
        raise UsageError(f"{params.line!r} does not look like a command", hint="write /name, or use 'prompt'")
    answer = await commands.run(invocation)
    if isinstance(answer, Prompt):
        return p.CommandResult(text=None, run=await _run(live, live.prompt(answer.text, origin=origin)))
    if isinstance(answer, Edit):
        return p.CommandResult(text=f"Edit {answer.path}; what is in it counts from then on.", run=None)
    return p.CommandResult(text=answer, run=None)
