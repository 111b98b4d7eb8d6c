"""What goes over the wire: the methods with their parameters and results. The JSON Schema is made from these types.

Messages are those of JSON-RPC 2.0 (jsonrpc.org/specification), one a line, UTF-8. A client of version 2 is told everything as
notifications ``message``, by number, once it has asked for it with ``attach``; it answers questions with ``answer``. A client of
version 1 is told events as notifications ``event``, and is asked :data:`CLIENT_METHODS`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ACTS", "CLIENT_METHODS", "ERRORS", "METHODS", "NOTIFICATIONS", "VERSION", "VERSIONS", "Method"]

VERSION = 2
VERSIONS = (1, 2)

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
FAILED, ABORTED, BUSY, IDLE = -32000, -32001, -32002, -32003
ERRORS = {
    PARSE_ERROR: "the line is no JSON",
    INVALID_REQUEST: "the line is no JSON-RPC message",
    METHOD_NOT_FOUND: "there is no such method",
    INVALID_PARAMS: "the parameters do not fit, or name something that is not there",
    INTERNAL_ERROR: "the server made a mistake",
    FAILED: "the run failed, or the call could not be done",
    ABORTED: "the run was aborted",
    BUSY: "a run is active",
    IDLE: "no run is active",
}


class Params(BaseModel):
    """Parameters; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Result(BaseModel):
    """A result; later versions may add fields."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Nothing(Params):
    """No parameters."""


class Done(Result):
    """It was done."""


class Usage(Result):
    """Tokens, in disjoint buckets."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int
    total: int


class ProblemData(Result):
    """An error in the words that the command line uses."""

    type: str
    message: str
    where: str | None = None
    hint: str | None = None


class AskedBy(Result):
    """What a guard asks about a call."""

    text: str
    plugin: str | None = None
    rule: str | None = Field(
        None, description="What the plugin keeps of an answer that is remembered beyond the session."
    )


class WaitingCall(Result):
    """A tool call that waits for a decision."""

    id: str
    tool: str
    args: dict[str, Any]
    questions: list[AskedBy]


class InitializeParams(Params):
    """What the client is and can do."""

    version: int = Field(1, description="The version of the protocol that the client speaks.")
    client: str = Field("", description="The name of the client, for logs.")
    approvals: bool = Field(
        False, description="The client decides about calls; where no client does, what would be asked is denied."
    )
    questions: bool = Field(False, description="The client answers surveys; where no client does, nobody is asked.")


class State(Result):
    """Where the agent stands."""

    running: bool
    state: Literal["idle", "running", "asking", "suspended", "closed"]
    session: str | None
    session_path: str | None = Field(description="Where the session is kept, if that is a place.")
    endpoint: str | None = Field(description="The socket at which other processes attach to the session.")
    messages: int
    model: str | None
    provider: str | None
    cwd: str
    tools: list[str]
    waiting: list[WaitingCall]
    usage: Usage = Field(description="Of the whole session.")
    cost: float = Field(description="US dollars of the whole session, of what has a known price.")


class InitializeResult(Result):
    """What the server is."""

    version: int
    server: str
    state: State


class Image(Params):
    """An image for the model."""

    path: str | None = Field(None, description="A file of the workspace.")
    data: str | None = Field(None, description="The bytes in base64.")
    media_type: str | None = Field(None, description="With data: for example image/png.")


class PromptParams(Params):
    """What a person says."""

    text: str
    images: list[Image] = []


class AttachParams(Params):
    """From where on."""

    after: str | None = Field(None, description="The id of the last message that the client got; none: a snapshot.")


class AttachResult(Result):
    """Where the session stands."""

    last: str = Field(description="The id of the newest message.")


class SayParams(Params):
    """What a person says, now or in a moment."""

    text: str
    images: list[Image] = []
    delivery: Literal["auto", "steer", "follow_up"] = Field(
        "auto", description="auto begins a run, or steers the active one."
    )


class AnswerParams(Params):
    """An answer to a question: a decision about a call, or the answers of a survey."""

    question: str = Field(description="The id of the question.")
    decision: Literal["allow", "deny", "defer"] | None = None
    reason: str = ""
    remember: bool | Literal["session", "project", "ever"] = False
    answers: dict[str, Any] | None = Field(None, description="By id of the question; null declines a survey.")


class AnswerResult(Result):
    """Whether the answer counts."""

    outcome: Literal["taken", "late", "unknown"] = Field(description="late: somebody was faster.")
    by: dict[str, Any] | None = Field(description="Who gave the answer that counts, if that is known.")


class BlobParams(Params):
    """Which image or document."""

    blob: str = Field(description="What stands in a block in place of its data.")


class BlobResult(Result):
    """The bytes in base64."""

    data: str
    media_type: str


class WaitingQuestion(Result):
    """A question that waits for an answer."""

    session: str
    title: str | None
    folder: str
    live: bool = Field(description="The session is open in this process.")
    question: dict[str, Any]


class InboxResult(Result):
    """The questions of all sessions."""

    waiting: list[WaitingQuestion]


class TextParams(Params):
    """What a person says while a run is active."""

    text: str


class RunResult(Result):
    """How a run ended."""

    content: str
    outcome: Literal["completed", "aborted", "failed", "limit", "suspended"]
    stop_reason: str | None
    usage: Usage
    cost: float | None
    session_id: str | None
    run_id: str | None
    reason: str
    waiting: list[WaitingCall]


class QueuedResult(Result):
    """A message that was queued."""

    item: str


class CancelParams(Params):
    """Which queued message."""

    item: str


class CancelResult(Result):
    """What became of it."""

    status: Literal["cancelled", "already_consumed", "already_cleared"]


class AbortParams(Params):
    """Why."""

    reason: str | None = None


class QueuedMessage(Result):
    """A message that nobody has said to the model."""

    id: str
    kind: Literal["steer", "follow_up", "next_run"]
    text: str


class AbortResult(Result):
    """What was not said."""

    unsaid: list[QueuedMessage]


class ResumeParams(Params):
    """Decisions by the id of the call."""

    decisions: dict[str, Literal["allow", "deny"]] = {}


class MessagesResult(Result):
    """The messages of the current branch, as the session keeps them."""

    messages: list[dict[str, Any]]


class EntriesResult(Result):
    """The entries of all branches, in the order in which they were written."""

    leaf: str | None
    entries: list[dict[str, Any]]


class ListParams(Params):
    """How many."""

    limit: int | None = Field(None, ge=1)


class SessionsResult(Result):
    """The sessions, newest first."""

    sessions: list[dict[str, Any]]


class OpenParams(Params):
    """Which session."""

    session: str = Field(description="An id, the start of one, or 'new'.")


class EntryParams(Params):
    """Which entry."""

    entry: str | None = Field(
        None, description="The id of an entry; none: the start of the session (move), the leaf (fork)."
    )


class ModelsParams(Params):
    """Which models."""

    query: str | None = Field(None, description="Words or the start of a name.")


class ModelsResult(Result):
    """The models of the catalog."""

    models: list[dict[str, Any]]


class ModelParams(Params):
    """Who answers from the next request on."""

    model: str
    provider: str | None = None


class CommandInfo(Result):
    """A slash command."""

    name: str
    arguments: str
    help: str
    origin: str


class CommandsResult(Result):
    """The slash commands."""

    commands: list[CommandInfo]


class LineParams(Params):
    """A line that begins with a slash."""

    line: str


class CompletionInfo(Result):
    """What may stand in place of a line."""

    text: str
    label: str
    help: str


class CompletionsResult(Result):
    """Completions of a line."""

    completions: list[CompletionInfo]


class CommandResult(Result):
    """What a command said, or the run of what it asked."""

    text: str | None
    run: RunResult | None


class CompactResult(Result):
    """Whether that freed something."""

    compacted: bool


class ApproveParams(Params):
    """A call that guards ask about."""

    tool_call_id: str
    tool: str
    args: dict[str, Any]
    questions: list[AskedBy]
    agent_path: list[str]
    rememberable: bool = Field(
        description="The answer can be remembered; beyond the session where a question has a rule."
    )
    preview: str | None = Field(None, description="What the call would do, such as a diff, where its tool says it.")


class ApproveResult(Result):
    """The decision."""

    decision: Literal["allow", "deny", "defer"]
    reason: str = ""
    remember: bool | Literal["session", "project", "ever"] = Field(
        False,
        description="How long it holds: false for this call, true or session, project, or ever.",
    )
    answer: dict[str, Any] | None = None


class AskParams(Params):
    """Questions to a person."""

    survey: dict[str, Any] = Field(description="Title, text and questions: id, text, kind, required, options, default.")


class AskResult(Result):
    """The answers by id of the question; null: the person declines."""

    answers: dict[str, Any] | None


class NotifyParams(Params):
    """A text for a person."""

    text: str
    level: Literal["info", "warning", "error"]


class EventParams(Params):
    """An event of the agent; its fields depend on ``type``."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str


class MessageParams(Params):
    """A message of the session; its other fields depend on ``type``."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(description="EPOCH.N: N grows with every message, the epoch is new for each process.")
    type: Literal[
        "snapshot", "event", "question", "question_answered", "question_withdrawn", "notice", "state", "closed"
    ]


class DroppedParams(Params):
    """The client reads too slowly, and is told no more messages until it attaches again."""

    after: str = Field(description="The id of the last message that was sent.")


class WithdrawnParams(Params):
    """A request of the server that needs no answer any more."""

    id: str


class Method(NamedTuple):
    """A method.

    Attributes:
        params: what it takes.
        result: what it gives; ``None``: a notification.
        help: one sentence.
    """

    params: type[Params]
    result: type[Result] | None
    help: str


ACTS = {
    "steer": Method(TextParams, QueuedResult, "Tell the active run something now."),
    "follow_up": Method(TextParams, QueuedResult, "Say something when the active run would end, or with the next one."),
    "cancel": Method(CancelParams, CancelResult, "Take a queued message back."),
    "abort": Method(AbortParams, AbortResult, "End the active run; what was said is kept."),
    "state": Method(Nothing, State, "Tell where the agent stands."),
    "messages": Method(Nothing, MessagesResult, "Give the conversation."),
    "entries": Method(Nothing, EntriesResult, "Give the whole session, all branches."),
    "blob": Method(BlobParams, BlobResult, "Give the data of an image or a document."),
    "fork": Method(EntryParams, State, "Go on in a copy of this session."),
    "move": Method(EntryParams, State, "Go on from another entry of this session."),
    "models": Method(ModelsParams, ModelsResult, "List models."),
    "set_model": Method(ModelParams, State, "Choose who answers from the next request on."),
    "commands": Method(Nothing, CommandsResult, "List the slash commands."),
    "complete": Method(LineParams, CompletionsResult, "Complete a line that begins with a slash."),
    "command": Method(LineParams, CommandResult, "Run a slash command."),
    "compact": Method(Nothing, CompactResult, "Shorten the conversation now."),
    "prompt": Method(PromptParams, RunResult, "Say something; the result comes when the run has ended."),
    "resume": Method(ResumeParams, RunResult, "Decide calls that wait, and go on; or go on after a crash."),
    "say": Method(SayParams, QueuedResult, "Say something; the result comes at once."),
    "answer": Method(AnswerParams, AnswerResult, "Answer a question; the first answer counts."),
}
METHODS = {
    "initialize": Method(
        InitializeParams, InitializeResult, "Say who asks, and what the client answers; before anything else."
    ),
    "attach": Method(AttachParams, AttachResult, "Be told what was missed, else a snapshot, and then what happens."),
    **ACTS,
    "sessions": Method(ListParams, SessionsResult, "List the sessions."),
    "inbox": Method(Nothing, InboxResult, "List the questions that wait, of all sessions."),
    "open": Method(OpenParams, State, "Go on in another session, or in a new one."),
    "shutdown": Method(
        Nothing, Done, "End the run, close the session, and end the process; or leave, once attached to it."
    ),
}
CLIENT_METHODS = {
    "approve": Method(ApproveParams, ApproveResult, "Decide whether a call may run (version 1)."),
    "ask": Method(AskParams, AskResult, "Ask the person (version 1)."),
}
NOTIFICATIONS = {
    "message": Method(MessageParams, None, "Something happened."),
    "dropped": Method(DroppedParams, None, "The client reads too slowly: attach again."),
    "event": Method(EventParams, None, "Something happened (version 1)."),
    "notify": Method(NotifyParams, None, "Show the person a text (version 1)."),
    "withdrawn": Method(WithdrawnParams, None, "A request of the server needs no answer any more (version 1)."),
}
